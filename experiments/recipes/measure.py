"""One number for each recipe, against what people usually do.

When to stop reading is measured by `experiments.stop`; the recipe shows numbers of that.
Everything a method learns, it learns on other queries than those it is measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache as once
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.accept.measure import accept, first_results, tuned
from experiments.command import Again, say
from experiments.data import COLLECTION_RUNS, DOMAIN_RUNS, RUNS, data_dir, json_rows, judged
from experiments.frozen.gate import Encoder
from experiments.fuse.pairs import Pair, load
from experiments.results import read
from experiments.texts import encode
from paretocut import RankedLists, metrics
from paretocut.truncators import Consensus, FixedK, ScoreThreshold, Truncator

__all__ = ["again", "measure"]

Array = NDArray[np.float64]
Cuts = NDArray[np.int64]
BY_NAME = {run.name: run for run in (*RUNS, *COLLECTION_RUNS, *DOMAIN_RUNS)}
CHUNKS = ("squad2", "2wiki", "hotpotqa500")
DEEP = 20  # chunks fetched
HALVES = 20  # random halves of the judged queries
OFF_TOPIC = ("2wiki", "adi", "cisi", "clinc150", "cranfield", "squad2", "time")
EACH = 20  # off-topic questions of each collection
WORDS = {"cranfield": "few", "nfcorpus": "dozens"}


def measure() -> dict[str, Any]:
    """Return the numbers of all recipes."""
    found: dict[str, Any] = {}
    for name, part in PARTS.items():
        found[name] = part()
        say(name)
    return found


def again() -> Again:
    """Yield the mean number of chunks and F1 of every rule."""
    kept, now = read("recipes")["chunks"], chunks()
    for name, own in now.items():
        for rule, row in own["rows"].items():
            yield f"{name}, {rule}, F1", kept[name]["rows"][rule]["f1"], row["f1"]


def chunks() -> dict[str, Any]:
    """Return what is passed on of the first 20 chunks, and what is found."""
    rules: dict[str, Truncator] = {
        "first five": FixedK(5),
        "cosine 0.5": ScoreThreshold("raw", 0.5),
        'expect="one"': Consensus(expect="one"),
        'expect="few"': Consensus(expect="few"),
        "no word": Consensus(),
    }
    found = {}
    for name in CHUNKS:
        lists = _first(judged(BY_NAME[f"{name}-minilm"]), DEEP)
        rows = {rule: _row(lists, t.predict(_bare(lists))) for rule, t in rules.items()}
        found[name] = {"queries": len(lists), "rows": rows}
    return found


def rerankers() -> dict[str, Any]:
    """Return what is kept of the lists of a BERT re-ranker."""
    found = {}
    for year in ("2019", "2020"):
        lists = judged(BY_NAME[f"dl{year}-bert-rerank"])
        rules: dict[str, Truncator] = {
            "first ten": FixedK(10),
            "score 0.5": ScoreThreshold("raw", 0.5),
            "score 0.9": ScoreThreshold("raw", 0.9),
            'expect="dozens"': Consensus(expect="dozens"),
            "no word": Consensus(),
        }
        rows = {rule: _row(lists, t.predict(_bare(lists))) for rule, t in rules.items()}
        logits = RankedLists([np.log(p / (1 - p)) for p in lists.scores])
        for rule in ('expect="dozens"', "no word"):
            rows[f"{rule}, logits"] = _row(lists, rules[rule].predict(logits))
        done = pc.evaluate({"learned": Consensus()}, lists, ["f1"], folds=2, splits=2, resamples=10)
        rows["learned"] = _row(lists[done.query], done.cuts("f1", "learned"))
        relevant = float(lists.relevant.count(lists.relevant.values).mean())
        found[year] = {"queries": len(lists), "relevant": relevant, "rows": rows}
    return found


def no_answer() -> dict[str, Any]:
    """Return how often good questions get nothing, and others something."""
    off = [text for name in OFF_TOPIC for text in _texts(name, answerable=True, most=EACH)]
    return {
        "med": _whether("med", off),
        "clinc150": _whether("clinc150", _texts("clinc150", answerable=False)),
    }


def _whether(name: str, off: Sequence[str]) -> dict[str, Any]:
    search, texts = _index(name)
    good = _texts(name, answerable=True)
    search.learn([*good, *off])
    rng = np.random.default_rng(0)
    order, others = rng.permutation(len(good)), rng.permutation(len(off))
    ways: dict[str, list[dict[str, float]]] = {}
    bare = pc.calibrate(search.many, texts, batch=True)
    for part in (0, 1):
        log, test = ([good[i] for i in order[p::2]] for p in (part, 1 - part))
        seen, new = ([off[i] for i in others[p::2]] for p in (part, 1 - part))
        limit = _threshold(_tops(search, log), _tops(search, seen))
        gates: dict[str, Any] = {"0.3": 0.3, "0.5": 0.5, "texts": bare}
        gates |= {"log": pc.calibrate(search.many, texts, queries=log, batch=True), "tuned": limit}
        for way, gate in gates.items():
            rates = {"good": _empty(gate, search, test), "off": _empty(gate, search, new)}
            ways.setdefault(way, []).append(rates)
    rows = {
        way: {kind: float(np.mean([one[kind] for one in own])) for kind in own[0]}
        for way, own in ways.items()
    }
    return {"good": len(good), "off": len(off), "rows": rows}


def memory() -> dict[str, Any]:
    """Return what is kept of the memory of five long chats, one index each."""
    texts = _documents("locomo_a")
    rows = json_rows("locomo_a/queries.jsonl.xz")
    off = _texts("clinc150", answerable=False, most=5 * EACH)
    lists = judged(BY_NAME["locomo_a-minilm"])
    gates = {}
    refused: dict[str, list[bool]] = {"good": [], "on topic": [], "off topic": []}
    limits: dict[str, dict[str, list[bool]]] = {
        limit: {kind: [] for kind in refused} for limit in ("0.3", "0.5")
    }
    for chat in dict.fromkeys(row["id"].partition("-")[0] for row in rows):
        own = [i for i, name in enumerate(texts) if name.partition(":")[0] == chat]
        asked = {
            "good": [r["text"] for r in rows if r["id"].startswith(f"{chat}-") and r["answerable"]],
            "on topic": [
                r["text"] for r in rows if r["id"].startswith(f"{chat}-") and not r["answerable"]
            ],
            "off topic": off,
        }
        said = [list(texts.values())[i] for i in own]
        search = Cosine(f"recipes locomo {chat}", said)
        search.learn([text for part in asked.values() for text in part])
        gates[chat] = pc.calibrate(search.many, said, batch=True)
        for kind, questions in asked.items():
            found = RankedLists([search(text) for text in questions])
            refused[kind] += (gates[chat].predict(found) == 0).tolist()
            for limit, below in limits.items():
                below[kind] += (_tops(search, questions) < float(limit)).tolist()
    answered = np.zeros(len(lists), dtype=np.int64)
    chats = np.array([name.partition("-")[0] for name in lists.query_ids.tolist()])
    for chat, gate in gates.items():
        answered[chats == chat] = gate.predict(_bare(lists[chats == chat])) > 0
    rules: dict[str, Truncator] = {
        "first five": FixedK(5),
        "cosine 0.3": ScoreThreshold("raw", 0.3),
        "cosine 0.5": ScoreThreshold("raw", 0.5),
        'expect="one"': Consensus(expect="one"),
        'expect="few"': Consensus(expect="few"),
        "no word": Consensus(),
    }
    cuts = {rule: t.predict(_bare(lists)) for rule, t in rules.items()}
    kept = {rule: _row(lists, k) for rule, k in cuts.items()}
    for word in ("one", "few"):
        rule = f'expect="{word}"'
        kept[f"calibrate, {rule}"] = _row(lists, cuts[rule] * answered)
    return {
        "queries": len(lists),
        "asked": {kind: len(values) for kind, values in refused.items()},
        "rows": kept,
        "refused": {"calibrate": _means(refused)}
        | {f"cosine {limit}": _means(own) for limit, own in limits.items()},
    }


def tools() -> dict[str, Any]:
    """Return what a model sees of 150 tools: the intents of CLINC150, by their best example."""
    rows = json_rows("clinc150/queries.jsonl.xz")
    texts = _documents("clinc150")
    intent_of = {row["id"]: row["intent"] for row in rows if row["answerable"]}
    qrels = pc.io.read_qrels(data_dir() / "clinc150" / "qrels.txt.gz")
    known = {
        document: intent_of[query]
        for query, documents in zip(qrels.query_ids.tolist(), qrels.doc_ids, strict=True)
        for document in documents
        if query in intent_of
    }
    names = sorted(set(known.values()))
    owner = np.array([names.index(known[document]) for document in texts])
    examples = Cosine("recipes clinc150", list(texts.values()))

    def of_tools(question: str) -> Array:
        best = np.full(len(names), -np.inf)
        np.maximum.at(best, owner, examples.all(question))
        return best

    good = [row for row in rows if row["answerable"]]
    off = [row["text"] for row in rows if not row["answerable"]]
    examples.learn([row["text"] for row in rows])
    scores = np.array([of_tools(row["text"]) for row in good])
    order = np.argsort(-scores, axis=1, kind="stable")
    right = order == np.array([names.index(row["intent"]) for row in good])[:, None]
    lists = RankedLists(np.take_along_axis(scores, order, axis=1), right)
    outside = RankedLists([np.sort(of_tools(text))[::-1] for text in off])

    def many(questions: Sequence[str]) -> list[Array]:
        examples.learn(questions)
        return [np.sort(of_tools(question))[::-1] for question in questions]

    gate = pc.calibrate(many, list(texts.values()), batch=True)
    rules: dict[str, Truncator] = {
        "first five": FixedK(5),
        "first ten": FixedK(10),
        "cosine 0.5": ScoreThreshold("raw", 0.5),
        'expect="one"': Consensus(expect="one"),
        'expect="few"': Consensus(expect="few"),
        "no word": Consensus(),
    }
    pairs = {rule: (t.predict(_bare(lists)), t.predict(outside) > 0) for rule, t in rules.items()}
    answered, passed = gate.predict(_bare(lists)) > 0, gate.predict(outside) > 0
    for word in ("one", "few"):
        rule = f'expect="{word}"'
        pairs[f"calibrate, {rule}"] = (pairs[rule][0] * answered, passed)
    found = {}
    for rule, (k, shown) in pairs.items():
        seen = [bool(own[:n].any()) for own, n in zip(lists.relevant, k, strict=True)]
        found[rule] = {
            "kept": float(k.mean()),
            "most": int(k.max()),
            "right": float(np.mean(seen)),
            "refused": float(np.mean(~shown)),
        }
    return {"queries": len(good), "outside": len(off), "tools": len(names), "rows": found}


def cache() -> dict[str, Any]:
    """Return how often the first hit is used, and how often it is wrong: intents as answers."""
    return {name: _first_hits(name, "minilm") for name in ("banking77oos", "clinc150")}


def records() -> dict[str, Any]:
    """Return the same for the products and publications of two tables."""
    return {name: _first_hits(name, "minilm") for name in ("abt_buy", "dblp_acm")}


def _first_hits(name: str, system: str) -> dict[str, Any]:
    pairs, right = first_results(name, system)
    values: dict[str, list[tuple[float, float]]] = {}
    for seed in range(HALVES):
        order = np.random.default_rng(seed).permutation(right.size)
        learn, test = order[::2], order[1::2]
        rules = {
            "cosine 0.8": pairs[test, 0] >= 0.8,
            "cosine 0.9": pairs[test, 0] >= 0.9,
            "tuned 0.05": tuned(pairs[learn], right[learn], 0.05)(pairs[test]),
        }
        for budget in (0.01, 0.05, 0.1):
            rule = accept(pairs[learn], right[learn], budget)
            rules[f"accept {budget}"] = rule(pairs[test])
        for rule_name, used in rules.items():
            wrong = float(np.mean(right[test][used] == 0)) if used.any() else 0.0
            values.setdefault(rule_name, []).append((float(used.mean()), wrong))
    rows = {
        rule: {
            "used": float(np.mean([used for used, _ in own])),
            "wrong": float(np.mean([wrong for used, wrong in own if used] or [0.0])),
            "never": float(np.mean([not used for used, _ in own])),
        }
        for rule, own in values.items()
    }
    return {"queries": int(right.size), "right": float(right.mean()), "rows": rows}


def hybrid() -> dict[str, Any]:
    """Return F1 (recall of the collection) of two retrievers, RRF and fusion by score."""
    f1 = metrics.get("f1/collection")
    found = {}
    for name, word in WORDS.items():
        files = {"BM25": f"{name}/bm25.run.gz", "MiniLM": f"{name}/minilm.run.gz"}
        pair = load(Pair(name, files, f"{name}/qrels.txt.gz"))
        runs = {system: _first(lists, 100) for system, lists in pair.runs.items()}
        runs |= {"RRF": pc.fuse(runs, method="rrf"), "fused": pc.fuse(runs)}
        rows = {}
        for system, lists in runs.items():
            word_cut = Consensus(expect=word).predict(_bare(lists))
            rows[system] = {
                "ten": float(f1(lists, FixedK(10).predict(lists)).mean()),
                "word": float(f1(lists, word_cut).mean()),
                "kept": float(word_cut.mean()),
            }
        found[name] = {"queries": len(pair), "word": word, "rows": rows}
    return found


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "chunks": chunks,
    "rerankers": rerankers,
    "hybrid": hybrid,
    "cache": cache,
    "records": records,
    "no_answer": no_answer,
    "tools": tools,
    "memory": memory,
}


class Cosine:
    """A search by cosine in texts, encoded once."""

    def __init__(self, name: str, texts: Sequence[str]) -> None:
        self.name, self.vectors = name, encode(name, texts)
        self.known: dict[str, Array] = {}

    def learn(self, questions: Sequence[str]) -> None:
        """Encode many questions at once."""
        new = [text for text in dict.fromkeys(questions) if text not in self.known]
        if len(new) > 1:
            self.known |= dict(zip(new, encode(f"{self.name} asked", new), strict=True))
        elif new:
            self.known[new[0]] = _encoder()(new[0])

    def all(self, question: str) -> Array:
        """Return the score of every text, in their order."""
        self.learn([question])
        return np.asarray(self.vectors @ self.known[question], dtype=np.float64)

    def __call__(self, question: str) -> Array:
        return np.sort(self.all(question))[::-1][:100]

    def many(self, questions: Sequence[str]) -> list[Array]:
        """Return the best scores for each question."""
        self.learn(questions)
        return [self(question) for question in questions]


@once
def _encoder() -> Encoder:
    return Encoder()


def _index(name: str) -> tuple[Cosine, list[str]]:
    texts = list(_documents(name).values())
    return Cosine(f"recipes {name}", texts), texts


def _documents(name: str) -> dict[str, str]:
    return {
        row["id"]: f"{row['title']}. {row['text']}" if row["title"] else row["text"]
        for row in json_rows(f"{name}/corpus.jsonl.xz")
    }


def _texts(name: str, *, answerable: bool, most: int | None = None) -> list[str]:
    """Return different questions, at random if not all are wanted."""
    rows = json_rows(f"{name}/queries.jsonl.xz")
    texts = list(
        dict.fromkeys(row["text"] for row in rows if row.get("answerable", True) is answerable)
    )
    if most is None:
        return texts
    return [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[:most]]


def _bare(lists: RankedLists) -> RankedLists:
    return RankedLists(lists.scores, higher_is_better=lists.higher_is_better)


def _first(lists: RankedLists, depth: int) -> RankedLists:
    """Return the best results of every list; relevant documents below still count as missed."""
    assert lists.relevance is not None
    assert lists.doc_ids is not None
    return RankedLists(
        [own[:depth] for own in lists.scores],
        [own[:depth] for own in lists.relevance],
        query_ids=lists.query_ids,
        doc_ids=[own[:depth] for own in lists.doc_ids],
        num_relevant=lists.num_relevant,
        min_grade=lists.min_grade,
    )


def _row(lists: RankedLists, k: Cuts) -> dict[str, float]:
    """Return how many are kept, the share of all relevant ones that is, and F1 of the list."""
    hits = np.array([int(own[:n].sum()) for own, n in zip(lists.relevant, k, strict=True)])
    return {
        "kept": float(k.mean()),
        "found": float(np.mean(hits / np.maximum(lists.num_relevant, 1))),
        "f1": float(metrics.get("f1")(lists, k).mean()),
        "nothing": float(np.mean(k == 0)),
    }


def _tops(search: Cosine, texts: Sequence[str]) -> Array:
    return np.array([search(text)[0] for text in texts])


def _empty(gate: Any, search: Cosine, texts: Sequence[str]) -> float:
    """Return the share of questions that get nothing: from a threshold, or a gate."""
    if isinstance(gate, float):
        return float(np.mean(_tops(search, texts) < gate))
    return float(np.mean(gate.predict(RankedLists([search(text) for text in texts])) == 0))


def _threshold(good: Array, off: Array) -> float:
    """Return the best score from which on to answer, with the least balanced error."""
    grid = np.unique(np.concatenate([good, off]))
    errors = [np.mean(good < t) + np.mean(off >= t) for t in grid]
    return float(grid[int(np.argmin(errors))])


def _means(kinds: dict[str, list[bool]]) -> dict[str, float]:
    return {kind: float(np.mean(values)) for kind, values in kinds.items()}
