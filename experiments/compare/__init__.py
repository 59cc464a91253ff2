"""Every truncator on every judged run: ``python -m experiments.compare`` (or ``make compare``)."""
