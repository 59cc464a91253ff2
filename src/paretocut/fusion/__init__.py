"""Fusion of several ranked lists of a query into one that can still be cut."""

from paretocut.fusion.answered import Fused, FusedResult
from paretocut.fusion.fitted import Fusion
from paretocut.fusion.joining import QueryCoverageWarning
from paretocut.fusion.methods import METHODS, fuse
from paretocut.lists.columns import Parts

__all__ = ["METHODS", "Fused", "FusedResult", "Fusion", "Parts", "QueryCoverageWarning", "fuse"]
