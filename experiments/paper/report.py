"""The two pages on the paper's experiments, from the kept numbers alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.pages import fill, share, sheets, spread, table
from experiments.paper import omniglot
from experiments.paper.rows import EXTRA_BICUT, RIVALS, SURPRISE
from experiments.results import read

PARTS = ("table1", "table2", "encoders", "readings", "figures")
CLAIMS = {
    "Same Document": ("accuracy",),
    "Omniglot": ("f1", "penalized_dcg"),
    "News Authorship": ("f1",),
    "BM25": ("f1", "penalized_dcg"),
    "DRMM": ("f1", "penalized_dcg"),
}
"""Where the paper has Surprise ahead of all its other rows, by column."""
NAMES = {"f1": "F1", "penalized_dcg": "DCG", "accuracy": "accuracy"}
SURE = 0.05
MINMAX = "Min-max threshold"

Content = dict[str, Any]


def pages() -> dict[str, str]:
    """Return the page and its tables by their paths."""
    results = {name: read("paper", name) for name in PARTS}
    folder = Path(__file__).parent
    return {
        "docs/evidence/paper.md": fill(folder / "page.md", _short(results)),
        **sheets("docs/evidence/paper-tables.md", fill(folder / "tables.md", _long(results))),
    }


# The short page.


def _columns(results: Content) -> list[Content]:
    return [*results["table1"]["columns"], *results["table2"]["columns"]]


def _indexed(results: Content) -> dict[str, Content]:
    """Return the columns taught by the index alone, by name."""
    return {column["column"]: column for column in results["table1"]["indexed"]}


def _claimed(columns: Iterable[Content]) -> list[tuple[Content, str]]:
    """Return the columns and metrics in which the paper has Surprise ahead."""
    return [
        (column, metric) for column in columns for metric in CLAIMS.get(column["paper_column"], ())
    ]


def _counts(columns: Iterable[Content]) -> dict[str, int]:
    """Return in how many of the paper's leads Surprise is ahead, open and behind here."""
    tests = [test for at in _claimed(columns) for test in _tests(*at, _better(*at))]
    found = [_verdict(test) for test in tests]
    return {verdict: found.count(verdict) for verdict in ("ahead", "open", "behind")}


def _verdict(test: Content) -> str:
    if test["p"] >= SURE:
        return "open"
    return "ahead" if test["difference"] > 0 else "behind"


def _better(column: Content, metric: str) -> str:
    """Return the reading of Surprise that does better in a column."""
    return max(SURPRISE, key=lambda name: _mean(column, metric, name))


def _mean(column: Content, metric: str, name: str) -> float:
    (value,) = [row["mean"] for row in column["metrics"][metric]["rows"] if row["row"] == name]
    return float(value)


def _tests(column: Content, metric: str, own: str) -> list[Content]:
    return [test for test in column["metrics"][metric]["tests"] if test["surprise"] == own]


