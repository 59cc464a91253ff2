"""Judging a few results of many lists: which ones, in which order, and what they have taught.

``plan`` chooses the results, ``session`` keeps the answers, ``record`` keeps them in a file,
``asking`` puts the questions to a judge.
"""

from paretocut.judging.asking import judge
from paretocut.judging.plan import JudgementPlan, plan_judgements
from paretocut.judging.session import JudgingSession, Question

__all__ = ["JudgementPlan", "JudgingSession", "Question", "judge", "plan_judgements"]
