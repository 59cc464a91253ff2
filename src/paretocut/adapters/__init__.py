"""paretocut inside other tools: `keep`, frames, and one module for each framework with a class.

Each module imports its package when it is used, and raises
`paretocut.errors.MissingExtraError` with the pip line when it is not there.
"""

from paretocut.adapters.keeping import CutList, ScoresWarning

__all__ = ["CutList", "ScoresWarning"]
