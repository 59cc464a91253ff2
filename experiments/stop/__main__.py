"""Stop finished reviews with each rule, and see what was found by then. Takes a few minutes."""

from experiments import command
from experiments.stop import report, reviews
from experiments.stop.measure import measure

if __name__ == "__main__":
    ships = "the levels of `Quantile` and the depths of `plan`"
    command.run("stop", __doc__, report, measure, ships=ships, learn=reviews.ship)
