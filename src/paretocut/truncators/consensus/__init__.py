"""`Consensus`: one strategy for each kind of knowledge about the lists."""

from paretocut.truncators.consensus.consensus import Consensus

__all__ = ["Consensus"]
