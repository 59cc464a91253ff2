"""Repeat the experiments of the Surprise paper: its two tables, three encoders, readings, figures.

Takes hours, "table2" and "figures" less. Each part goes on if stopped. With many cores or a GPU,
"fill" works out all values first; "networks" keeps the cuts of trained networks.
"""

from __future__ import annotations

import time

from experiments import command
from experiments.paper import figures, jobs, readings, report, tables
from experiments.results import write

PARTS = {
    "table1": tables.table1,
    "table2": tables.table2,
    "encoders": tables.by_encoder,
    "readings": readings.readings,
    "figures": figures.draw,
}


def main() -> None:
    """Do what the command line says."""
    parser = command.parser("paper", __doc__, quick=True)
    choices = [*PARTS, "fill", "networks"]
    parser.add_argument("part", nargs="*", help=f"{', '.join(choices)} (default: the first five)")
    parser.add_argument("--jobs", type=int, default=1, help="processes of fill (default: 1)")
    parser.add_argument("--trainers", type=int, default=1, help="processes that train networks")
    parser.add_argument("--device", default="cpu", help="where fill trains (default: cpu)")
    chosen = parser.parse_args()
    if unknown := set(chosen.part) - set(choices):
        parser.error(f"part must be one of {', '.join(choices)}, got {', '.join(sorted(unknown))}")
    tables.one_thread()
    if chosen.quick:
        command.show_again(tables.again())
        return
    for part in [] if chosen.pages else chosen.part or PARTS:
        start = time.perf_counter()
        if part == "fill":
            jobs.fill(chosen.jobs, chosen.device, chosen.trainers)
        elif part == "networks":
            tables.keep_networks()
        else:
            content = PARTS[part]()
            content["seconds"] = round(time.perf_counter() - start, 1)
            write(content, "paper", part, digits=None)
    command.write_pages(report)


if __name__ == "__main__":
    main()
