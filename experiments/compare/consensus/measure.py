"""All measurements of `Consensus` against simple rules; stages that are done are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.cache import hash_files, hash_lists, library, remember
from experiments.command import say
from experiments.compare.consensus import answers, gap, lists, nested, summary, variants
from experiments.compare.consensus.pretrain import elsewhere
from experiments.results import stamp
from paretocut.truncators.consensus.pretrained import shipped

__all__ = ["measure", "renew"]


def measure() -> dict[str, Any]:
    """Return all numbers, and draw the ROC curves."""
    groups = lists.sets()
    both = groups[lists.JUDGED] | groups[lists.MADE]
    everything = hash_lists(own for members in groups.values() for own in members.values())

    def stage(module: ModuleType, make: Callable[[], Any]) -> Any:
        code = hash_files([Path(str(module.__file__))]) | {"library": library()}
        done = remember(f"consensus {make.__name__}", {"lists": everything, "code": code}, make)
        say(make.__name__)
        return done

    def curves() -> Any:
        return lists.curves(groups, known)

    def varied() -> Any:
        return variants.measure({name: groups[name] for name in (lists.JUDGED, lists.MADE)}, known)

    def calibration() -> Any:
        return gap.calibration(both, known)

    known = elsewhere(both)
    say("other collections learned")
    values = lists.table(groups, known)
    say("tuned and untrained")
    found, picked = nested.measure(both, known)
    for run, rows in found.items():
        values[run] |= rows
    content = {"margin": summary.MARGIN, "nested": picked, **summary.summary(values, groups)}
    content["bounds"] = gap.bounds(groups[lists.JUDGED], values)
    say("gains")
    return content | {
        "curves": stage(lists, curves),
        "variants": stage(variants, varied),
        "calibration": stage(gap, calibration),
        "answers": stage(answers, answers.measure),
    }


def renew(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the kept numbers, with F1 of cuts without judgements measured anew."""
    groups = lists.sets()
    say("lists")
    both = groups[lists.JUDGED] | groups[lists.MADE]
    values, picked = nested.measure(both, {}, nested.FREE)
    for name, members in groups.items():
        rules = {kept["sets"][part]["f1"]["best rule"] for part in (name, "all")}
        for run, own in members.items():
            rows = values.setdefault(run.name, {})
            for method, metric, found in lists.untrained(own, shipped()):
                if metric == "f1":
                    rows[method] = {metric: found[None]}
            for rule in rules:
                rows[rule] = {"f1": lists.tuned(own, lists.SIMPLE[rule], lists.protocol_of(own))[0]}
        say(name)
    summary.renew(kept, values, groups)
    for fold, best in picked.items():
        kept["nested"][fold] |= best
    return kept | {"renewed": {**stamp(), "methods": list(summary.FREE)}}
