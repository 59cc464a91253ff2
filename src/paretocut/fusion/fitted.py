"""A fusion that is fitted on a sample of lists, judged or not."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.fusion.answered import About, prepared
from paretocut.fusion.joining import (
    HUGE,
    Affine,
    OneRetriever,
    Retrievers,
    checked_weights,
    joined,
    matched,
)
from paretocut.fusion.methods import FUSING, FuseOptions, fuse
from paretocut.lists import FloatArray, Ragged, RankedLists
from paretocut.relevance import ridge_logistic, sigmoid
from paretocut.schema.files import load_model, register, save_model
from paretocut.schema.kinds import Flag, Items, Kind, Real, Text, checked
from paretocut.schema.parameters import check

# Content of a file: one value for each retriever, and the odds where lists were judged.
_GIVEN: dict[str, Kind] = {name: FUSING[name].kind for name in ("weights", "depth")}
_STATE: dict[str, Kind] = {
    "names_": Items(Text(), size="retrievers"),
    "higher_is_better_": Items(Flag(), size="retrievers"),
    "location_": Items(Real(), size="retrievers"),
    "scale_": Items(Real(above=0), size="retrievers"),
    "floor_": Items(Real(), size="retrievers"),
    "weights_": Items(Real(0, 1e6), size="retrievers"),
}
_ODDS: dict[str, Kind] = {"intercept_": Real(), "slope_": Real(0), "rank_slope_": Real(high=0)}
# Learned weights: candidates for the log ratio of one weight to the others, draws of the
# bootstrap, and how many judged queries equal weights are worth.
_RATIOS = np.linspace(-1.5, 1.5, 13)
_DRAWS, _PSEUDO_QUERIES, _BEND = 200, 30.0, 0.05


class Fusion:
    """A fusion fitted to a sample of its retrievers' lists, judged or not.

    Scores are measured from the mean of the sample in units of the *typical* standard deviation of
    a list, the geometric mean over the sample. With judgements, weights are learned by a Bayesian
    bootstrap of mean average precision over the judged queries, and pulled towards equal ones, with
    the strength of 30 judged queries or more.

    Parameters
    ----------
    weights
        One number for each retriever, 0 or more; None for equal weights, or learned ones if lists
        are judged.
    depth
        Number of results of each list to use; all by default. Use the same as in `fit`.

    Attributes
    ----------
    names_, weights_
        The retrievers, and the weight of each; the mean of the weights is 1.
    location_, scale_
        Mean score of each one's lists, and their typical standard deviation.
    floor_
        Mean of the lowest scores, which a document gets from a retriever that did not find it.
    intercept_, slope_, rank_slope_
        Log-odds of relevance, from judged lists: at score 0 and rank 1, for one unit of the fused
        score, and for a rank *e* times as deep.

    Examples
    --------
    >>> import paretocut as pc
    >>> rng = np.random.default_rng(0)
    >>> ids = [[f"d{i}" for i in range(50)]] * 20
    >>> words = pc.RankedLists(rng.exponential(4.0, (20, 50)), doc_ids=ids)
    >>> vectors = pc.RankedLists(rng.normal(0.4, 0.1, (20, 50)), doc_ids=ids)
    >>> fusion = Fusion().fit({"words": words, "vectors": vectors})
    >>> fusion.scale_.round(1).tolist(), fusion.weights_.tolist()
    ([3.8, 0.1], [1.0, 1.0])
    """

    names_: tuple[str, ...]
    higher_is_better_: tuple[bool, ...]
    location_: FloatArray
    scale_: FloatArray
    floor_: FloatArray
    weights_: FloatArray
    intercept_: float
    slope_: float
    rank_slope_: float

    def __init__(self, *, weights: ArrayLike | None = None, depth: int | None = None) -> None:
        self.weights = weights
        self.depth = depth

    def fit(self, lists: Any, **about: Unpack[About]) -> Fusion:
        """Return the fusion itself, fitted to lists, judged or not; see `paretocut.fuse`."""
        retrievers = matched(prepared(lists, "Fusion", about)[0], self.depth, "Fusion")
        parts = retrievers.lists
        share = checked_weights(self.weights, len(parts), "Fusion")
        fitted = Fusion(weights=self.weights, depth=self.depth)
        fitted.names_ = retrievers.names
        fitted.higher_is_better_ = tuple(one.lists.higher_is_better for one in parts)
        fitted.location_ = np.array([_mean(one.moments[0], one) for one in parts])
        typical = np.array([_typical(np.ldexp(one.moments[1], one.ranged[1])) for one in parts])
        fitted.scale_ = np.maximum(typical, 1e-12 * np.abs(fitted.location_))
        fitted.floor_ = np.array([_mean(one.ends[1], one) for one in parts])
        fitted.weights_ = share / share.mean()
        if any(one.lists.relevance is not None for one in parts):
            fitted._learn(retrievers, learn_weights=self.weights is None)
        self.__dict__ = fitted.__dict__  # in one step: others may be fusing
        return self

    def fuse(self, lists: Any, **about: Unpack[About]) -> Any:
        """Return one list for each query, from the retrievers of `fit`; see `paretocut.fuse`."""
        fitted = copy(self)  # a fit in another thread must not change this one
        fitted._require_fitted("fuse")
        ranked, build = prepared(lists, "Fusion", about)
        retrievers, names = matched(ranked, fitted.depth, "Fusion"), fitted.names_
        if len(retrievers.lists) != len(names):
            raise InvalidParameterError(
                f"Fusion: lists must be those of {len(names)} retrievers, as in fit, "
                f"got {len(retrievers.lists)}"
            )
        if isinstance(ranked, Mapping) and retrievers.names != names:
            raise InvalidParameterError(
                f"Fusion: lists must be named {', '.join(names)}, as in fit, "
                f"got {', '.join(retrievers.names)}"
            )
        kinds = ("distances", "scores")
        for name, up, one in zip(names, fitted.higher_is_better_, retrievers.lists, strict=True):
            if one.lists.higher_is_better != up:
                raise InvalidScoresError(
                    f"Fusion: the lists of {name} must hold {kinds[up]}, as in fit, "
                    f"got {kinds[not up]}"
                )
        return build(fitted._fused(retrievers))

    def probability(self, fused: RankedLists) -> Ragged:
        """Return the probability that each result of ``fused`` is relevant, after judged lists."""
        if not hasattr(self, "slope_"):
            raise NotFittedError(
                "Fusion: probability must come after fit on judged lists, got it before"
            )
        ranks = np.log(fused.scores.ranks + 1.0)
        log_odds = self.intercept_ + self.slope_ * fused.scores.values + self.rank_slope_ * ranks
        return fused.scores.with_values(sigmoid(log_odds))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fusion to this path as JSON; `paretocut.load` reads it."""
        self._require_fitted("save")
        save_model(path, "fusion", self)

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and learned state as plain data."""
        learned = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
            if name.endswith("_")
        }
        given = None if self.weights is None else np.asarray(self.weights, dtype=float).tolist()
        return {"weights": given, "depth": self.depth, "learned": learned}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Fusion:
        """Return the fusion that `to_dict` described."""
        fusion = cls(**checked(_GIVEN, {name: content[name] for name in _GIVEN if name in content}))
        if fusion.weights is not None:
            checked_weights(fusion.weights, len(content["learned"]["names_"]), "Fusion")
        described = _STATE | _ODDS if "intercept_" in content["learned"] else _STATE
        for name, value in checked(described, content["learned"]).items():
            kept = tuple(value) if name in ("names_", "higher_is_better_") else value
            setattr(fusion, name, np.array(kept) if isinstance(kept, list) else kept)
        return fusion

    def __repr__(self) -> str:
        given = (("weights", self.weights), ("depth", self.depth))
        shown = [f"{name}={value!r}" for name, value in given if value is not None]
        return f"Fusion({', '.join(shown)})"

    def _require_fitted(self, what: str) -> None:
        if not hasattr(self, "scale_"):
            raise NotFittedError(f"Fusion: {what} must come after fit(lists), got {what} first")

    def _affine(self, retrievers: Retrievers) -> list[Affine]:
        """Return distances from the location of each retriever, in its unit."""
        affine = []
        for i, one in enumerate(retrievers.lists):
            shift = np.full(len(one.begin), self.location_[i])
            unit = np.full(len(one.begin), self.scale_[i])
            high, low = (np.ldexp(end, one.ranged[1]) for end in one.ends)
            low = np.where(one.end > one.begin, low, self.floor_[i])
            with np.errstate(over="ignore"):
                lowest, highest = (low - shift) / unit, (high - shift) / unit
            if max(np.abs(lowest).max(initial=0), np.abs(highest).max(initial=0)) > HUGE:
                raise InvalidScoresError(
                    f"Fusion: the scores of {self.names_[i]} must be on one scale, that of fit, "
                    f"got scores more than {HUGE:g} times its unit, {self.scale_[i]:g}, away"
                )
            affine.append(Affine(one.merit.values, shift, unit, lowest))
        return affine

    def _fused(self, retrievers: Retrievers) -> RankedLists:
        share = self.weights_ / len(self.weights_)
        return joined(retrievers, self._affine(retrievers), share)

    def _learn(self, retrievers: Retrievers, *, learn_weights: bool) -> None:
        fused = self._fused(retrievers)
        assert fused.parts is not None
        relevant = fused.relevant.values
        if not relevant.any():
            raise InvalidScoresError(
                "Fusion: judged lists must hold at least one relevant result, got none"
            )
        rows = fused.scores.rows
        columns = np.empty((len(retrievers.lists), rows.size))
        for i, part in enumerate(self._affine(retrievers)):
            given = fused.parts.scores[i].values
            merit = given if self.higher_is_better_[i] else -given
            distance = (merit - self.location_[i]) / self.scale_[i]
            columns[i] = np.where(np.isnan(merit), part.missing[rows], distance)
        if learn_weights and len(columns) > 1:
            self.weights_ = _learned_weights(columns, fused)
        score = self.weights_ @ columns / len(columns)
        order = np.lexsort((-score, rows))
        rank = np.empty(score.size)
        rank[order] = fused.scores.ranks + 1.0
        design = np.stack([np.ones(score.size), score, np.log(rank)], axis=1)
        wanted, prior = relevant.astype(np.float64), np.array([-3.0, 1.0, 0.0])
        # The top of a list counts as much as its many other results.
        found = ridge_logistic(design, wanted, penalty=np.ones(3), towards=prior, weight=1 / rank)
        self.intercept_, slope, rank_slope = found.tolist()
        # A better place never means worse odds, whatever a few judged queries say.
        self.slope_, self.rank_slope_ = max(slope, 0.0), min(rank_slope, 0.0)


register("fusion", Fusion, Fusion.to_dict, Fusion.from_dict)


class FusionOptions(FuseOptions, total=False):
    """How lists are fused: a fitted ``fusion`` (or its file), or the options of `fuse`."""

    fusion: Fusion | str | os.PathLike[str] | None


@dataclass(frozen=True)
class ChosenFusion:
    """A fitted fusion, or the options of `fuse`."""

    method: str = FUSING["method"].default
    weights: Sequence[float] | None = None
    depth: int | None = None
    fusion: Fusion | None = None

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any]) -> ChosenFusion:
        """Return the choice that `FusionOptions` make; errors speak for ``who``."""
        given = {name: value for name, value in options.items() if value is not None}
        fusion = given.pop("fusion", None)
        if fusion is not None and given:
            raise InvalidParameterError(
                f"fusion must come without {', '.join(given)}, which it has learned", who=who
            )
        if given.get("method") is not None:
            check(FUSING["method"].kind, given["method"], who=who, name="method")
        if isinstance(fusion, (str, os.PathLike)):
            fusion = load_model(fusion, "fusion")
        if fusion is not None and not isinstance(fusion, Fusion):
            raise InvalidParameterError(
                f"fusion must be a Fusion or the path of a saved one, got {type(fusion).__name__}",
                who=who,
            )
        return cls(**given, fusion=fusion)

    def fuse(self, lists: Any, **about: Unpack[About]) -> Any:
        """Return one list for each query; see `paretocut.fuse`."""
        if self.fusion is not None:
            return self.fusion.fuse(lists, **about)
        return fuse(lists, method=self.method, weights=self.weights, depth=self.depth, **about)


def _mean(values: FloatArray, one: OneRetriever) -> float:
    """Return the mean over the queries with a list; the sum of large scores would overflow."""
    filled = one.end > one.begin
    return float(np.ldexp(values[filled] / max(filled.sum(), 1), one.ranged[1][filled]).sum())


def _typical(sd: FloatArray) -> float:
    spread = sd[sd > 0]
    return float(np.exp(np.mean(np.log(spread)))) if spread.size else 1.0


def _learned_weights(columns: FloatArray, fused: RankedLists) -> FloatArray:
    """Return weights with a mean of 1, drawn towards equal ones."""
    count = len(columns)
    logs = np.zeros(count)
    for i in range(count):
        # This retriever up, all others down: the sum of the logarithms stays 0.
        direction = (np.arange(count) == i) - 1 / count
        values = np.stack(
            [_average_precision(np.exp(ratio * direction) @ columns, fused) for ratio in _RATIOS],
            axis=1,
        )
        logs += _ratio(values) * direction * (count - 1) / count
    weights = np.exp(logs)
    return np.asarray(weights / weights.mean())


def _ratio(values: FloatArray) -> float:
    """Return the log ratio of weights, from the value of each query (rows) at each candidate."""
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(_DRAWS, len(values))) @ values
    draws -= _PSEUDO_QUERIES * values.mean() * _BEND * _RATIOS**2
    votes = _RATIOS[np.argmax(draws, axis=1)]
    mean, variance = float(votes.mean()), float(votes.var())
    if mean == 0.0:
        return 0.0
    return mean * max(0.0, 1 - variance / mean**2)


def _average_precision(score: FloatArray, fused: RankedLists) -> FloatArray:
    layout = fused.scores
    rows = layout.rows
    relevant = fused.relevant.values[np.lexsort((-score, rows))]
    before = np.concatenate([[0], np.cumsum(relevant)])
    hits = before[1:] - layout.spread(before[layout.offsets[:-1]])
    gains = np.where(relevant, hits / (layout.ranks + 1), 0.0)
    sums = np.bincount(rows, gains, minlength=len(fused))
    return np.asarray(sums / np.maximum(fused.num_relevant, 1))
