"""Measure what each rule keeps, for the table in docs/rules.md. Takes ten seconds."""

from experiments import command
from experiments.rules import report
from experiments.rules.measure import again, measure

if __name__ == "__main__":
    command.run("rules", __doc__, report, measure, again=again)
