"""Compare methods: every method on 44 judged runs, then `Consensus` with simple rules on 63 lists.

"methods" takes an hour, or minutes if only some methods have changed; "domains", nine runs of new
domains, and "seeds" take ten minutes each; "consensus" takes a quarter of an hour. All go on if
stopped. "renew" takes ten minutes: it measures only cuts without judgements anew. Networks are
trained only with --train, which takes a GPU or a day of a CPU.
"""

from __future__ import annotations

import sys

from experiments import command
from experiments.data import RUNS
from experiments.results import read, stamp, write

PARTS = ("methods", "domains", "seeds", "consensus", "renew")


def main() -> None:
    """Do what the command line says."""
    ships = "what `Consensus` knows of other collections"
    parser = command.parser("compare", __doc__, ships=ships, quick=True)
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)} (default: all but renew)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--train", action="store_true", help="train the networks that are missing")
    parser.add_argument("--device", default="cpu", help="where networks are trained (default: cpu)")
    parser.add_argument(
        "--method", metavar="FILE.py:NAME", help="put your own method into the table (minutes)"
    )
    parser.add_argument("--check", action="store_true", help="say which runs are there (seconds)")
    chosen = parser.parse_args()
    if chosen.method or chosen.check:
        from experiments.compare import board

        sys.stdout.write(f"{board.check() if chosen.check else board.enter(chosen.method)}\n")
        return
    # Imported here: some of it needs torch, and a stranger's method does not.
    from experiments.compare import report
    from experiments.compare.consensus import measure as consensus
    from experiments.compare.consensus import pretrain
    from experiments.compare.methods import measure as methods
    from experiments.compare.methods import networks

    if chosen.quick:
        command.show_again(methods.again())
        return
    if chosen.ship:
        pretrain.ship()
        return
    parts = [] if chosen.pages else chosen.part or PARTS[:-1]
    if unknown := set(parts) - set(PARTS):
        parser.error(f"part must be one of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    if chosen.train:
        networks.train(RUNS, device=chosen.device, jobs=chosen.jobs)
    if "methods" in parts:
        write(stamp() | methods.measure(chosen.jobs), "compare", "methods", digits=6)
    if "domains" in parts:
        write(stamp() | methods.domains(chosen.jobs), "compare", "domains", digits=6)
    if "seeds" in parts:
        kept = read("compare", "methods")
        write(kept | {"seeds": methods.seeds()}, "compare", "methods", digits=6)
    if "renew" in parts:
        write(methods.renew(read("compare", "methods")), "compare", "methods", digits=6)
        write(consensus.renew(read("compare", "consensus")), "compare", "consensus")
    if "consensus" in parts:
        write(stamp() | consensus.measure(), "compare", "consensus")
    command.write_pages(report)


if __name__ == "__main__":
    main()