def _short(results: Content) -> Content:
    columns, other = _columns(results), _indexed(results)
    by_name = {column["column"]: column for column in columns}
    same, news = by_name["Same Document"], by_name["News Authorship (C50)"]
    omni = by_name[f"Omniglot, {omniglot.STAGES[0]} epochs"]
    scored = [column for column in columns if "f1" in column["metrics"]]
    wins = [c for c in scored if _mean(c, "f1", MINMAX) > _mean(c, "f1", _better(c, "f1"))]
    ties = results["readings"]["ties"]
    counts = _counts(columns)
    levels = [
        abs(row["mean"] - row["paper"])
        for row in omni["metrics"]["f1"]["rows"]
        if row["row"] in RIVALS
    ]
    grid = {
        place: value
        for line in results["readings"]["placement"]
        if (line["run"], line["refit"], line["metric"]) == ("drmm-trec8", "all", "penalized_dcg")
        for place, value in line["values"].items()
    }
    return {
        "claims": sum(counts.values()),
        **counts,
        **{
            f"indexed_{verdict}": count
            for verdict, count in _counts(other.get(c["column"], c) for c in columns).items()
        },
        "main_table": _main_table(_claimed(columns), other, results["readings"]),
        **_taught_by_index(results["readings"]),
        "taught": omni["facts"]["training queries"],
        "taught_index": other[omni["column"]]["facts"]["training queries"],
        "news_taught": news["facts"]["training queries"],
        "news_index": other[news["column"]]["facts"]["training queries"],
        "news_window": _against(news, "f1", SURPRISE[0], "Local-k"),
        "news_all": _against(news, "f1", SURPRISE[1], "Local-k"),
        "news_indexed": _against(other[news["column"]], "f1", SURPRISE[0], "Local-k"),
        "news_minmax": _mean(news, "f1", EXTRA_BICUT),
        "news_surprise": _mean(news, "f1", _better(news, "f1")),
        "sd_window": _mean(same, "accuracy", SURPRISE[0]),
        "sd_all": _mean(same, "accuracy", SURPRISE[1]),
        "sd_isotonic": _mean(same, "accuracy", "Isotonic"),
        "sd_tied": max(found[rule] for found in ties.values() for rule in ("middle", "keeps most")),
        "levels": max(levels[:3]),
        "levels_bicut": max(levels[3:]),
        **{
            f"omni_{key}": _against(omni, "f1", _better(omni, "f1"), rival)
            for key, rival in zip(
                ("global", "local", "isotonic", "bicut", "encodings"), RIVALS, strict=True
            )
        },
        "omni_indexed": _against(other[omni["column"]], "f1", SURPRISE[1], "Global-k"),
        "omni_dcg_window": _mean(omni, "penalized_dcg", SURPRISE[0]),
        "omni_dcg_all": _mean(omni, "penalized_dcg", SURPRISE[1]),
        "omni_dcg_indexed": _mean(other[omni["column"]], "penalized_dcg", SURPRISE[1]),
        **_folds(results["table2"]["columns"]),
        "grid_exact": f"{grid['exact']:+.3f}",
        "grid_worst": f"{min(grid.values()):+.3f}",
        "minmax_wins": len(wins),
        "minmax_columns": len(scored),
        "sign_changes": _sign_changes(results["encoders"]["columns"]),
        **_spreads(results["encoders"]["columns"]),
        "authors": news["facts"]["authors"],
        **_bases(results["readings"]["recall"]),
        "oracle_stage": omniglot.record()["checkpoints"][2]["oracle_f1_test"],
        "figures_table": _figures(results["figures"]["figures"]),
    }


def _against(column: Content, metric: str, own: str, rival: str) -> str:
    """Return a lead and how sure it is: "+0.0018, p = 0.002"."""
    (test,) = [t for t in _tests(column, metric, own) if t["rival"] == rival]
    return f"{test['difference']:+.4f}, p {_p(test['p'], sign=True)}"


def _folds(columns: list[Content]) -> dict[str, str]:
    """Return by how much one fold's F1 varies, and by how much a lead in it, by its size."""
    found: dict[int, list[tuple[float, float]]] = {}
    for column in columns:
        rows = {row["row"]: row for row in column["metrics"]["f1"]["rows"]}
        for own in SURPRISE:
            lead = np.subtract(rows[own]["by_draw"], rows["Global-k"]["by_draw"])
            size = column["test_queries"][0]
            found.setdefault(size, []).append((rows[own]["sd"], float(np.std(lead, ddof=1))))
    largest = found[max(found)]
    return {
        "fold_size": str(max(found)),
        "fold_sd": spread(sd for sd, _ in largest),
        "fold_lead_sd": spread(sd for _, sd in largest),
    }


def _bases(lines: list[Content]) -> dict[str, Any]:
    """Return both bases of recall in one table, and to which the paper is nearer."""
    rows, far = [], {}
    for line in lines:
        rows.append(
            [
                f"{line['column']}, recall over the {line['base']}",
                *_cells(line["f1"].values(), 4),
            ]
        )
        if line["column"] == "Omniglot":
            gaps = [abs(line["f1"][row] - line["paper"][row]) for row in line["f1"]]
            far[line["base"]] = float(np.mean(gaps))
    paper = next(line["paper"] for line in lines if line["column"] == "Omniglot")
    rows.insert(0, ["Omniglot, the paper", *_cells(paper.values(), 4)])
    return {
        "bases_table": table(["F1", *lines[0]["f1"]], rows),
        "nearer": min(far, key=lambda base: far[base]),
        "far_list": far["list"],
        "far_index": far["index"],
    }


