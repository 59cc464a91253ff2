"""Tables and facts on "is there an answer at all", from the measurements alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.lead.answers import MODEL, REGRESSION


def tables(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of the section, by name."""
    tasks, growth = content["tasks"], content["growth"]
    return {
        "answers": _summary(tasks),
        "answers_fewer": _curves(tasks),
        "answers_methods": "\n".join(_methods(name, task) for name, task in tasks.items()),
        "answers_growth": _growth(growth),
        **{f"index_{when}": f"{size:,}" for when, size in growth["index"].items()},
    }


def facts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return in words on how many tasks the model is ahead, and where beyond the interval."""
    leads = {name: _best(task)[1]["lead"] for name, task in content["tasks"].items()}
    sure = [name for name, (_, low, _) in leads.items() if low > 0]
    return {
        "signals_ahead": str(sum(mean > 0 for mean, _, _ in leads.values())),
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
