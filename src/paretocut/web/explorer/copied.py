"""A method as code that can be copied, run, and gives the cuts of the page."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.truncators import ScoreThreshold

if TYPE_CHECKING:
    from paretocut.web.explorer.exploration import Exploration


@dataclass(frozen=True)
class Source:
    """The files a run came from, named as they were given; several runs are fused."""

    runs: tuple[str, ...] = ("run.txt",)  # none: the scores were pasted
    distances: bool = False
    format: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)  # by label
    query_texts: tuple[str, ...] = ()

    def model(self, label: str) -> str:
        """Return the file of a model."""
        return self.models.get(label, f"{label}.json")


@dataclass(frozen=True)
class Code:
    """A decision in code: an expression that cuts `lists`, and options of ``paretocut cut``.

    `method` stands for ``--method``; `lexical` decisions need the texts of the queries.
    """

    python: str
    options: tuple[str, ...] = ()
    method: str | None = None
    lexical: bool = False


def saved(save: Callable[[Path], Any]) -> str:
    """Return the text that ``save`` writes into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved")
        save(path)
        return path.read_text(encoding="utf-8", errors="surrogateescape")


def copy_view(run: Exploration, key: str | None, i: int, k: int) -> dict[str, Any]:
    """Return a method as code; without a key, the cut ``k`` of list ``i`` as a score threshold."""
    lists = run.lists
    scores = lists[i].scores
    if key is not None and key not in run.methods:
        raise InvalidParameterError(
            f"copy: method must be one of {', '.join(run.methods)}, got {key!r}"
        )
    if not 0 <= k <= scores.size:
        raise InvalidParameterError(f"copy: k must be in 0..{scores.size}, got {k}")
    if key is not None:
        code, truncator = run.methods[key].code, run.methods[key].truncator
    else:
        threshold = 0.0
        if k > 0:
            threshold = float(scores[k - 1])
        elif scores.size:
            better = np.inf if lists.higher_is_better else -np.inf
            threshold = float(np.nextafter(scores[0], better))
        truncator = ScoreThreshold("raw", threshold)
        python = f"pc.truncators.{truncator!r}.cut_batch(lists)"
        code = Code(python, method=f"raw:threshold={threshold!r}")
    return {
        "python": _python(run, code),
        "command": _command(run, code),
        "model": json.loads(saved(truncator.save)),
    }


def _python(run: Exploration, code: Code) -> str:
    source = run.source
    direction = ", higher_is_better=False" if source.distances else ""
    kind = "" if source.format is None else f", {source.format!r}"
    read = [f"pc.io.read_lists({file!r}{kind}{direction})" for file in source.runs]
    if not read:
        values = [one.scores.tolist() for one in run.lists]
        lists = f"pc.RankedLists({values!r}{direction})"
    elif len(read) == 1:
        lists = read[0]
    else:
        lists = "pc.fuse([\n    " + ",\n    ".join(read) + ",\n])"
    lines = ["import paretocut as pc", "", f"lists = {lists}"]
    if code.lexical:
        lines.append("texts = {}")
        lines += [f"texts |= pc.io.read_texts({file!r})" for file in source.query_texts]
        lines.append("queries = [texts[name] for name in lists.query_ids]")
    return "\n".join([*lines, f"cuts = {code.python}"]) + "\n"


def _command(run: Exploration, code: Code) -> str | None:
    source = run.source
    if not source.runs:
        return None
    fused = len(source.runs) > 1
    # A name that begins like an option would be taken for one.
    files = [f"./{file}" if file.startswith("-") and file != "-" else file for file in source.runs]
    words = ["paretocut", "fuse" if fused else "cut", *files]
    if source.distances:
        runs = [("--distances", file) for file in files]
        words += [word for pair in runs for word in pair] if fused else ["--distances"]
    if source.format is not None:
        words += ["--format", source.format]
    if fused:
        words.append("--cut" if code.method is None else f"--cut={code.method}")
    elif code.method is not None:
        words += ["--method", code.method]
    words += code.options
    if code.lexical:
        words += [word for file in source.query_texts for word in ("--query-texts", file)]
    return shlex.join(words) + "\n"
