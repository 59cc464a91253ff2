"""Test what the papers of newer rules claim. Takes some minutes."""

from experiments import command
from experiments.rivals import report
from experiments.rivals.measure import again, measure

if __name__ == "__main__":
    command.run("rivals", __doc__, report, measure, again=again)
