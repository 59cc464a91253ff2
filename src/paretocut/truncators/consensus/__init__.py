"""`Consensus`: one strategy for each thing that may be known of the lists.

``untrained`` knows nothing, or a word; ``unjudged`` has seen lists; ``partly_judged`` and
``fully_judged`` have seen judgements. ``pretrain`` is what other collections taught.
"""

from paretocut.decisions.options import EXPECT
from paretocut.truncators.consensus.consensus import Consensus
from paretocut.truncators.consensus.pretrain import Pretrained, pretrain

__all__ = ["EXPECT", "Consensus", "Pretrained", "pretrain"]
