"""The numbers of the recipes, filled into their pages, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.data import ROOT
from experiments.pages import between, share, table
from experiments.results import read

__all__ = ["pages"]

Content = Mapping[str, Any]
NAMES = {
    "2wiki": "2WikiMultihopQA",
    "abt_buy": "Abt-Buy",
    "banking77oos": "BANKING77",
    "clinc150": "CLINC150",
    "cranfield": "Cranfield",
    "dblp_acm": "DBLP-ACM",
    "hotpotqa500": "HotpotQA",
    "med": "MED",
    "nfcorpus": "NFCorpus",
    "squad2": "SQuAD 2",
}
WAYS = {
    "0.3": "cosine of 0.3 or more",
    "0.5": "cosine of 0.5 or more",
    "texts": "`pc.calibrate(search, texts)`",
    "log": "the same, `queries=` half of the good questions",
    "tuned": "threshold tuned with labels",
}
ACCEPTED = {
    "cosine 0.8": "cosine of 0.8 or more",
    "cosine 0.9": "cosine of 0.9 or more",
    "tuned 0.05": "threshold with 5 % wrong among the judged",
    **{f"accept {budget}": f"`Accept(max_error={budget})`" for budget in (0.01, 0.05, 0.1)},
}
STOPS = {
    "`Certificate`, 95 %": "`Certificate`, confidence 95 %",
    "`Quantile`, 90 %": "`Quantile`, reliability 90 %",
    "200 irrelevant in a row": "200 irrelevant in a row",
    "perfect stop": "perfect stop",
}
TITLES = {
    "chunks": "How many chunks do I put into the prompt?",
    "no-answer": 'How do I say "I don\'t know"?',
    "reranker": "Where do I cut a reranker's list?",
    "memory": "Does my agent's memory hold anything about this?",
    "tools": "How many tools should the model see?",
    "cache": "When is a cached answer good enough?",
    "records": "Is this the same record?",
    "stop-reading": "When can I stop reading?",
    "two-retrievers": "Which of two retrievers, and how many of both?",
}


def pages() -> dict[str, str]:
    """Return the pages by their paths."""
    content, stop = read("recipes"), read("stop")
    tables = {
        "chunks": _chunks(content["chunks"]),
        "no-answer": _no_answer(content["no_answer"]),
        "reranker": _reranker(content["rerankers"]),
        "memory": _memory(content["memory"]),
        "tools": _tools(content["tools"]),
        "cache": _first_hits(content["cache"]),
        "records": _first_hits(content["records"]),
        "stop-reading": _stops(stop),
        "two-retrievers": _hybrid(content["hybrid"]),
    }
    found = {f"docs/recipes/{name}.md": tables[name] for name in tables}
    found["docs/recipes.md"] = _numbers(content, stop)
    return {page: between(ROOT / page, "recipes", text) for page, text in found.items()}


def _of(name: str, queries: int, what: str = "questions") -> str:
    return f"{NAMES[name]}, {queries:,} {what}"


def _shown(rule: str) -> str:
    """Return how a rule is written: ours as code."""
    if rule.startswith("expect="):
        return f"`{rule.removesuffix(', logits')}`" + (", logits" if "logits" in rule else "")
    named = {
        "no word": "no word: `pc.cut(scores)`",
        "no word, logits": "no word, logits",
        "cosine 0.3": "cosine of 0.3 or more",
        "cosine 0.5": "cosine of 0.5 or more",
        "score 0.5": "probability of 0.5 or more",
        "score 0.9": "probability of 0.9 or more",
        "learned": "`Consensus().fit(lists)`, other half of the queries",
        **{
            f'calibrate, expect="{word}"': f'`pc.calibrate(search, texts, expect="{word}")`'
            for word in ("one", "few")
        },
    }
    return named.get(rule, rule)


def _chunks(content: Content) -> str:
    head = ["kept", *(_of(name, own["queries"]) for name, own in content.items())]
    rules = next(iter(content.values()))["rows"]
    rows = [
        [
            _shown(rule),
            *(
                f"{row['kept']:.1f}; {share(row['found'])}; {row['f1']:.3f}"
                for row in (own["rows"][rule] for own in content.values())
            ),
        ]
        for rule in rules
    ]
    return table(head, rows)


def _no_answer(content: Content) -> str:
    others = {"med": "off-topic", "clinc150": "out-of-scope"}
    head = ["gate"] + [
        f"{NAMES[name]}, {own['good']:,} good, {own['off']:,} {others[name]}"
        for name, own in content.items()
    ]
    rows = [
        [
            words,
            *(
                f"{share(row['good'])}; {share(1 - row['off'])}"
                for row in (own["rows"][way] for own in content.values())
            ),
        ]
        for way, words in WAYS.items()
    ]
    return table(head, rows)


def _reranker(content: Content) -> str:
    head = ["kept of BERT's list"] + [
        f"TREC DL {year}, {own['queries']} queries: kept" for year, own in content.items()
    ]
    head = [head[0], head[1], "F1", head[2], "F1"]
    rows = []
    for rule in next(iter(content.values()))["rows"]:
        cells = [_shown(rule)]
        for own in content.values():
            cells += [f"{own['rows'][rule]['kept']:.0f}", f"{own['rows'][rule]['f1']:.3f}"]
        rows.append(cells)
    return table(head, rows)


def _memory(content: Content) -> str:
    asked, rows = content["asked"], []
    for rule, row in content["rows"].items():
        refused = content["refused"].get(rule.partition(", ")[0])
        told = [share(refused[kind]) if refused else "0 %" for kind in ("on topic", "off topic")]
        rows.append([_shown(rule), f"{row['kept']:.1f}", share(row["found"]), *told])
    head = [
        f"LoCoMo, {content['queries']} questions to 5 chats",
        *("kept", "found", f"refused: {asked['on topic']} own", f"{asked['off topic']} off topic"),
    ]
    return table(head, rows)


def _tools(content: Content) -> str:
    head = [
        f"{content['queries']:,} requests, {content['tools']} tools",
        *("tools shown", "most", "right one shown", f"{content['outside']:,} outside: none shown"),
    ]
    rows = [
        [
            _shown(rule),
            *(f"{row['kept']:.1f}", str(row["most"])),
            *(share(row["right"]), share(row["refused"])),
        ]
        for rule, row in content["rows"].items()
    ]
    return table(head, rows)


def _first_hits(content: Content) -> str:
    head = ["used"] + [
        f"{NAMES[name]}, {own['queries']:,} queries, first hit right in {share(own['right'])}"
        for name, own in content.items()
    ]
    rows = [
        [
            words,
            *(
                f"{share(row['used'])}; {share(row['wrong'], 1)}" if row["used"] else "nothing"
                for row in (own["rows"][rule] for own in content.values())
            ),
        ]
        for rule, words in ACCEPTED.items()
    ]
    return table(head, rows)


def _stopped(content: Content) -> dict[tuple[str, float], Any]:
    return {(row["rule"], row["target"]): row for row in content["stops"]}


def _stops(content: Content) -> str:
    stops = _stopped(content)
    head = [
        f"{content['reviews']} medical reviews, {content['rankings']} rankings",
        *(f"recall {target}" for target in (0.8, 0.9, 0.95)),
    ]
    rows = []
    for rule, words in STOPS.items():
        own = [stops[rule, target] for target in (0.8, 0.9, 0.95)]
        # A level learned from the same reviews holds by its making.
        held = rule.startswith("`Quantile")
        rows.append(
            [words, *(f"{x['read']:.2f}" + ("" if held else f" ({share(x['held'])})") for x in own)]
        )
    return table(head, rows)


def _hybrid(content: Content) -> str:
    names = {
        "BM25": "BM25",
        "MiniLM": "MiniLM",
        "RRF": "RRF of both",
        "fused": "`pc.fuse` of both",
    }
    head, rows = ["search"], [[words] for words in names.values()]
    for name, own in content.items():
        word = own["word"]
        head += [_of(name, own["queries"]) + ": first ten", f'`expect="{word}"`', "kept"]
        for cells, system in zip(rows, names, strict=True):
            row = own["rows"][system]
            cells += [f"{row['ten']:.3f}", f"{row['word']:.3f}", f"{row['kept']:.1f}"]
    return table(head, rows)


def _numbers(content: Content, stop: Content) -> str:
    """Return one number for each recipe."""
    squad, med = content["chunks"]["squad2"]["rows"], content["no_answer"]["med"]["rows"]
    dl = [own["rows"] for own in content["rerankers"].values()]
    memory, tools = content["memory"], content["tools"]["rows"]
    bank, dblp = content["cache"]["banking77oos"]["rows"], content["records"]["dblp_acm"]["rows"]
    cranfield, nfcorpus = (content["hybrid"][name]["rows"] for name in ("cranfield", "nfcorpus"))
    stops = _stopped(stop)
    one = 'expect="one"'
    told = {
        "chunks": f"SQuAD 2: {squad[one]['kept']:.1f} chunks hold the passage in "
        f"{share(squad[one]['found'])} (F1 {squad[one]['f1']:.3f}), five in "
        f"{share(squad['first five']['found'])} (F1 {squad['first five']['f1']:.3f})",
        "no-answer": f"MED: {share(1 - med['texts']['off'])} of off-topic questions answered and "
        f"{share(med['texts']['good'])} of good ones left empty, without a label",
        "reranker": "TREC DL 2019, 2020: F1 "
        + ", ".join(f"{rows['learned']['f1']:.3f}" for rows in dl)
        + " learned; "
        + ", ".join(f"{rows['first ten']['f1']:.3f}" for rows in dl)
        + " first ten",
        "memory": f"LoCoMo: {share(memory['refused']['calibrate']['off topic'])} of off-topic "
        f"questions get nothing, {share(memory['refused']['calibrate']['good'])} of good ones too",
        "tools": f"CLINC150: right tool among {tools[one]['kept']:.1f} in "
        f"{share(tools[one]['right'])}, among five in {share(tools['first five']['right'])}",
        "cache": "BANKING77: nothing can be accepted; a cosine of 0.8 is wrong in "
        f"{share(bank['cosine 0.8']['wrong'])}",
        "records": f"DBLP-ACM: {share(dblp['accept 0.05']['used'])} linked, "
        f"{share(dblp['accept 0.05']['wrong'], 1)} of the links wrong",
        "stop-reading": "43 reviews, recall 0.9: `Quantile` 90 % reads "
        f"{stops['`Quantile`, 90 %', 0.9]['read']:.2f}, `Certificate` "
        f"{stops['`Certificate`, 95 %', 0.9]['read']:.2f}",
        "two-retrievers": f"Cranfield: F1 {cranfield['fused']['word']:.3f} fused and cut, "
        f"{cranfield['MiniLM']['ten']:.3f} the first ten of the better one; NFCorpus: "
        f"{nfcorpus['fused']['word']:.3f}, {nfcorpus['BM25']['ten']:.3f}",
    }
    rows = [[f"[{title}](recipes/{name}.md)", told[name]] for name, title in TITLES.items()]
    return table(["question", "measured"], rows, text=2)
