"""The words of a decision: how much was kept, and the sentence that says why."""

from __future__ import annotations

from paretocut.lists import RankedLists

_LONGEST = 40  # letters of a document's name in a sentence


def amount(k: int, n: int) -> str:
    """Return how much was kept, in words: "kept 7 of 200", "kept none of 200", "kept all 200"."""
    if k == n > 0:
        return f"kept all {n}"
    return f"kept {k or 'none'} of {n}"


def rounded(number: float) -> str:
    """Return a number with two digits, or all digits before the point: "0.94", "4.2", "130"."""
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}"


def percent(share: float, *, exact: bool = False) -> str:
    """Return a share in words: "22 %", "2.5 %". A level that somebody chose is exact: "97.5 %"."""
    if exact:
        return f"{round(100 * share, 6):g} %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


def distinct(*numbers: float) -> list[str]:
    """Return the numbers with so many digits that different numbers look different."""
    for digits in range(3, 18):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len(set(texts)) == len(set(numbers)):
            break
    return texts


def ordinal(number: int) -> str:
    """Return "1st", "2nd", "3rd", "4th" and so on."""
    suffix = "th"
    if number % 100 not in (11, 12, 13):
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def sentence(k: int, n: int, unbounded: int, matches: int, why: str) -> str:
    """Return the reason of one cut."""
    kept = amount(k, n)
    if n == 0:
        return f"{kept}: the list is empty"
    if unbounded == matches < n:
        why = f"{'the others' if matches else 'all of them'} have score 0, so they match nothing"
    if k != unbounded:
        bound = "the minimum asked for" if k > unbounded else "the most allowed"
        return f"{kept}, {bound}; otherwise {unbounded}: {why}"
    return f"{kept}: {why}"


def edge(lists: RankedLists, i: int, k: int) -> str:
    """Return score and rank from each retriever for the last result kept and the first dropped.

    The text is empty for a list that was not fused.
    """
    if lists.parts is None:
        return ""
    names = None if lists.doc_ids is None else lists.doc_ids[i]
    said = [
        f"{what} {ordinal(at + 1) if names is None else _brief(names[at])} "
        f"({lists.parts.describe(i, at)})"
        for what, at in (("last kept", k - 1), ("first dropped", k))
        if 0 <= at < lists.scores.lengths[i]
    ]
    return "".join(f"; {clause}" for clause in said)


def _brief(name: str) -> str:
    """Return the name of a document, shortened: it may be a text."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
