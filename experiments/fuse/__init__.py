"""Fuse, then cut: what hybrid search gains, measured on pairs of real runs."""
