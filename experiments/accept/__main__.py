"""Measure what can be accepted within an error budget. Takes a quarter of an hour."""

from experiments import command
from experiments.accept import report
from experiments.accept.measure import measure

if __name__ == "__main__":
    command.run("accept", __doc__, report, measure)
