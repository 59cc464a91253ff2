"""The decision on one list (`Cut`) or many (`Cuts`): number, reason and warnings."""

from paretocut.decisions.cuts import Cut, Cuts
from paretocut.decisions.warnings import WARNINGS

__all__ = ["WARNINGS", "Cut", "Cuts"]
