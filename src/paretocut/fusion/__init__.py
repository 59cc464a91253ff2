"""Several ranked lists of one query become one: hybrid search that can still be cut.

`fuse` needs nothing but the lists. `Fusion` first looks at a sample of them, and at judgements
where there are some.
"""

from paretocut.fusion.fitted import Fusion
from paretocut.fusion.joining import QueryCoverageWarning
from paretocut.fusion.methods import METHODS, fuse
from paretocut.lists.parts import Parts

__all__ = ["METHODS", "Fusion", "Parts", "QueryCoverageWarning", "fuse"]
