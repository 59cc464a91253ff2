"""The first result or none: what can be accepted within an error budget, and whether it is kept."""
