"""`Consensus`: a vote of simple rules, expected cuts, a model of answers; one file each.

``vote`` is what judged lists teach for F1, ``regression`` for DCG and utilities, ``answer`` for
accuracy; ``untrained`` cuts without any judgement. ``pretrain`` is what other collections taught.
"""

from paretocut.relevance.constants import EXPECT
from paretocut.truncators.consensus._consensus import Consensus
from paretocut.truncators.consensus.pretrain import Pretrained, pretrain

__all__ = ["EXPECT", "Consensus", "Pretrained", "pretrain"]
