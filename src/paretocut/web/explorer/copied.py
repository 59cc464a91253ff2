"""A method, a cut or a gate as code that can be copied, run, and gives the cuts of the page."""

from __future__ import annotations

import json
import shlex
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from pprint import pformat
from typing import Any

import numpy as np

from paretocut.background import Background, fit_gev
from paretocut.background.law import Groups
from paretocut.errors import InvalidParameterError
from paretocut.io import write_qrels
from paretocut.lists import RankedLists
from paretocut.schema.parameters import check_real
from paretocut.truncators import Consensus, Gated, ScoreThreshold, Truncator
from paretocut.web.explorer.exploration import Code, Exploration, Source


def copy_view(run: Exploration, key: str | None, i: int, k: int) -> dict[str, Any]:
    """Return a method as code; without a key, the cut ``k`` of list ``i`` as a score threshold."""
    scores = run.lists[i].scores
    if not 0 <= k <= scores.size:
        raise InvalidParameterError(f"copy: k must be in 0..{scores.size}, got {k}")
    if key is not None:
        return _as_code(run, run.method(key).code, run.method(key).truncator)
    threshold = 0.0
    if k > 0:
        threshold = float(scores[k - 1])
    elif scores.size:
        better = np.inf if run.lists.higher_is_better else -np.inf
        threshold = float(np.nextafter(scores[0], better))
    truncator = ScoreThreshold("raw", threshold)
    python = f"pc.truncators.{truncator!r}.cut_batch(lists)"
    return _as_code(run, Code(python, method=f"raw:threshold={threshold!r}"), truncator)


def gate_code(run: Exploration, key: str, threshold: float) -> dict[str, Any]:
    """Return a method behind a gate at this best score, as code and as a model."""
    method = run.method(key)
    base = Consensus() if isinstance(method.truncator, Gated) else method.truncator
    gated = gate_at(run, base, threshold, fewest=10)  # a law is learned from no fewer
    return _as_code(run, Code(model="paretocut-gate.json", note=method.code.note), gated)


def gate_at(run: Exploration, base: Truncator, threshold: float, fewest: int = 1) -> Gated:
    check_real(threshold, who="gate", name="threshold")
    up = run.lists.higher_is_better
    answered, none = run.best_scores()
    for found, which, least in ((none, "without", fewest), (answered, "with", 1)):
        if found.size < least:
            problem = f"gate: queries {which} an answer must be at least {least}, got {found.size}"
            raise InvalidParameterError(problem)
    groups = Groups(
        share=none.size / (none.size + answered.size),
        null_mean=float(none.mean()),
        null_spread=max(float(none.std()), 1e-9),
        mean=float(answered.mean()),
        spread=max(float(answered.std()), 1e-9),
        threshold=threshold if up else -threshold,
    )
    law = fit_gev(none) if fewest > 1 else (0.0, groups.null_mean, groups.null_spread)
    return Gated(base, Background(*law, higher_is_better=up, groups=groups), alpha=None)


def qrels_view(run: Exploration) -> str:
    if run.lists.relevance is None:
        raise InvalidParameterError("qrels: there must be a judgement, got none")
    return _saved(lambda path: write_qrels(path, run.lists))


def _as_code(run: Exploration, code: Code, truncator: Truncator) -> dict[str, Any]:
    """Return a decision in all forms in which it can be taken away, each complete in itself."""
    model, step = json.loads(_saved(truncator.save)), ""
    before = "".join(f"# {line}\n" for line in textwrap.wrap(code.note, 96))
    if code.model is not None:
        own = {key: value for key, value in model.items() if key not in ("format", "version")}
        made = f"pc.truncators.{type(truncator).__name__}.from_dict({pformat(own, width=100)})"
        code = replace(code, python=f"{made}.cut_batch(lists)", options=("--model", code.model))
        step = f"cat > {code.model} <<'END'\n{json.dumps(model)}\nEND\n"
    python = before + _as_python(run.source, run.lists, code)
    command = before + step + _as_command(run.source, code) if run.source.runs else None
    return {"python": python, "command": command, "model": model, "note": code.note}


def _as_python(source: Source, lists: RankedLists, code: Code) -> str:
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


def _as_command(source: Source, code: Code) -> str:
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


def _saved(save: Callable[[Path], Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved")
        save(path)
        return path.read_text(encoding="utf-8", errors="surrogateescape")
