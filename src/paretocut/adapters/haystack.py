"""Haystack: components that keep the documents worth returning, of one list or of several."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, Unpack

from paretocut.adapters.calibrating import calibrate_decider
from paretocut.adapters.deciding import UNSCORED, at_most, filter_scored, restored, stored
from paretocut.adapters.hybrid import Fuser, HybridOptions
from paretocut.adapters.reporting import with_mark
from paretocut.adapters.tokens import TokenBudget
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError, require
from paretocut.schema.parameters import check_choice
from paretocut.truncators import Truncator
from paretocut.truncators.choose import Chosen

require("haystack", feature="paretocut.adapters.haystack", extra="haystack")

from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["ParetoCut", "ParetoCutJoiner"]


class _Stored:
    """What both components share: pipelines store them as plain values."""

    options: Mapping[str, Any]

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor, less the options."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values, for pipelines in YAML.

        A truncator and a fusion are stored whole, or by their paths where paths were given. A
        function that counts tokens cannot be stored.
        """
        plain = stored({**self._arguments(), **self.options}, type(self).__name__)
        del plain["count_tokens"]  # None
        data: dict[str, Any] = default_to_dict(self, **plain)
        return data

    def _bounds(self) -> dict[str, Any]:
        return {name: self.options[name] for name in ("min_k", "max_k") if name in self.options}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the component that `to_dict` describes."""
        given = {name: restored(value) for name, value in data["init_parameters"].items()}
        made: Self = default_from_dict(cls, {**data, "init_parameters": given})
        return made


@component
class ParetoCut(_Stored):
    """Keeps the documents whose score makes them worth returning, in their order; possibly none.

    Place it after a retriever or ranker with a large ``top_k`` (200). Documents come out as copies
    whose ``meta`` has the decision under ``paretocut``: score of the document (with surprise,
    p-value and E-value if a rule decided), number kept, reason, warnings and near misses of the
    list. The output ``decision`` says it too, even if nothing is kept.

    Parameters
    ----------
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to documents whose score is None: ``"refuse"``, ``"keep"`` or ``"drop"``.
    max_tokens, count_tokens
        Largest number of tokens of the documents kept, and what counts them; by default four
        characters count as one token.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """

    def __init__(
        self,
        *,
        higher_is_better: bool = True,
        unscored: str = "refuse",
        max_tokens: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        **options: Unpack[DecisionOptions],
    ) -> None:
        check_choice(unscored, UNSCORED, who="ParetoCut", name="unscored")
        self._chosen = Chosen.of("ParetoCut", options)  # refuses bad options before documents come
        self._budget = TokenBudget.of("ParetoCut", max_tokens, count_tokens)
        self.higher_is_better = higher_is_better
        self.unscored = unscored
        self.options = options

    def calibrate(
        self, texts: Iterable[Any], search: Callable[[str], Any], **options: Any
    ) -> ParetoCut:
        """Return a component that knows your store, learned without judgements.

        It asks nonsense made from words of these texts and, if given, unjudged ``queries``; see
        `paretocut.calibrate`. Pipelines store it with what was found.

        Parameters
        ----------
        texts
            A few hundred texts or documents of the store.
        search
            Takes the text of a query and returns what this component will get: documents with
            scores, or the scores alone.
        **options
            As for `paretocut.calibrate`, such as ``queries``, ``n`` and ``threads`` (4 by
            default). The options given here still decide how many documents are kept.
        """
        found = calibrate_decider(search, texts, self._chosen, options, self.higher_is_better)
        return ParetoCut(**self._arguments(), truncator=found, **self._bounds())

    @property
    def truncator(self) -> Truncator:
        """Who decides: after `calibrate` a `paretocut.truncators.Calibrated`."""
        return self._chosen.truncator

    def _arguments(self) -> dict[str, Any]:
        own = {"higher_is_better": self.higher_is_better, "unscored": self.unscored}
        return own | self._budget.arguments()

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    def run(
        self, documents: list[Document], query: str | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Return the documents kept, and the decision.

        Parameters
        ----------
        documents
            Documents with scores.
        query
            Text of the query; only a truncator calibrated for lexical scores needs it.
        top_k
            Largest number of documents to keep this time.
        """
        kept = filter_scored(
            documents,
            at_most(self._chosen, top_k, "ParetoCut", "top_k"),
            who="ParetoCut",
            what="a list of haystack.Document",
            score_of=lambda document: document.score,
            query=query,
            unscored=self.unscored,
            mark=_mark,
            text_of=lambda document: document.content or "",
            budget=self._budget,
            higher_is_better=self.higher_is_better,
        )
        return {"documents": list(kept), "decision": kept.cut.to_dict()}

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    async def run_async(
        self, documents: list[Document], query: str | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Return what `run` does; the work is too short for a thread.

        Parameters
        ----------
        documents, query, top_k
            As there.
        """
        result: dict[str, Any] = self.run(documents, query, top_k)
        return result


@component
class ParetoCutJoiner(_Stored):
    """Joins the documents of several retrievers by their scores, and cuts the result.

    It replaces ``DocumentJoiner``, with one input for each retriever, because weights,
    directions and reasons belong to one of them. Documents come best first as copies with their
    fused score; ``meta`` has the decision under ``paretocut``, with ``parts``: score and rank in
    each list.

    Parameters
    ----------
    names
        Names of two or more inputs: ``["words", "vectors"]``.
    higher_is_better
        By name of a list, False if its scores are distances.
    max_tokens, count_tokens
        As in `ParetoCut`.
    **options
        How the lists are fused, as in `paretocut.fuse` (or ``fusion``, a fitted
        `paretocut.fusion.Fusion` or the path of a saved one), and who decides, as in
        `paretocut.cut`.
    """

    def __init__(
        self,
        names: list[str],
        *,
        higher_is_better: dict[str, bool] | None = None,
        max_tokens: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        **options: Unpack[HybridOptions],
    ) -> None:
        self._fuser: Fuser[Document] = Fuser.of(
            "ParetoCutJoiner",
            options,
            lambda document: document.id,
            lambda document: document.score,
            higher_is_better,
        )
        if isinstance(names, str) or len(set(names)) < max(len(names), 2):
            raise InvalidParameterError(
                f"ParetoCutJoiner: names must be at least 2 different names, got {names!r}"
            )
        component.set_input_types(self, **dict.fromkeys(names, list[Document]))
        self._budget = TokenBudget.of("ParetoCutJoiner", max_tokens, count_tokens)
        self.names = names
        self.higher_is_better = higher_is_better
        self.options = options

    def calibrate(
        self,
        texts: Iterable[Any],
        search: Callable[[str], Mapping[str, list[Document]]],
        **options: Any,
    ) -> ParetoCutJoiner:
        """Return a component that knows your stores, learned without judgements.

        It fits a `paretocut.fusion.Fusion`, unless it has one, and then treats the fused scores as
        `ParetoCut.calibrate` does.

        Parameters
        ----------
        texts
            A few hundred texts or documents of the stores.
        search
            Takes the text of a query and returns the documents of each input by its name.
        **options
            As for `ParetoCut.calibrate`.
        """
        found = self._fuser.calibrated(search, texts, options)
        made: dict[str, Any] = {"truncator": found.chosen.truncator, "fusion": found.fusion.fusion}
        return ParetoCutJoiner(**self._arguments(), **made, **self._bounds())

    @property
    def truncator(self) -> Truncator:
        """Who decides: after `calibrate` a `paretocut.truncators.Calibrated`."""
        return self._fuser.chosen.truncator

    def _arguments(self) -> dict[str, Any]:
        own = {"names": self.names, "higher_is_better": self.higher_is_better}
        return own | self._budget.arguments()

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    def run(self, **documents: list[Document]) -> dict[str, Any]:
        """Return the documents kept, and the decision.

        Parameters
        ----------
        **documents
            The list of each input.
        """
        if documents.keys() != set(self.names):
            raise InvalidParameterError(
                f"ParetoCutJoiner: inputs must be {', '.join(self.names)}, "
                f"got {', '.join(documents) or 'none'}"
            )
        kept = self._fuser.answer(
            {name: documents[name] for name in self.names},
            lambda document, score, mark: _mark(dataclasses.replace(document, score=score), mark),
            text_of=lambda document: document.content or "",
            budget=self._budget,
        )
        return {"documents": list(kept), "decision": kept.cut.to_dict()}


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return dataclasses.replace(document, meta=with_mark(document.meta, mark))
