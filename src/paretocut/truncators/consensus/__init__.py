"""`Consensus`: one strategy for each kind of knowledge about the lists.

``untrained`` knows nothing, or a word; ``unjudged`` has seen lists; ``partly_judged`` and
``fully_judged`` have seen judgements. ``pretrained`` holds knowledge from other collections.
"""

from paretocut.decisions.options import EXPECT
from paretocut.truncators.consensus.consensus import Consensus

__all__ = ["EXPECT", "Consensus"]
