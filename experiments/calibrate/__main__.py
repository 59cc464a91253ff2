"""Measure calibration without judgements. Takes an hour the first time, then some minutes."""

from experiments import command
from experiments.calibrate import number, report
from experiments.calibrate.measure import measure

if __name__ == "__main__":
    ships = "the estimate of the number of relevant results"
    command.run("calibrate", __doc__, report, measure, ships=ships, learn=number.ship)
