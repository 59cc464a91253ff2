"""Experiments: each folder is one command that makes its tables; they use the public API only."""
