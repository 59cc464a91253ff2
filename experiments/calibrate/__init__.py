"""Calibration without a judgement: whether to answer, and how many results to keep."""
