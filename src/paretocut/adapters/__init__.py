"""paretocut inside other tools: one module per framework, vector store, data frame or cluster.

Each module imports its package when it is used, and raises
`paretocut.errors.MissingExtraError` with the pip line when it is not there. Modules named after
vector stores work on the store's answers and import nothing.
"""

from paretocut.adapters.deciding import CutList
from paretocut.adapters.reporting import ScoresWarning

__all__ = ["CutList", "ScoresWarning"]
