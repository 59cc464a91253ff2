"""Makes one part of the reproduction: ``python -m experiments.paper table1``."""

from __future__ import annotations

import argparse
import time

from experiments.paper import figures, jobs, readings, report, tables

MAKERS = {
    "table1": tables.table1,
    "table2": tables.table2,
    "encoders": tables.by_encoder,
    "readings": readings.readings,
}


def main() -> None:
    """Run what the command line names; every part ends with writing the report anew."""
    parser = argparse.ArgumentParser(prog="python -m experiments.paper", description=__doc__)
    parser.add_argument("part", choices=[*MAKERS, "figures", "fill", "networks", "report"])
    parser.add_argument("--jobs", type=int, default=1, help="processes of `fill` (default: 1)")
    parser.add_argument("--trainers", type=int, default=1, help="processes that train networks")
    parser.add_argument("--device", default="cpu", help="where `fill` trains (default: cpu)")
    arguments = parser.parse_args()
    tables.one_thread()
    start = time.perf_counter()
    if arguments.part == "figures":
        figures.draw()
    elif arguments.part == "fill":
        jobs.fill(arguments.jobs, arguments.device, arguments.trainers)
    elif arguments.part == "networks":
        tables.keep_networks()
    elif arguments.part in MAKERS:
        content = MAKERS[arguments.part]()
        seconds = round(time.perf_counter() - start, 1)
        tables.write(arguments.part, content | {"seconds": seconds})
    report.write()


if __name__ == "__main__":
    main()
