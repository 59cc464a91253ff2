"""Comparison of truncators: held-out queries, intervals, paired tests, and the ceiling."""

from paretocut.evaluation.protocol import evaluate
from paretocut.evaluation.result import Evaluation, Summary

__all__ = ["Evaluation", "Summary", "evaluate"]
