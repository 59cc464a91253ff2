"""Allowed types and ranges of values from outside, and how models are stored."""
