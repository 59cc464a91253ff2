"""Calibration without judgements: the scores of nonsense queries on the user's own index."""

from paretocut.calibration.calibrating import calibrate, calibrated
from paretocut.calibration.nonsense import nonsense_queries

__all__ = ["calibrate", "calibrated", "nonsense_queries"]
