"""Makes one part of the reproduction: ``python -m experiments.paper table1``."""

from __future__ import annotations

import argparse
import time

from experiments.paper import tables


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments.paper", description=__doc__)
    parser.add_argument("part", choices=[*tables.MAKERS])
    parser.add_argument("--without-networks", action="store_true", help="leave the slow rows out")
    arguments = parser.parse_args()
    tables.one_thread()
    start = time.perf_counter()
    content = tables.MAKERS[arguments.part](not arguments.without_networks)
    tables.write(arguments.part, content | {"seconds": round(time.perf_counter() - start, 1)})


if __name__ == "__main__":
    main()