APART = 0.15
"""Two histograms that share less than this are nearly separable."""
NEAR = 0.1
"""A test threshold is near those of training if it is at most this far outside of them."""
SMOOTH = 1.1
"""A curve whose way up and down is at most this many times the shortest way is smooth."""


def _figures(facts: Content) -> str:
    """Return for each claim that the paper draws from a figure whether it holds here."""
    one, three, four = (facts[f"paper-figure-{n}"] for n in (1, 3, 4))
    rows = []
    for name, part in one.items():
        shared = [part[f"overlap in {where}"] for where in ("training", "testing")]
        words = ["nearly separable" if x < APART else "they overlap" for x in shared]
        rows.append(
            [
                f"1, {name}",
                "distances to relevant and other results overlap",
                f"share of the area in common: training {shared[0]:.2f}, test {shared[1]:.2f}",
                f"training: {words[0]}; test: {words[1]}",
            ]
        )
    for run in ("DRMM", "ColBERT-PRF"):
        part = three[run]
        before, after = part["scatter of scores"], part["scatter of Surprise"]
        rows.append(
            [
                f"3, {run}",
                "Surprise brings lists to one range; heads lie at p = 0.1 to 0.01",
                f"distance between lists {before:.2f} deviations, then {after:.2f}; "
                f"{part['heads between the p-values']} of {len(part['queries'])} heads",
                f"one range: {'yes' if after < before / 2 else 'hardly'}; heads: in part",
            ]
        )
    for name, part in four.items():
        if name == "folds":
            continue
        low, high = part["chosen in training"]
        best = part["best threshold in testing"]
        way = part["way up and down"] / part["shortest way"]
        loss = part["F1 at the best"] - part["F1 at the middle"]
        rows.append(
            [
                f"4, {name}",
                "best test threshold is near the training one; F1 is smooth in the threshold",
                f"test {best:.2f}, training {low:.2f} to {high:.2f} "
                f"(costs {loss:.4f}); way {way:.2f} times the shortest",
                f"{'near' if low - NEAR <= best <= high + NEAR else 'not near'}; "
                f"{'smooth' if way <= SMOOTH else 'jagged'}",
            ]
        )
    return table(["figure", "claim of the paper", "here", "does it hold?"], rows, text=4)


def _taught_by_index(readings: Content) -> dict[str, float]:
    """Return the accuracies on Same Document if only indexed documents teach."""
    (found,) = (
        one["accuracy"]
        for one in readings["same_document"]
        if (one["similarity"], one["training"], one["neighbours"])
        == ("euclidean", "indexed", "200")
    )
    return {
        "sd_index_window": found[SURPRISE[0]],
        "sd_index_all": found[SURPRISE[1]],
        "sd_index_isotonic": found["Isotonic"],
    }


def _over_all(readings: Content) -> dict[str, tuple[str, Content]]:
    """Return F1 with the recall of the index or the collection, by column, where measured."""
    found: dict[str, tuple[str, Content]] = {}
    for line in readings["recall"]:
        if line["base"] == "index":
            named = {"Omniglot": f"Omniglot, {omniglot.STAGES[0]} epochs"}
            place = named.get(line["column"], "News Authorship (C50)")
            found[place] = "index", line["f1"]
    for line in readings["robust04"]:
        if line["variant"] == "recall over collection":
            found[line["run"]] = "collection", line["values"]
    return found


