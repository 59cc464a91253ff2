"""Tables on "is there an answer at all", from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.compare.consensus.answers import MODEL, REGRESSION
from experiments.pages import gain, share, table

__all__ = ["best_other", "tables"]


def tables(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of the section, by name."""
    tasks, growth = content["tasks"], content["growth"]
    return {
        "answers": _summary(tasks),
        "answers_fewer": _curves(tasks),
        "answers_methods": "\n\n".join(_methods(name, task) for name, task in tasks.items()),
        "answers_growth": _growth(growth),
        **{f"index_{when}": size for when, size in growth["index"].items()},
    }


def best_other(task: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return name and row of the single method that comes closest in accuracy."""
    rivals = {n: own for n, own in task["methods"].items() if n not in (MODEL, REGRESSION)}
    name = max(rivals, key=lambda name: rivals[name]["accuracy"])
    return name, rivals[name]


def _summary(tasks: Mapping[str, Any]) -> str:
    head = ["task", "lists", "answered", MODEL, "best other method", "its accuracy", "lead"]
    rows = []
    for name, task in tasks.items():
        rival, best = best_other(task)
        rows.append(
            [
                name,
                f"{task['lists']}",
                share(task["answered"]),
                f"{task['methods'][MODEL]['accuracy']:.3f}",
                rival,
                f"{best['accuracy']:.3f}",
                gain(best["lead"]),
                gain(task["methods"][REGRESSION]["lead"]),
            ]
        )
    return table([*head, "lead over the regression"], rows)


def _curves(tasks: Mapping[str, Any]) -> str:
    sizes = list(next(iter(tasks.values()))["curve"])
    rows = []
    for name, task in tasks.items():
        cells = (task["curve"][size] for size in sizes)
        rows.append([name, *(f"{cell['accuracy']:.3f}, {gain(cell['lead'])}" for cell in cells)])
    return table(["task", *(f"{size} lists" for size in sizes)], rows)


def _methods(name: str, task: Mapping[str, Any]) -> str:
    head = ["method", "area under ROC", "accuracy, tuned", f"lead of {MODEL}", "at 0.05, untuned"]
    rows = []
    for method, own in task["methods"].items():
        lead = gain(own["lead"]) if "lead" in own else ""
        untuned = f"{own['at 0.05']:.3f}" if "at 0.05" in own else ""
        rows.append([method, f"{own['area']:.3f}", f"{own['accuracy']:.3f}", lead, untuned])
    return f"{name}:\n\n{table(head, rows)}"


def _growth(rows: Mapping[str, Any]) -> str:
    names = ["false answers", "answers found", "accuracy"]
    methods = {name: own for name, own in rows.items() if name != "index"}
    lines = ([name, *(f"{own[kind]:.3f}" for kind in names)] for name, own in methods.items())
    return table(["method", *names], lines)
