"""Compare depths of re-ranking on a published list. Takes seconds."""

from experiments import command
from experiments.rerank import report
from experiments.rerank.measure import again, measure

if __name__ == "__main__":
    command.run("rerank", __doc__, report, measure, again=again)