def _main_table(
    claimed: list[tuple[Content, str]], other: dict[str, Content], readings: Content
) -> str:
    lines = []
    over_all = _over_all(readings)
    index = _taught_by_index(readings)
    for column, metric in claimed:
        own = _better(column, metric)
        tests = _tests(column, metric, own)
        rows = {row["row"]: row for row in column["metrics"][metric]["rows"]}
        paper = {name: rows[name]["paper"] for name in RIVALS if name in rows}
        known = {name: value for name, value in paper.items() if value is not None}
        best = max(known, key=lambda name: known[name])
        ours = max((t["rival"] for t in tests), key=lambda name: rows[name]["mean"])
        lines.append(
            [
                f"{column['column']}, {NAMES[metric]}",
                f"{rows[own]['paper']:.3f}; {best} {known[best]:.3f}",
                " / ".join(f"{rows[name]['mean']:.3f}" for name in SURPRISE)
                + _recalled(over_all.get(column["column"]), metric, SURPRISE),
                f"{ours} {rows[ours]['mean']:.3f}"
                + _recalled(over_all.get(column["column"]), metric, (ours,)),
                _listed(t for t in tests if t["difference"] > 0),
                _listed((t for t in tests if t["difference"] <= 0), mark="**"),
                f"{index['sd_index_window']:.3f} / {index['sd_index_all']:.3f}; Isotonic "
                f"{index['sd_index_isotonic']:.3f}"
                if column["column"] == "Same Document"
                else _other(other.get(column["column"]), metric, tests),
            ]
        )
    header = ["column", "paper: Surprise; best rival", "ours: Surprise", "ours: best rival"]
    return table([*header, "ahead of", "behind", "taught by the index alone"], lines, text=7)


def _other(column: Content | None, metric: str, tests: list[Content]) -> str:
    """Return Surprise where only indexed items teach, and against whom the verdict is another."""
    if column is None:
        return ""  # Robust04 has no items of its own to learn from
    means = " / ".join(f"{_mean(column, metric, name):.3f}" for name in SURPRISE)
    then = {t["rival"]: _verdict(t) for t in _tests(column, metric, _better(column, metric))}
    changed = [
        f"{then[t['rival']]}: {t['rival'].replace(', ', ' on ')}"
        for t in tests
        if then[t["rival"]] != _verdict(t)
    ]
    return "; ".join([means, *changed])


def _recalled(found: tuple[str, Content] | None, metric: str, names: Iterable[str]) -> str:
    """Return the same cells with the recall of the index or the collection, where it is known."""
    if found is None or metric != "f1":
        return ""
    base, values = found
    known = [f"{values[name]:.3f}" for name in names if name in values]
    return f" ({base}: {' / '.join(known)})" if known else ""


def _listed(tests: Iterable[Content], mark: str = "") -> str:
    return ", ".join(
        mark + test["rival"].replace(", ", " on ") + mark + ("\\*" if test["p"] < SURE else "")
        for test in tests
    )


def _by_data(columns: list[Content]) -> dict[tuple[str, str], list[Content]]:
    """Return the columns of the three encoders by data set and metric."""
    found: dict[tuple[str, str], list[Content]] = {}
    for column in columns:
        for metric in column["metrics"]:
            found.setdefault((column["paper_column"], metric), []).append(column)
    return found


def _leads(columns: list[Content], metric: str) -> dict[str, list[float]]:
    """Return by how much the better reading of Surprise leads each rival, by encoder."""
    return {
        rival: [
            _mean(one, metric, _better(one, metric)) - _mean(one, metric, rival) for one in columns
        ]
        for rival in RIVALS[:3]
    }


def _encoder_leads(columns: list[Content]) -> str:
    lines = [
        [
            f"{data}, {NAMES[metric]}",
            " / ".join(f"{_mean(one, metric, _better(one, metric)):.3f}" for one in found),
            *(
                " / ".join(f"{lead:+.3f}" for lead in leads)
                for leads in _leads(found, metric).values()
            ),
        ]
        for (data, metric), found in _by_data(columns).items()
    ]
    header = ["encoders 0 / 1 / 2", "Surprise", *(f"lead over {name}" for name in RIVALS[:3])]
    return table(header, lines)


def _sign_changes(columns: list[Content]) -> str:
    changed = [
        f"{data}, {NAMES[metric]}, over {rival}"
        for (data, metric), found in _by_data(columns).items()
        for rival, leads in _leads(found, metric).items()
        if min(leads) < 0 < max(leads)
    ]
    if not changed:
        return "The sign of a lead over Global-k, Local-k or Isotonic changes nowhere."
    return f"The sign of a lead changes for: {'; '.join(changed)}."


