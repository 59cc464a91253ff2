"""What the explorer looks at: ranked lists, who decides on them, and what that gives."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from paretocut import metrics
from paretocut.background import Background
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.tail import SurpriseFits, fit_tails
from paretocut.truncators import (
    Autocut,
    Consensus,
    FixedK,
    Gated,
    LargestGap,
    ScoreThreshold,
    Surprise,
    Truncator,
)

__all__ = ["LEARNED", "METRICS", "Method", "Session", "model_text"]

LEARNED = "learned"
"""Key of the method that learns from judgements made on the page."""

METRICS = ("f1", "precision", "recall")

Kind = Literal["ours", "rival", "model", "learned"]


@dataclass(frozen=True)
class Method:
    """A way to cut that the page shows.

    Attributes
    ----------
    key
        Its name in links.
    label
        Its name on the page.
    truncator
        What decides.
    kind
        Whether it is the library's, a rival, a saved model, or learned on the page.
    python, command
        The same in code: an expression, and what follows ``paretocut cut RUN``.
    """

    key: str
    label: str
    truncator: Truncator
    kind: Kind
    python: str
    command: str


def standard_methods() -> list[Method]:
    """Return the methods that need nothing: the default, the paper's rule and their rivals."""
    return [
        Method("consensus", "Consensus", Consensus(), "ours", "pc.cut_batch(lists)", ""),
        Method(
            "surprise",
            "Surprise, p ≤ 0.05",
            Surprise(alpha=0.05),
            "ours",
            "pc.cut_batch(lists, alpha=0.05)",
            "--alpha 0.05",
        ),
        _rival("first10", "First 10", FixedK(10), "fixed_k:k=10"),
        _rival("upper-half", "Upper half", ScoreThreshold("minmax", 0.5), "minmax:threshold=0.5"),
        _rival("largest-gap", "Largest gap", LargestGap(), "largest_gap"),
        _rival("autocut", "Autocut", Autocut(), "autocut"),
    ]


def _rival(key: str, label: str, truncator: Truncator, words: str) -> Method:
    python = f"pc.truncators.{truncator!r}.cut_batch(lists)"
    return Method(key, label, truncator, "rival", python, f"--method {words}")


class Session:
    """Ranked lists and the methods that cut them; what they decide is worked out once.

    Parameters
    ----------
    lists
        The lists, judged or not.
    name
        Name of the run, as the page shows it.
    models
        Saved models by name: truncators, or backgrounds, which gate untrained `Consensus`.
    query_texts, doc_texts
        Texts by id, where they are known.
    source
        How the run is written in a command: its path.
    """

    def __init__(
        self,
        lists: RankedLists,
        *,
        name: str = "run",
        models: Mapping[str, Truncator | Background] | None = None,
        query_texts: Mapping[str, str] | None = None,
        doc_texts: Mapping[str, str] | None = None,
        source: str = "run.txt",
    ) -> None:
        self.lists = lists
        self.name = name
        self.source = source
        self.query_texts = query_texts or {}
        self.doc_texts = doc_texts or {}
        self.methods = {method.key: method for method in standard_methods()}
        for label, model in (models or {}).items():
            self._add_model(label, model)
        self._decided: dict[str, Cuts] = {}
        self.plan: Sequence[tuple[int, int]] = ()  # results to judge
        self.lock = Lock()  # judgements come while views are made

    def _add_model(self, label: str, model: Truncator | Background) -> None:
        key = f"model-{label}"
        truncator = Gated(Consensus(), model) if isinstance(model, Background) else model
        if truncator._needs_query():
            unknown = [q for q in self.lists.query_ids.tolist() if q not in self.query_texts]
            if unknown:
                raise InvalidParameterError(
                    f"explore: the model {label} was calibrated for lexical scores and needs the "
                    f"text of every query, got none for {len(unknown)}, such as {unknown[0]}"
                )
        option = "--background" if isinstance(model, Background) else "--model"
        self.methods[key] = Method(
            key,
            label,
            truncator,
            "model",
            f'pc.cut_batch(lists, truncator="{label}.json")'
            if option == "--model"
            else f'pc.truncators.Gated(pc.truncators.Consensus(), pc.load("{label}.json"))'
            ".cut_batch(lists)",
            f"{option} {label}.json",
        )

    def replace_lists(self, lists: RankedLists) -> None:
        """Take the same lists with other judgements; what methods decided stays."""
        self.lists = lists
        self.__dict__.pop("curves", None)

    def add(self, method: Method) -> None:
        """Show one more method."""
        self.methods[method.key] = method
        self.__dict__.pop("disagreement", None)

    def forget(self, key: str) -> None:
        """Show a method no more, if it is there."""
        self._decided.pop(key, None)
        if self.methods.pop(key, None) is not None:
            self.__dict__.pop("disagreement", None)

    def cuts(self, key: str) -> Cuts:
        """Return what a method decides on all lists."""
        if key not in self._decided:
            truncator = self.methods[key].truncator
            self._decided[key] = _cut(truncator, self.lists, self._asked(truncator, slice(None)))
        return self._decided[key]

    def cut(self, key: str, i: int) -> Cut:
        """Return what a method decides on one list; the reasons of others are not worked out."""
        truncator = self.methods[key].truncator
        one = slice(i, i + 1)
        return _cut(truncator, self.lists[one], self._asked(truncator, one))[0]

    def _asked(self, truncator: Truncator, part: slice) -> list[str] | None:
        if not truncator._needs_query():
            return None
        return [self.query_texts[name] for name in self.lists.query_ids[part].tolist()]

    @cached_property
    def fits(self) -> SurpriseFits:
        """The tails of the lists."""
        return fit_tails(self.lists)

    @cached_property
    def warnings(self) -> list[tuple[str, ...]]:
        """What the user should know of each list, by the tail and by the default."""
        both = zip(self.fits.warnings, self.cuts("consensus").warnings, strict=True)
        return [tuple(dict.fromkeys((*tail, *cut))) for tail, cut in both]

    @property
    def measured(self) -> bool:
        """Whether metrics have a value: every result of every list has a judgement."""
        return self.lists.fully_judged

    @cached_property
    def curves(self) -> dict[str, Ragged]:
        """The curve of each metric over k, of every list; empty without judgements."""
        if not self.measured:
            return {}
        return {name: metrics.get(name).curves(self.lists) for name in METRICS}

    def values(self, metric: str, k: IntArray) -> FloatArray:
        """Return a metric at these cuts, one for each list."""
        curves = self.curves[metric]
        found: FloatArray = curves.values[curves.offsets[:-1] + k]
        return found

    @cached_property
    def disagreement(self) -> FloatArray:
        """How many doublings lie between the shortest and the longest cut of each list."""
        k = np.stack([self.cuts(key).k for key in self.methods])
        spread: FloatArray = np.log2(1 + k.max(axis=0)) - np.log2(1 + k.min(axis=0))
        return spread


def _cut(truncator: Truncator, lists: RankedLists, texts: Sequence[str] | None) -> Cuts:
    given: dict[str, Any] = {} if texts is None else {"queries": texts}
    return truncator.cut_batch(lists, **given)


def model_text(truncator: Truncator) -> dict[str, Any]:
    """Return a truncator as the JSON that `paretocut.load` reads.

    Parameters
    ----------
    truncator
        One without large arrays; those need a second file.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        truncator.save(path)
        content: dict[str, Any] = json.loads(path.read_bytes())
    if "tensors" in content:
        raise InvalidParameterError(
            f"model: {type(truncator).__name__} has large arrays and is two files; "
            "save it with its save method"
        )
    return content
