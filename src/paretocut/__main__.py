"""``python -m paretocut`` is the command ``paretocut``."""

import sys

from paretocut.cli import main

if __name__ == "__main__":
    sys.exit(main())