def _spreads(columns: list[Content]) -> dict[str, str]:
    """Return the ranges of the deviations over encoders and over draws, without DCG."""
    found = [
        (float(np.std([_mean(one, metric, row["row"]) for one in parts], ddof=1)), row["sd"])
        for (_, metric), parts in _by_data(columns).items()
        if metric != "penalized_dcg"
        for row in parts[0]["metrics"][metric]["rows"]
        if row["row"] in (*RIVALS, *SURPRISE)
    ]
    encoders, draws = zip(*found, strict=True)
    return {"encoder_sd": spread(encoders), "draw_sd": spread(draws)}


# The long page.


def _long(results: Content) -> Content:
    table1, readings, figures = (results[name] for name in ("table1", "readings", "figures"))
    by_name = {column["column"]: column for column in table1["columns"]}
    same, news = by_name["Same Document"], by_name["News Authorship (C50)"]
    record = omniglot.record()
    stages = {entry["epoch"]: entry for entry in record["checkpoints"]}
    one, two, three, four = (figures["figures"][f"paper-figure-{n}"] for n in range(1, 5))
    shares = same["choice"][0]
    chosen = {max(draw, key=lambda name: draw[name]) for draw in same["choice"]}
    return {
        "networks": " and ".join(table1["settings"]["BiCut trained on"]),
        "documents": same["facts"]["documents"],
        "sd_test": same["facts"]["test queries"],
        "sd_matched": same["facts"]["test queries with a match"],
        "shares": table(
            ["features", "share"], [[name, f"{share:.3f}"] for name, share in shares.items()]
        ),
        "chosen": " or ".join(sorted(chosen)),
        "nearest": same["facts"]["test queries whose match is nearest"],
        "device": record["device"],
        "seconds": record["seconds"],
        "first_loss": record["epochs"][0]["loss"],
        "last_loss": record["epochs"][-1]["loss"],
        "batch": record["batch"],
        "precision": record["precision"],
        "dimensions": record["encoder"].split("layer of ")[1].split()[0],
        "oracle10": stages[10]["oracle_f1_test"],
        "oracle51": stages[51]["oracle_f1_test"],
        "train10": stages[10]["oracle_f1_train"],
        "authors": news["facts"]["authors"],
        "bicut": _settings(table1["settings"]),
        "table1": "\n".join(_column(c, _indexed(results)) for c in table1["columns"]).strip(),
        "table2": "\n".join(_column(c, {}) for c in results["table2"]["columns"]).strip(),
        "encoder_table": _encoder_leads(results["encoders"]["columns"]),
        "encoder_rows": _encoder_rows(results["encoders"]["columns"]),
        "comparisons": _comparisons(results),
        "outside": spread((100 * part["outside the bins"] for part in one.values()), "{:.2f} %"),
        "without": "; ".join(
            f"{name}: {part['test queries without a relevant result']}"
            for name, part in one.items()
        ),
        "query": two["query"],
        "best_f1": two["best F1"],
        "mean_f1": two["mean best F1"],
        "results": two["results"],
        "relevant": two["relevant"],
        "below": two["below the window"],
        "above": two["above the window"],
        "above_share": share(two["queries with results above the window"]),
        "ceiling": three["ceiling"],
        "drmm_above": three["DRMM"]["results above the ceiling"],
        "drmm_lists": three["DRMM"]["in lists"],
        "colbert_above": three["ColBERT-PRF"]["results above the ceiling"],
        "colbert_lists": three["ColBERT-PRF"]["in lists"],
        "folds": four["folds"],
        "ties": table(
            ["", *readings["ties"]["Global-k"]],
            [[name, *_cells(found.values())] for name, found in readings["ties"].items()],
        ),
        "documents_table": _documents(readings["same_document"]),
        "drawings_table": table(
            ["metric, learned from", *readings["omniglot"][0]["values"]],
            [
                [
                    f"{NAMES[line['metric']]}, {line['learned from']}",
                    *_cells(line["values"].values()),
                ]
                for line in readings["omniglot"]
            ],
        ),
        "robust_table": table(
            ["run, reading", *readings["robust04"][0]["values"]],
            [
                [f"{line['run']}, {line['variant']}", *_cells(line["values"].values())]
                for line in readings["robust04"]
            ],
        ),
        "placement_table": table(
            ["run, metric", "refit", *readings["placement"][0]["values"]],
            [
                [f"{x['run']}, {NAMES[x['metric']]}", x["refit"], *_cells(x["values"].values())]
                for x in readings["placement"]
            ],
        ),
        "commit": " and ".join(sorted({f"`{results[name]['commit']}`" for name in PARTS})),
        "versions": ", ".join(f"{name} {number}" for name, number in table1["versions"].items()),
        "settings": table(
            ["setting", "value"],
            [[name, f"`{json.dumps(value)}`"] for name, value in table1["settings"].items()],
            text=2,
        ),
        "hashes": table(
            ["file", "SHA-256"],
            [
                [name, f"`{value[:16]}...`"]
                for part in (table1["data"], table1["artifacts"])
                for name, value in part.items()
            ],
            text=2,
        ),
    }


