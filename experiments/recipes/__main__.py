"""Measure the numbers of the recipes. Takes about five minutes the first time."""

from experiments import command
from experiments.recipes import report
from experiments.recipes.measure import again, measure

if __name__ == "__main__":
    command.run("recipes", __doc__, report, measure, again=again)
