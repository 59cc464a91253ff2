"""paretocut inside other tools: `keep`, frames, and one module for each framework with a class."""

from paretocut.adapters.keeping import CutList
from paretocut.decisions.warnings import ScoresWarning

__all__ = ["CutList", "ScoresWarning"]