def _settings(settings: Content) -> str:
    plain, large = (
        ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings[part].items())
        for part in ("BiCut", "BiCut on Omniglot")
    )
    return f"Raw scores, all training lists; {plain}; on Omniglot {large}"


def _column(column: Content, indexed: dict[str, Content]) -> str:
    other = indexed.get(column["column"])
    facts = "; ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in column["facts"].items()
    )
    paper = column["paper_column"]
    out = [f"### {column['column']}", "", f"{facts}. {column['draws']} draws or folds.", ""]
    if not paper:
        out += ["No column of the paper corresponds to this run.", ""]
    elif paper not in column["column"]:
        out += [f"Beside the paper's column {paper}.", ""]
    for metric, content in column["metrics"].items():
        lines = [
            [
                row["row"],
                *_cells([row["paper"], row["mean"], row["sd"]], 4),
                f"{row['mean_k']:.1f}",
                share(row["empty"]),
                *([f"{_mean(other, metric, row['row']):.4f}"] if other else []),
            ]
            for row in content["rows"]
        ]
        header = [NAMES[metric], "paper", "ours", "sd", "mean k", "empty"]
        header += ["taught by the index alone"] if other else []
        out += [table(header, lines), ""]
    return "\n".join(out)


def _encoder_rows(columns: list[Content]) -> str:
    lines = []
    for (data, metric), found in _by_data(columns).items():
        for row in found[0]["metrics"][metric]["rows"]:
            means = [_mean(one, metric, row["row"]) for one in found]
            over = float(np.std(means, ddof=1))
            name = f"{data}, {NAMES[metric]}: {row['row']}"
            lines.append([name, *_cells([*means, over, row["sd"]], 4)])
    encoders = [f"encoder {n}" for n in range(3)]
    return table(["", *encoders, "sd over encoders", "sd over draws"], lines)


def _comparisons(results: Content) -> str:
    lines = [
        [
            f"{column['column']}, {NAMES[metric]}",
            test["surprise"].partition(", ")[2],
            test["rival"],
            f"{test['difference']:+.4f}",
            _p(test["p"]),
        ]
        for column in (*_columns(results), *_indexed_named(results))
        for metric, content in column["metrics"].items()
        for test in content["tests"]
    ]
    return table(["column", "Surprise", "against", "difference", "p"], lines)


def _indexed_named(results: Content) -> list[Content]:
    return [
        column | {"column": f"{name}, taught by the index alone"}
        for name, column in _indexed(results).items()
    ]


def _documents(readings: list[Content]) -> str:
    rows = ("Global-k", "Local-k", "Isotonic", *SURPRISE)
    return table(
        ["distance, training queries, neighbours", *rows],
        [
            [
                f"{line['similarity']}, {line['training']}, {line['neighbours']}",
                *_cells(line["accuracy"].get(row) for row in rows),
            ]
            for line in readings
        ],
    )


# Tables and numbers.


def _cells(values: Iterable[float | None], digits: int = 3) -> list[str]:
    return ["" if value is None else f"{value:.{digits}f}" for value in values]


def _p(value: float, *, sign: bool = False) -> str:
    equal = "= " if sign else ""
    return "< 0.001" if value < 0.001 else f"{equal}{value:.3f}"
