"""The command ``paretocut``: parse, call the library, print."""

from paretocut.cli._main import main

__all__ = ["main"]
