"""The page ``docs/lead.md``, from the measurements alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import paretocut as pc
from experiments.data import Run
from experiments.lead.runs import METRICS, SIMPLE, Values

DRAWS = 2000
TUNED = (*SIMPLE, "consensus")


def summary(values: Mapping[str, Values], lists: Mapping[Run, pc.RankedLists]) -> dict[str, Any]:
    """Return means over queries and runs, and differences with bootstrap intervals."""
    families: dict[str, list[Run]] = {}
    for run in lists:
        families.setdefault(run.family, []).append(run)
    out: dict[str, Any] = {"runs": {}, "families": {}, "overall": {}, "difference": {}}
    for run, part in lists.items():
        rows = values[run.name]
        out["runs"][run.name] = {"family": run.family, "queries": len(part)} | {
            metric: {name: float(row[metric].mean()) for name, row in rows.items() if metric in row}
            for metric in METRICS
        }
    for metric in METRICS:
        means = {run.name: out["runs"][run.name][metric] for run in lists}
        out["overall"][metric] = _mean(means.values())
        for family, members in families.items():
            own = _mean(means[run.name] for run in members)
            out["families"].setdefault(family, {"runs": len(members)})[metric] = own
        single = max(SIMPLE, key=lambda name, m=metric: out["overall"][m][name])  # type: ignore[misc]
        out["overall"][metric + " best rule"] = single
        pairs = [("consensus", single), ("prior, lists", single), ("zero-shot", single)]
        for ours, rule in pairs:
            if ours not in out["overall"][metric]:
                continue
            rows_ = {}
            for family, members in families.items():
                rows_[family] = _interval(values, lists, members, metric, ours, rule)
            rows_["all runs"] = _interval(values, lists, list(lists), metric, ours, rule)
            out["difference"].setdefault(metric, {})[ours] = rows_
        own_best = {}
        for family, members in families.items():
            best = max(SIMPLE, key=lambda name: out["families"][family][metric][name])
            low = _interval(values, lists, members, metric, "consensus", best)
            own_best[family] = {"rule": best, "interval": low}
        out["difference"][metric]["to the best rule of the family"] = own_best
    return out


def _mean(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    table = list(rows)
    return {name: float(np.mean([row[name] for row in table])) for name in table[0]}


def _interval(
    values: Mapping[str, Values],
    lists: Mapping[Run, pc.RankedLists],
    members: list[Run],
    metric: str,
    ours: str,
    rule: str,
) -> list[float]:
    """Return the gain over a rule and its 95 % interval, queries resampled across runs.

    The gain is relative for F1, a difference for DCG, whose values may be 0; the mean over runs.
    """
    names = np.unique(np.concatenate([_queries(run, lists[run]) for run in members]))
    rng = np.random.default_rng(0)
    weight = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS).astype(
        float
    )
    weight = np.vstack([np.ones(len(names)), weight])
    gains = []
    for run in members:
        own = weight[:, np.searchsorted(names, _queries(run, lists[run]))]
        total = np.maximum(own.sum(axis=1), 1e-9)
        a = own @ values[run.name][ours][metric] / total
        b = own @ values[run.name][rule][metric] / total
        gains.append(a / np.maximum(b, 1e-9) - 1 if metric == "f1" else a - b)
    mean = np.mean(gains, axis=0)
    return [float(mean[0]), *map(float, np.percentile(mean[1:], [2.5, 97.5]))]


def _queries(run: Run, lists: pc.RankedLists) -> Any:
    return np.char.add(run.qrels + ":", lists.query_ids.astype(str))


def page(content: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    parts = [_INTRODUCTION.format(**_facts(content))]
    for metric in METRICS:
        parts.append(f"### {metric.upper()}, tuned\n\n" + _families(content, metric, TUNED))
        parts.append(_gains(content, metric))
    parts.append(_WITHOUT)
    shown = ("fixed_10", "surprise_alpha", "minmax_half", "zero-shot", "prior", "prior, lists")
    told = ("prior, lists, times 0.5", "prior, lists, times 2", "minmax")
    parts.append("### F1\n\n" + _families(content, "f1", (*shown, *told)))
    parts.append("### DCG\n\n" + _families(content, "dcg", (*shown[:4], "global_k")))
    parts.append(_CURVES + _curves(content["curves"]))
    parts.append(_ABLATION + _ablation(content["ablation"]))
    parts.append(_CALIBRATION.format(**_errors(content["calibration"])))
    parts.append(_bins(content["calibration"]["bins"]))
    parts.append(_GAP.format(**_facts(content)))
    parts.append(_ANSWERS + _answers(content["answers"]["tasks"]))
    parts.append(_GROWTH.format(**content["answers"]["growth"]["index"]))
    parts.append(_growth(content["answers"]["growth"]))
    parts.append(_REJECTED)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _facts(content: Mapping[str, Any]) -> dict[str, str]:
    overall = content["overall"]["f1"]
    gain, low, high = content["difference"]["f1"]["consensus"]["all runs"]
    rows = content["difference"]["f1"]["consensus"]
    worst = min((family for family in rows if family != "all runs"), key=lambda f: rows[f][0])
    dcg = content["overall"]["dcg"]
    families = content["families"]
    below = [name for name, row in families.items() if row["dcg"]["consensus"] < 0]
    zero = [name for name, row in families.items() if row["dcg"]["zero-shot"] < 0]
    told, oracle, number = (
        overall[name] for name in ("prior, lists", "oracle", "number told per query")
    )
    closed = (number - overall["minmax"]) / (oracle - overall["minmax"])
    return {
        "rule": content["overall"]["f1 best rule"],
        "minmax": f"{overall['minmax']:.3f}",
        "consensus": f"{overall['consensus']:.3f}",
        "gain": f"{gain:+.1%}",
        "low": f"{low:+.1%}",
        "high": f"{high:+.1%}",
        "worst": worst,
        "worst_gain": f"{rows[worst][0]:+.1%}",
        "dcg": f"{dcg['consensus']:.3f}",
        "dcg_rule": content["overall"]["dcg best rule"],
        "dcg_best": f"{dcg[content['overall']['dcg best rule']]:.3f}",
        "below": ", ".join(below) or "none",
        "zero_below": ", ".join(zero) or "none",
        "hindsight": _hindsight(content),
        "zero": f"{overall['zero-shot']:.3f}",
        "told": f"{told:.3f}",
        "half": f"{overall['prior, lists, times 0.5']:.3f}",
        "twice": f"{overall['prior, lists, times 2']:.3f}",
        "global_k": f"{overall['global_k']:.3f}",
        "oracle": f"{oracle:.3f}",
        "number": f"{number:.3f}",
        "closed": f"{closed:.0%}",
    }


def _hindsight(content: Mapping[str, Any]) -> str:
    rows = content["difference"]["f1"]["to the best rule of the family"]
    worse = [family for family, row in rows.items() if row["interval"][2] < 0]
    if worse:
        return f"Worse than the best rule of the family, beyond the interval: {', '.join(worse)}."
    return "In no family is it worse than the family's own best rule beyond the interval."


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _head(names: Iterable[str]) -> str:
    cells = list(names)
    return _row(cells) + "|---|" + "---:|" * (len(cells) - 1) + "\n"


def _families(content: Mapping[str, Any], metric: str, names: Iterable[str]) -> str:
    families = content["families"]
    text = _head(["method", *(f"{f} ({row['runs']})" for f, row in families.items()), "all runs"])
    for name in (*names, "oracle"):
        cells = [families[family][metric][name] for family in families]
        cells.append(content["overall"][metric][name])
        text += _row([f"`{name}`", *(f"{value:.3f}" for value in cells)])
    return text


def _gains(content: Mapping[str, Any], metric: str) -> str:
    rows = content["difference"][metric]
    rule = content["overall"][f"{metric} best rule"]
    kind = "{:+.1%} ({:+.1%} to {:+.1%})" if metric == "f1" else "{:+.3f} ({:+.3f} to {:+.3f})"
    text = f"`consensus` against `{rule}`, the best single rule, and against the rule that is best "
    text += "in the family with hindsight; 95 % bootstrap intervals over queries.\n\n"
    text += _head(["family", f"against `{rule}`", "best of the family", "against that"])
    for family, gain in rows["consensus"].items():
        best = rows["to the best rule of the family"].get(family)
        cells = [f"`{best['rule']}`", kind.format(*best["interval"])] if best else ["", ""]
        text += _row([family, kind.format(*gain), *cells])
    return text


def _curves(rows: Mapping[str, Any]) -> str:
    names = ["global_k", "minmax", "consensus", "gain over minmax", "runs more than 2 % below"]
    text = _head(["judged queries", "runs", *names])
    for size, row in rows.items():
        text += _row(
            [size, str(row["runs"])]
            + [f"{row[name]:.3f}" for name in names[:3]]
            + [f"{row[names[3]]:+.1%}", str(row[names[4]])]
        )
    return text


def _ablation(rows: Mapping[str, Any]) -> str:
    text = _head(["variant", "F1", "DCG"])
    return text + "".join(
        _row([name, f"{row['f1']:.4f}", f"{row['dcg']:.3f}"]) for name, row in rows.items()
    )


def _errors(calibration: Mapping[str, Any]) -> dict[str, str]:
    return {
        "mean": f"{calibration['error, mean']:.3f}",
        "largest": f"{calibration['error, largest']:.3f}",
    }


def _bins(rows: Iterable[Mapping[str, Any]]) -> str:
    text = _head(["probability", "results", "mean probability", "share relevant"])
    return text + "".join(
        _row(
            [
                f"{row['from']:g} to {row['to']:g}",
                f"{row['results']:,}",
                f"{row['predicted']:.3f}",
                f"{row['actual']:.3f}",
            ]
        )
        for row in rows
    )


def _answers(tasks: Mapping[str, Any]) -> str:
    text = ""
    for name, task in tasks.items():
        text += (
            f"{name}: {task['queries']} test queries, {task['answered']:.0%} with an answer.\n\n"
        )
        text += _head(["method", "area under ROC", "accuracy, tuned", "accuracy at 0.05, untuned"])
        for method, row in task["methods"].items():
            cells = [row.get(column) for column in ("area", "accuracy", "at 0.05")]
            text += _row([method, *("" if cell is None else f"{cell:.3f}" for cell in cells)])
        text += "\n"
    return text


def _growth(rows: Mapping[str, Any]) -> str:
    names = ["false answers", "answers found", "accuracy"]
    text = _head(["method", *names])
    for method, row in rows.items():
        if method != "index":
            text += _row([method, *(f"{row[name]:.3f}" for name in names)])
    return text


_INTRODUCTION = """
# How far can one go?

