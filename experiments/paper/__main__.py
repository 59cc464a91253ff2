"""Makes one part of the reproduction: ``python -m experiments.paper table1``."""

from __future__ import annotations

import argparse
import time

from experiments.paper import figures, readings, report, tables

MAKERS = {"table1": tables.table1, "table2": tables.table2, "readings": readings.readings}


def main() -> None:
    """Run what the command line names; every part ends with writing the report anew."""
    parser = argparse.ArgumentParser(prog="python -m experiments.paper", description=__doc__)
    parser.add_argument("part", choices=[*MAKERS, "figures", "report"])
    parser.add_argument("--without-networks", action="store_true", help="leave the slow rows out")
    arguments = parser.parse_args()
    tables.one_thread()
    start = time.perf_counter()
    if arguments.part == "figures":
        figures.draw()
    elif arguments.part in MAKERS:
        content = MAKERS[arguments.part](not arguments.without_networks)
        seconds = round(time.perf_counter() - start, 1)
        tables.write(arguments.part, content | {"seconds": seconds})
    report.write()


if __name__ == "__main__":
    main()
