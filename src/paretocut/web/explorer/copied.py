"""A method as code that can be copied, run, and gives the cuts of the page."""

from __future__ import annotations

import json
import shlex
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pprint import pformat
from typing import Any

from paretocut.lists import RankedLists
from paretocut.truncators import Truncator


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

    `method` stands for ``--method``; `lexical` decisions need the texts of the queries. With
    `model`, the code holds the model itself, and the command writes it into a file of this name.
    `note` is a comment above it.
    """

    python: str = ""
    options: tuple[str, ...] = ()
    method: str | None = None
    lexical: bool = False
    model: str | None = None
    note: str = ""


def as_python(source: Source, lists: RankedLists, code: Code) -> str:
    """Return a program that reads the lists and cuts them."""
    direction = ", higher_is_better=False" if source.distances else ""
    kind = "" if source.format is None else f", {source.format!r}"
    read = [f"pc.io.read_lists({file!r}{kind}{direction})" for file in source.runs]
    if not read:
        values = [one.scores.tolist() for one in lists]
        made = f"pc.RankedLists({values!r}{direction})"
    elif len(read) == 1:
        made = read[0]
    else:
        made = "pc.fuse([\n    " + ",\n    ".join(read) + ",\n])"
    lines = ["import paretocut as pc", "", f"lists = {made}"]
    if code.lexical:
        lines.append("texts = {}")
        lines += [f"texts |= pc.io.read_texts({file!r})" for file in source.query_texts]
        lines.append("queries = [texts[name] for name in lists.query_ids]")
    return "\n".join([*lines, f"cuts = {code.python}"]) + "\n"


def as_command(source: Source, code: Code) -> str | None:
    """Return a command that cuts the lists; None for pasted scores."""
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


def as_code(source: Source, lists: RankedLists, code: Code, truncator: Truncator) -> dict[str, Any]:
    """Return a decision in all forms in which it can be taken away, each complete in itself."""
    model, before, step = json.loads(saved(truncator.save)), _comment(code.note), ""
    if code.model is not None:
        own = {key: value for key, value in model.items() if key not in ("format", "version")}
        made = f"pc.truncators.{type(truncator).__name__}.from_dict({pformat(own, width=100)})"
        code = replace(code, python=f"{made}.cut_batch(lists)", options=("--model", code.model))
        step = f"cat > {code.model} <<'END'\n{json.dumps(model)}\nEND\n"
    command = as_command(source, code)
    return {
        "python": before + as_python(source, lists, code),
        "command": None if command is None else before + step + command,
        "model": model,
        "note": code.note,
    }


def _comment(note: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(note, 96))


def saved(save: Callable[[Path], Any]) -> str:
    """Return the text that ``save`` writes into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved")
        save(path)
        return path.read_text(encoding="utf-8", errors="surrogateescape")
