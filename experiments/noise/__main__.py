"""Simulate what the rules promise, on noise and on planted hits. Takes some minutes."""

from experiments import command
from experiments.noise import report
from experiments.noise.measure import again, measure

if __name__ == "__main__":
    command.run("noise", __doc__, report, measure, again=again)
