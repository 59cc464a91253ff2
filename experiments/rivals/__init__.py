"""Newer label-free rules and confidences, and what their papers claim of them."""
