"""Judging a few results of many lists: which ones, in which order, and what was answered."""

from paretocut.judging.plan import plan_judgements
from paretocut.judging.session import JudgingSession, Question, judge

__all__ = ["JudgingSession", "Question", "judge", "plan_judgements"]
