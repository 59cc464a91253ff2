"""Coverage-guided fuzzing of what reads bytes and of what computes; needs atheris.

    python tests/fuzz/atheris_target.py TARGET [options of libFuzzer, as -max_total_time=60]

TARGET is one of trec, fit, ids, fusion, answers, arrow, parquet.

Any exception that is not ours, any number that is not finite and any crash ends the run.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import partial

import atheris

with atheris.instrument_imports(include=["paretocut"]):
    import numpy as np

    import paretocut as pc
    from paretocut.errors import DataFormatError, InvalidParameterError, InvalidScoresError
    from paretocut.fusion import METHODS
    from paretocut.io import read_lists, read_qrels, read_trec, write_lists


def trec(data: bytes) -> None:
    """Parse bytes as a run and as judgements."""
    for read in (read_trec, read_qrels):
        try:
            read(io.BytesIO(data))
        except DataFormatError:
            continue


def fit(data: bytes) -> None:
    """Fit the doubles whose bytes these are, under options taken from the first byte."""
    provider = atheris.FuzzedDataProvider(data)
    options = {
        "higher_is_better": provider.ConsumeBool(),
        "refit": provider.PickValueInList(["window", "all"]),
        "selection": provider.PickValueInList(["greedy", "gof"]),
        "transform": provider.PickValueInList(["identity", "auto"]),
    }
    rest = provider.ConsumeBytes(len(data))
    scores = np.frombuffer(rest[: len(rest) // 8 * 8])
    try:
        found = pc.fit_tail(scores, **options)
    except InvalidScoresError:
        assert not np.isfinite(scores).all()
        return
    assert np.isfinite(found.surprise).all()
    assert np.isfinite([found.shape, found.scale, found.threshold, found.cvm]).all()
    assert 0 <= found.cut(fdr=0.1).k <= len(scores)


def ids(data: bytes) -> None:
    """Write and read lists with any ids: a format refuses them, or gives them back."""
    provider = atheris.FuzzedDataProvider(data)
    format = provider.PickValueInList(["trec", "jsonl", "csv", "arrow"])
    names = {provider.ConsumeUnicode(6): None for _ in range(provider.ConsumeIntInRange(1, 5))}
    numbers = {provider.ConsumeInt(9): None for _ in range(provider.ConsumeIntInRange(0, 3))}
    given = [*names, *numbers]
    scores = [np.arange(len(given), 0, -1.0)]
    lists = pc.RankedLists(scores, doc_ids=[given], query_ids=given[:1])
    assert lists.doc_ids is not None
    assert lists.doc_ids[0].tolist() == [*map(str, given)]
    path = os.path.join(FOLDER, "ids")
    try:
        write_lists(path, lists, format)
    except InvalidParameterError:
        return
    try:
        back = read_lists(path, format)
    except DataFormatError:
        if len({*map(str, given)}) == len(given):  # no name and number of equal text
            raise
        return
    assert back.query_ids.tolist() == given[:1]
    assert back.doc_ids is not None
    assert sorted(back.doc_ids[0].tolist()) == sorted(map(str, given))


def fusion(data: bytes) -> None:
    """Fuse two lists of any finite scores with any weights: every document once, all finite."""
    provider = atheris.FuzzedDataProvider(data)
    lists, known = [], set()
    for _ in range(2):
        names = [provider.ConsumeUnicode(2) for _ in range(provider.ConsumeIntInRange(0, 9))]
        names = list(dict.fromkeys(names))
        scores = np.array(provider.ConsumeFloatListInRange(len(names), -1.7e308, 1.7e308))
        scores[scores == 0] = 1.0  # zeros at the end would be padding
        lists.append(pc.RankedLists([scores], doc_ids=[names]))
        known.update(names)
    weights = provider.ConsumeFloatListInRange(2, 0.0, 1.7e308)
    try:
        fused = pc.fuse(lists, method=provider.PickValueInList([*METHODS]), weights=weights)
    except InvalidParameterError:
        assert not np.isfinite(weights).all() or not any(weights)
        return
    assert sorted(fused[0].doc_ids.tolist()) == sorted(known)
    assert np.isfinite(fused.scores.values).all()


def answers(data: bytes) -> None:
    """Go on with a file of answers that ends in any bytes; a file that is refused stays."""
    lists = pc.RankedLists([[0.9, 0.5, 0.1]], doc_ids=[["a", "b", "c"]])
    path = os.path.join(FOLDER, "answers.jsonl")
    with suppress(FileNotFoundError):
        os.unlink(path)
    provider = atheris.FuzzedDataProvider(data)
    if provider.ConsumeBool():
        pc.judge(lists, lambda query, doc: doc == "a", 2, path=path)
    with open(path, "ab") as file:
        file.write(provider.ConsumeBytes(len(data)))
    with open(path, "rb") as file:
        before = file.read()
    try:
        pc.judge(lists, lambda query, doc: doc == "a", 3, path=path)
    except (DataFormatError, InvalidParameterError):
        with open(path, "rb") as file:
            assert before.startswith(file.read().rstrip(b"\n"))


def table(format: str, data: bytes) -> None:
    """Read a table in which bytes were changed: place and value, again and again."""
    changed = bytearray(TABLES[format])
    for at in range(0, len(data) - 3, 3):
        changed[int.from_bytes(data[at : at + 2], "little") % len(changed)] = data[at + 2]
    for content in (bytes(changed), data):
        try:
            found = read_lists(io.BytesIO(content), format)
        except DataFormatError:
            continue
        assert np.isfinite(found.scores.values).all()


def example(format: str) -> bytes:
    names = [["a", "b", "c"], ["\u00e9"]]
    lists = pc.RankedLists([[3.0, 2.0, 1.0], [5.0]], [[1, None, 0], [1]], doc_ids=names)
    path = os.path.join(FOLDER, "table")
    write_lists(path, lists, format)
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    warnings.simplefilter("error")
    FOLDER = tempfile.mkdtemp()
    TABLES = {format: example(format) for format in ("arrow", "parquet")}
    targets = {"trec": trec, "fit": fit, "ids": ids, "fusion": fusion, "answers": answers}
    targets |= {format: partial(table, format) for format in TABLES}
    target = targets[sys.argv.pop(1)]
    atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
