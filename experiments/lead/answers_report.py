"""The section of ``docs/lead.md`` on answers and none, from the measurements alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.lead.answers import MODEL, REGRESSION


def section(content: Mapping[str, Any]) -> str:
    """Return the section in Markdown."""
    tasks, growth = content["tasks"], content["growth"]
    parts = [
        _INTRODUCTION,
        _summary(tasks),
        _FEWER,
        _curves(tasks),
        _METHODS,
        *(_methods(name, task) for name, task in tasks.items()),
        _GROWTH.format(**growth["index"]),
        _growth(growth),
    ]
    return "\n\n".join(part.strip("\n") for part in parts)


def facts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return in words on how many tasks the model is ahead, and where beyond the interval."""
    leads = {name: _best(task)[1]["lead"] for name, task in content["tasks"].items()}
    sure = [name for name, (_, low, _) in leads.items() if low > 0]
    return {
        "ahead": str(sum(mean > 0 for mean, _, _ in leads.values())),
        "tasks": str(len(leads)),
        "sure": "; ".join(sure) or "none",
        "smallest": f"{min(mean for mean, _, _ in leads.values()):+.1%}",
        "largest": f"{max(mean for mean, _, _ in leads.values()):+.1%}",
    }


def row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |\n"


def head(names: Iterable[str]) -> str:
    """Return the head of a table, all columns but the first to the right."""
    cells = list(names)
    return row(cells) + "|---|" + "---:|" * (len(cells) - 1) + "\n"


def _best(task: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return name and row of the single method that comes closest in accuracy."""
    rivals = {name: row for name, row in task["methods"].items() if name not in (MODEL, REGRESSION)}
    name = max(rivals, key=lambda name: rivals[name]["accuracy"])
    return name, rivals[name]


def _lead(lead: Iterable[float]) -> str:
    return "{:+.1%} ({:+.1%} to {:+.1%})".format(*lead)


def _summary(tasks: Mapping[str, Any]) -> str:
    names = ["task", "lists", "answered", MODEL, "best other method", "its accuracy", "lead"]
    text = head([*names, "lead over the regression"])
    for name, task in tasks.items():
        rival, best = _best(task)
        text += row(
            [
                name,
                f"{task['lists']}",
                f"{task['answered']:.0%}",
                f"{task['methods'][MODEL]['accuracy']:.3f}",
                rival,
                f"{best['accuracy']:.3f}",
                _lead(best["lead"]),
                _lead(task["methods"][REGRESSION]["lead"]),
            ]
        )
    return text


def _curves(tasks: Mapping[str, Any]) -> str:
    sizes = list(next(iter(tasks.values()))["curve"])
    text = head(["task", *(f"{size} lists" for size in sizes)])
    for name, task in tasks.items():
        cells = [task["curve"][size] for size in sizes]
        text += row([name, *(f"{cell['accuracy']:.3f}, {_lead(cell['lead'])}" for cell in cells)])
    return text


def _methods(name: str, task: Mapping[str, Any]) -> str:
    text = f"{name}:\n\n"
    text += head(
        ["method", "area under ROC", "accuracy, tuned", f"lead of {MODEL}", "at 0.05, untuned"]
    )
    for method, own in task["methods"].items():
        untuned = f"{own['at 0.05']:.3f}" if "at 0.05" in own else ""
        lead = _lead(own["lead"]) if "lead" in own else ""
        text += row([method, f"{own['area']:.3f}", f"{own['accuracy']:.3f}", lead, untuned])
    return text


def _growth(rows: Mapping[str, Any]) -> str:
    names = ["false answers", "answers found", "accuracy"]
    text = head(["method", *names])
    for method, own in rows.items():
        if method != "index":
            text += row([method, *(f"{own[name]:.3f}" for name in names)])
    return text


_INTRODUCTION = """
## Is there an answer at all?

Each method is one number per list, larger where an answer is more likely. `Consensus("accuracy")`
is a logistic regression on the scores at ranks 1, 2, 3, 5, 10, 20, 50 and 100, the log of their
range, and their normal scores: the average of one on the best score alone, one on scores and range
and one on all columns. Penalties and weights are chosen by cross-validation within the judged
lists, and few lists are drawn towards the best score with a fixed slope.

**Protocol.** Lists are parted into halves at random, ten times, and each half is judged by what
was learned on the other. No two lists are of one query, character or document; a claim whose
documents are not among the results was left out. Leads are differences in accuracy, with 95 %
bootstrap intervals over lists and partings. The best other method is best with hindsight. The
regression is one on the numbers of all other methods, and not part of the library. The ranks, the
three sets of columns and the penalties were chosen while looking at these tasks, in other random
halves; variants (products of columns, the shape of the list, other penalties, folds and averages)
differed by about 0.01 in mean accuracy at most, from 50 lists on.

![ROC curves of six methods on each of the five tasks](images/lead-answers-roc.svg)
"""

_FEWER = """
### Fewer judged lists

Accuracy of `Consensus("accuracy")` when so many lists are judged, and its lead over the best of
the six signals that need no background, with hindsight for each number of lists.
"""

_METHODS = """
### All methods

"Tuned" has its threshold from judged lists; "at 0.05" has seen lists without an answer only
(background) or nothing (E-value of surprise). `Background` without context orders lists as the
best score does: within one index it adds a meaning (the share of unanswerable queries that would
get an answer), not power. With context it asks how good the best score is given another one of
the list. At 0.05 the best context was a rank just behind the relevant results that a query may
have: the 2nd for one match (Same Document, SciFact), the 100th for sixteen (Omniglot) or up to
thirty (digits). The mean of the best 2, 3 or 10 scores in place of the best one was no better.
"""

_GROWTH = """
### When the index grows

Omniglot, encoder after 51 epochs: thresholds and backgrounds set in an index of {before}
drawings, used in one of {after}; the queries are the same. A threshold on the best score lets
false answers grow with the index, and what is learned from several scores suffers more: after
growth, learn again. Following the size keeps false answers below the level of 0.05, here far
below, at the price of the answers: `F ** (N / N0)` is exact when all queries have one law of
scores; when they differ, it bounds the p-value from above (the mean of powers is at least the
power of the mean), and a threshold for 0.05 then lies far out in the tail of what was seen. The
score given as context moves with the index only if its rank is small beside the index: the 10th
of 1,296 does, the 100th does not. After tenfold growth, fit the background again.
"""