The best that this library can do with nothing but scores, measured on 22 judged runs, and where
a simple rule cannot be beaten. `make lead` makes this page and `docs/lead.json`; written by hand
are the words, the weights tried (under Protocol) and the last table, both from exploration.

In short:

- **Tuned on judged queries**, `Consensus` (the vote of simple rules) has mean F1 {consensus}, the
  best single rule, `{rule}`, {minmax}: a mean relative gain of {gain} ({low} to {high}). The family
  with the smallest gain is {worst}, {worst_gain}. That is a small gain, and less than the 5 % we
  had set out for; the reasons are below.
  {hindsight}
- **DCG**: {dcg} against {dcg_best} of `{dcg_rule}`. Here much is to be gained, since some rules
  know when to return nothing and others how much to return. Families below 0: {below}.
- **Without a judgement**, keeping the upper half of the score range gives F1 {zero}, and nothing
  learned on other collections was better on a new one. With **one number**, how many relevant
  results a list holds on average, and unjudged lists of the system, F1 is {told}: as good as
  tuning min-max on judged queries. A number off by a factor of two still gives {half} (half) or
  {twice} (twice), more than tuned Global-k ({global_k}).
- **Answer or none**: where an index is fixed, the best raw score is hard to beat, and a
  background null says the same with a p-value; given the level of the rest of the list it is
  better on some tasks and worse on others. No method is best on every task.

