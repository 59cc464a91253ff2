"""Measure what can be accepted within an error budget, and whether it is kept. Takes an hour."""

from experiments import command
from experiments.accept import report
from experiments.accept.measure import measure

if __name__ == "__main__":
    command.run("accept", __doc__, report, measure)
