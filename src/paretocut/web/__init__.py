"""The HTTP service and the explorer of runs.

`paretocut.web.app.create_app` makes the application; `paretocut serve` and `paretocut explore` run
it.
"""
