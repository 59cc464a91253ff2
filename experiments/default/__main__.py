"""Measure the default of pc.cut at six depths, and the choice of its number. Takes minutes."""

from experiments import command
from experiments.default import report
from experiments.default.measure import again, measure, renew

if __name__ == "__main__":
    command.run("default", __doc__, report, measure, again=again, renew=renew)
