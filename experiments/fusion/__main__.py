"""``python -m experiments.fusion`` measures all pairs and writes docs/fusion.md and its tables."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import paretocut
from experiments.data import ROOT, sha256
from experiments.fusion import nothing, report, weights
from experiments.fusion.measure import measure
from experiments.fusion.pairs import PAIRS, Pair, load
from experiments.results import rounded, stamp

CACHE = ROOT / "build" / "fusion"


def main() -> None:
    """Measure and write."""
    start = time.perf_counter()

    def say(text: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - start:6.0f} s  {text}\n")

    lists = {}
    values = {}
    for pair in PAIRS:
        lists[pair.name] = load(pair)
        values[pair.name] = _kept(pair, lambda pair=pair: measure(pair, lists[pair.name]))
        say(pair.name)
    content: dict[str, Any] = stamp() | report.summary(values, lists)
    content["nothing"] = nothing.run()
    say("off-topic questions")
    content |= weights.guessed(lists)
    say("guessed weights")
    content["learned"] = weights.learned(lists)
    say("learned weights")
    content["calibration"] = weights.calibration(lists)
    say("calibration")
    report.picture(lists, ROOT / "docs" / "images" / "frontier.svg")
    text = json.dumps(rounded(content), indent=1) + "\n"
    (ROOT / "docs" / "fusion.json").write_text(text, encoding="utf-8")
    report.write(json.loads(text))
    say("written")


def _kept(pair: Pair, make: Any) -> Any:
    """Return what was measured before with the same data and code, or measure it."""
    package = Path(paretocut.__file__).parent
    code = [
        *sorted(package.glob("fusion/*.py")),
        *sorted(package.glob("truncators/**/*.py")),
        *sorted(package.glob("*.py")),
        *sorted((ROOT / "cpp").glob("*.[ch]pp")),
        Path(__file__).with_name("measure.py"),
        Path(__file__).with_name("pairs.py"),
    ]
    parts = [pair.name, *(sha256(file) for file in (*pair.runs.values(), pair.qrels))]
    parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in code]
    path = CACHE / f"{hashlib.sha256(repr(parts).encode()).hexdigest()}.pkl"
    if path.is_file():
        return pickle.loads(path.read_bytes())
    found = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(found))
    return found


if __name__ == "__main__":
    main()
