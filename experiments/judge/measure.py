"""Simulated judges on every judged run: half of the queries are judged, the other half are cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.command import Again, say
from experiments.judge.prior import coefficients, prior_of, runs
from experiments.results import read
from paretocut import metrics
from paretocut.decisions.options import EXPECT
from paretocut.judging import JudgingSession
from paretocut.lists import Ragged, RankedLists
from paretocut.relevance import Relevance, Scale, believed_cuts, learn
from paretocut.truncators import Consensus

__all__ = ["BUDGETS", "JUDGES", "Part", "again", "measure", "plain_number"]

BUDGETS = (25, 50, 100, 200, 500)
JUDGES = {"clean": (1.0, 0.0), "80 %, 3 %": (0.8, 0.03), "95 %, 1 %": (0.95, 0.01)}
"""Share of the relevant results that each judge finds, and of irrelevant ones he calls relevant."""
LENIENT = (0.98, 0.15)
_MOST = 200  # queries of one run
_DIVISIONS = 1
_USUAL = 200  # judgements of the rows that have no curve

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """Half of a run to judge, and half to cut; both judged in full, the truth of the simulation."""

    judge: RankedLists
    test: RankedLists
    seed: int  # of the errors

    @cached_property
    def number(self) -> float:
        """The true mean number of relevant results of a list that is judged."""
        return float(self.judge.relevant.values.sum() / len(self.judge))

    @cached_property
    def scale(self) -> Scale:
        """The scale of the half that is judged."""
        return Scale.of(self.judge.merit)

    @cached_property
    def merit(self) -> Ragged:
        """The half that is judged, on that scale."""
        return self.scale.apply(self.judge.merit)

    @cached_property
    def exact(self) -> float:
        """The mean F1 of the half that is judged, if the mean number is told."""
        bare = RankedLists(self.judge.scores)
        cuts = Consensus(expect=self.number).fit(bare).predict(bare)
        return float(metrics.f1(self.judge, cuts).mean())

    def f1(self, cuts: NDArray[np.int64]) -> float:
        """Return the mean F1 of the half that is cut."""
        return float(metrics.f1(self.test, cuts).mean())

    def cut(self, truncator: Consensus) -> float:
        """Return the mean F1 of a truncator."""
        return self.f1(truncator.predict(RankedLists(self.test.scores)))

    def by(self, model: Relevance) -> float:
        """Return the mean F1 of the cuts that a model of relevance makes."""
        merit = self.scale.apply(self.test.merit)
        return self.f1(believed_cuts(merit, model.beliefs(merit)))


def halves(lists: RankedLists) -> Iterator[Part]:
    """Yield what is judged and what is cut: random halves of the queries, both ways."""
    for seed in range(_DIVISIONS):
        order = np.random.default_rng([seed, 1]).permutation(len(lists))[:_MOST]
        first, second = np.sort(order[::2]), np.sort(order[1::2])
        yield Part(lists[first], lists[second], 2 * seed)
        yield Part(lists[second], lists[first], 2 * seed + 1)


def said_by(truth: Bools, judge: tuple[float, float], seed: int) -> Bools:
    """Return what a judge would say of every result."""
    found, false = judge
    luck = np.random.default_rng(seed).random(truth.size)
    return np.where(truth, luck < found, luck < false)


def answered(part: Part, judge: tuple[float, float], most: int) -> tuple[list[int], Bools]:
    """Return the places that a simulated judge is asked about, in order, and his answers."""
    said = said_by(part.judge.relevant.values, judge, 2 * part.seed + 10)
    session = JudgingSession(RankedLists(part.judge.scores), most, seed=part.seed)
    places = []
    while (question := session.next()) is not None:
        place = int(part.judge.scores.offsets[question.list_index]) + question.rank
        session.answer(bool(said[place]))
        places.append(place)
    return places, said


def model_of(
    part: Part, places: list[int], said: Bools, known: Any, errors: tuple[float, float] | None
) -> Relevance:
    """Return the model of relevance that these answers teach."""
    judged = np.zeros(said.size, dtype=bool)
    judged[places] = True
    return learn(part.merit, judged, said, errors=errors, known=known)


def plain_number(lists: RankedLists, places: list[int], said: Bools) -> float:
    """Return the number of relevant results by a plain sum: every answer stands for its stratum.

    Strata are the ranks 1, 2 to 3, 4 to 7 and so on; the share of yes in each, over all lists, is
    multiplied by its size.
    """
    stratum = np.floor(np.log2(lists.scores.ranks + 1)).astype(int)
    size = np.bincount(stratum)
    asked = np.bincount(stratum[places], minlength=size.size)
    yes = np.bincount(stratum[places], said[places], minlength=size.size)
    share = np.where(asked > 0, yes / np.maximum(asked, 1), 0.0)
    return float(share @ size / len(lists))


def again() -> Again:
    """Yield F1 of the default on the halves of one run."""
    _, name, lists = next(iter(runs()))
    (kept,) = (run["halves"] for run in read("judge")["runs"] if run["run"] == name)
    for i, (part, row) in enumerate(zip(halves(lists), kept, strict=True)):
        yield f"{name}, half {i}, nothing known", row["nothing"], part.cut(Consensus())


def measure() -> dict[str, Any]:
    """Return the numbers of each run, half by half."""
    coefs = np.array([coefficients(lists) for _, _, lists in runs()])
    families = [family for family, _, _ in runs()]
    found = []
    for family, name, lists in runs():
        # The prior of a collection is learned from all others.
        others = [i for i, other in enumerate(families) if other != family]
        known = prior_of(coefs[others], [families[i] for i in others])
        rows = [_measured(part, known) for part in halves(lists)]
        found.append({"collection": family, "run": name, "halves": rows})
        say(name)
    return {"runs": found}


def _measured(part: Part, known: Any) -> dict[str, Any]:
    number = part.number
    words = {word: abs(np.log(number / mean)) for word, mean in EXPECT.items()}
    word: Any
    second: Any
    word, second = sorted(words, key=lambda name: words[name])[:2]
    some = np.random.default_rng(part.seed).permutation(len(part.judge))[:20]
    row: dict[str, Any] = {
        "number": number,
        "nothing": part.cut(Consensus()),
        "word": part.cut(Consensus(expect=word).fit(RankedLists(part.judge.scores))),
        "next word": part.cut(Consensus(expect=second).fit(RankedLists(part.judge.scores))),
        "told": part.cut(Consensus(expect=number).fit(RankedLists(part.judge.scores))),
        "twenty": part.cut(Consensus().fit(part.judge[np.sort(some)])),
        "full": part.cut(Consensus().fit(part.judge)),
        "judges": {},
    }
    for name, judge in JUDGES.items():
        places, said = answered(part, judge, max(BUDGETS))
        row["judges"][name] = {
            str(budget): _taught(part, places[:budget], said, known, word) for budget in BUDGETS
        }
        plain = plain_number(part.judge, places[:_USUAL], said)
        cuts = Consensus(expect=max(plain, 0.3)).fit(RankedLists(part.judge.scores))
        row["judges"][name]["plain"] = part.cut(cuts)
    places, said = answered(part, LENIENT, _USUAL)
    missed = (1 - LENIENT[0], LENIENT[1])
    row["lenient"] = part.by(model_of(part, places, said, known, None))
    row["lenient, stated"] = part.by(model_of(part, places, said, known, missed))
    return row


def _taught(part: Part, places: list[int], said: Bools, known: Any, word: str) -> dict[str, Any]:
    model = model_of(part, places, said, known, None)
    own = metrics.f1(part.judge, believed_cuts(part.merit, model.beliefs(part.merit))).mean()
    return {
        "f1": part.by(model),
        "with word": part.by(model.expecting(word)),
        "number": model.number,
        "interval": list(model.interval),
        # What the cuts lose on the judged half against the number known exactly; the bound.
        "lost": part.exact - float(own),
        "loss": model.loss(part.merit.take(np.flatnonzero(part.merit.filled)[:50])),
    }
