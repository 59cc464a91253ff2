"""Speed against the bars that the project sets itself; `python -m benchmarks`."""