**Protocol.** Tuned: fitted on half of the queries and tested on the other half, five times both
ways, for the metric of the table. Whatever `Consensus` knows of other collections (the weight of
six queries for F1, of one for DCG) was learned without the collection it is tested on. Keys,
slopes of the log-odds, these two weights, and that the zero-shot rules for DCG are thresholds on z,
were chosen while looking at these very runs, so part
of the gain is choice. Weights tried on all of this protocol: for F1 5, 8 and then 6, with mean
gains of +1.1, +1.3 and +1.2 % and -1.7, -0.0 and -0.9 % on CLEF TAR (whose 28 queries cannot tell
these apart); for DCG 0 and 1, with means of 0.311 and 0.341 and -0.277 and -0.025 on CLEF TAR. On
seven of the runs 10 and 15 (F1) and 2 and 3 (DCG) were looked at too, and on other halves of the
queries weights from 0 to 40. What is shipped was learned from all five collections. Means are
over queries, then over the runs of a family; "all runs" is the mean over the 22 runs. F1 has the
relevant results *in the list* as recall base, DCG is +1 or -1 over log2(rank + 1). Numbers of runs
are in brackets. `oracle` sees the judgements.

## With judgements
"""

_WITHOUT = """
## Without judgements

`zero-shot` is `Consensus()` as it comes; `prior` is told the mean number of relevant results in
the lists of the run, `prior, lists` also sees the lists, unjudged; "times" is told a number that
is wrong by that factor. `minmax` and `global_k`, tuned on judged queries, are for comparison.
The mean number was taken from all judged queries of the run: it is knowledge a user may have,
not something the method found.
"""

_CURVES = """
## Learning curves

