"""The HTTP service: `paretocut.web.app.create_app` makes it, `paretocut serve` runs it."""
