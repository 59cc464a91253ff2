"""Truncators that are neural networks; torch is imported when one is fitted or predicts."""

from paretocut.truncators.neural.attncut import AttnCut
from paretocut.truncators.neural.bicut import BiCut
from paretocut.truncators.neural.choppy import Choppy
from paretocut.truncators.neural.training import Training

__all__ = ["AttnCut", "BiCut", "Choppy", "Training"]
