"""Coverage-guided fuzzing of the run parser and of the fit; needs atheris.

    python tests/fuzz/atheris_target.py (trec | fit) [options of libFuzzer, as -max_total_time=60]

Any exception that is not ours, any number that is not finite and any crash ends the run.
"""

from __future__ import annotations

import io
import sys
import warnings

import atheris

with atheris.instrument_imports(include=["paretocut"]):
    import numpy as np

    import paretocut as pc
    from paretocut.errors import DataFormatError, InvalidScoresError
    from paretocut.io import read_qrels, read_trec


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


if __name__ == "__main__":
    warnings.simplefilter("error")
    target = {"trec": trec, "fit": fit}[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
