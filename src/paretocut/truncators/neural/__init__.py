"""Truncators that are neural networks; torch is imported when one is fitted or predicts."""

from paretocut.truncators.neural.published import AttnCut, BiCut, Choppy
from paretocut.truncators.neural.truncator import Training

__all__ = ["AttnCut", "BiCut", "Choppy", "Training"]
