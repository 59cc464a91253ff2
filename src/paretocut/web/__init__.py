"""The HTTP service, run by `paretocut serve`, and the explorer, run by `paretocut explore`."""
