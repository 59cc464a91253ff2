"""Compare methods: every method on 44 judged runs, then `Consensus` with simple rules on 63 lists.

The first part, "methods", takes hours, or minutes if only some methods have changed; the
second, "consensus", takes a quarter of an hour. Both go on if stopped. Networks are trained only
with --train, which takes a GPU or a day of a CPU.
"""

from __future__ import annotations

from experiments import command
from experiments.compare import report
from experiments.compare.consensus import measure as consensus
from experiments.compare.consensus import pretrain
from experiments.compare.methods import measure as methods
from experiments.compare.methods import networks
from experiments.data import RUNS
from experiments.results import stamp, write


def main() -> None:
    """Do what the command line says."""
    parser = command.parser("compare", __doc__, ships="what `Consensus` knows of other collections")
    parser.add_argument("part", nargs="*", help="methods, consensus (default: both)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--train", action="store_true", help="train the networks that are missing")
    parser.add_argument("--device", default="cpu", help="where networks are trained (default: cpu)")
    chosen = parser.parse_args()
    if chosen.ship:
        pretrain.ship()
        return
    parts = [] if chosen.pages else chosen.part or ["methods", "consensus"]
    if unknown := set(parts) - {"methods", "consensus"}:
        parser.error(f"part must be methods or consensus, got {', '.join(sorted(unknown))}")
    if chosen.train:
        networks.train(RUNS, device=chosen.device, jobs=chosen.jobs)
    if "methods" in parts:
        write(stamp() | methods.measure(chosen.jobs), "compare", "methods", digits=6)
    if "consensus" in parts:
        write(stamp() | consensus.measure(), "compare", "consensus")
    command.write_pages(report)


if __name__ == "__main__":
    main()
