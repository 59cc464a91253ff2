"""Fuse pairs of runs, then cut them. Takes half an hour; goes on if stopped.

--renew takes minutes.
"""

from experiments import command
from experiments.fuse import report
from experiments.fuse.measure import again, measure, renew

if __name__ == "__main__":
    command.run("fuse", __doc__, report, measure, again=again, renew=renew)
