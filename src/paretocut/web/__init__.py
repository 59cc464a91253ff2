"""What is asked over HTTP or seen in a browser: the service, and the explorer of runs.

`paretocut.web.app.create_app` makes the application; `paretocut serve` and `paretocut explore` run
it.
"""
