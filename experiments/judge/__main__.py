"""Measure what two hundred judged results bring, with simulated judges. Takes ten minutes."""

from experiments import command
from experiments.judge import prior, report
from experiments.judge.measure import again, measure

if __name__ == "__main__":
    ships = "the prior of the model of relevance"
    command.run("judge", __doc__, report, measure, ships=ships, learn=prior.learn, again=again)
