"""Judging a few results of many lists: which ones, in which order, and the model learned from them.

``plan`` chooses the results, ``session`` keeps the answers, ``asking`` puts the questions.
"""

from paretocut.judging.asking import judge
from paretocut.judging.plan import plan_judgements
from paretocut.judging.session import JudgingSession, Question

__all__ = ["JudgingSession", "Question", "judge", "plan_judgements"]