Mean F1 by the number of judged queries, five random choices each, over the runs with enough
queries (so rows are of different runs).

"""

_ABLATION = """
## What gives what

Variants of the tuned vote, mean over the 22 runs (same protocol, other random halves).

"""

_CALIBRATION = """
## Are the probabilities right?

`predict_proba` after `fit` on one half of the queries, on the other half. The mean difference
between probability and share, over these classes, is {mean} on the average run and {largest} on
the worst. Most results have small probabilities, and those are right; the rare high ones are too
high, as a straight line in the log-odds cannot flatten at the top of a list. Utilities that keep
results only above one half should be tuned on judged queries, not taken from these.
"""

_GAP = """
## The gap to the oracle

Between `minmax` ({minmax}) and `oracle` ({oracle}) lies most of the prize. If the number of
relevant results in *each* list were known, and nothing else, the same log-odds would give
{number}: {closed} of the gap. So a good part of what is missing is how many relevant results
*this query* has. The scores of the list hardly say: shifting the threshold by any of ten
properties of the list (log depth; score at ranks 2, 5, 10, 50, mean and median in units of the
range; z of the best; raw best; range), each in four strengths, changed cross-validated F1 by
-28 % to +0.5 %. The rest of the gap is how relevant results happen to lie in this very list,
which only judgements show.
"""

_ANSWERS = """
## Is there an answer at all?

Each method is one number per list. "Tuned" has its threshold from judged queries; "at 0.05" has
seen queries without an answer only (background) or nothing (E-value of surprise). `Background`
without context orders lists as the best score does: within one index it adds a meaning (the
share of unanswerable queries that would get an answer), not power. With context it asks how good
the best score is given the 100th, or the last, of the list. "Regression" is a logistic regression
on all the numbers above it, not part of the library.

"""

_GROWTH = """
### When the index grows

Omniglot, encoder after 51 epochs: thresholds and backgrounds set in an index of {before}
drawings, used in one of {after}; the queries are the same. A threshold on the best score lets
false answers grow with the index. Following the size keeps them below the level of 0.05, here far
below, at the price of the answers: `F ** (N / N0)` is exact when all queries have one law of
scores; when they differ, it bounds the p-value from above (the mean of powers is at least the
power of the mean), and a threshold for 0.05 then lies far out in the tail of what was seen. The
score given as context moves with the index only if its rank is small beside the index: the 10th
of 1,296 does, the 100th does not. After tenfold growth, fit the background again.
"""

_REJECTED = """
## Tried and rejected

Mean F1 over the 22 runs (min-max tuned: 0.321; upper half of the range, untrained: 0.281 or, on
logits where saturated, 0.282). All numbers are from exploration with the same data and are given
as orders of magnitude, not as tests.

| idea | F1 |
|---|---:|
| logistic regression per result, cut at the highest expected F1 | 0.319 |
| the same on ten features of results and lists | 0.317 |
| best of 20 keys by training F1 | 0.320 to 0.322 |
| votes weighted by exp(training F1), Gibbs posterior | 0.321 to 0.325 |
| mixture over query difficulty, fitted by EM, expected F1 (in-sample!) | 0.316 to 0.318 |
| min-max against the median, quartile or 100th score instead of the last | 0.311 to 0.322 |
| gradient boosting per result on other collections, untrained here | 0.264 |
| network for expected F1 on other collections, untrained here | 0.254 to 0.263 |
| its output as a key with a tuned threshold | 0.305 |
| 3 to 5 parameters for the relative F1 of other collections, untrained here | 0.252 to 0.260 |
| vote of other collections, untrained here | 0.259 |
| same number of expected relevant results in every list | 0.311 |

What is learned about *lists* on one collection does not carry to another; what is learned about
*results within a list* (min-max score, a little rank) does. Per-result probabilities cut worse
than a threshold, even where they are right on average; a likely reason is that a regression over
all lists is flatter than relevance is within a list. So the decision is made by rules and their
vote, and the probabilities are there for those who need them.

The two readings of surprise are not among the keys: they cost the fit of a tail for each list,
and the line "with both surprises" above shows what they would add beside z, which also measures
how far the top stands out from its list.
"""
