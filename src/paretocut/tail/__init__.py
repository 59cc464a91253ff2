"""The tail of a list: how unusual each result is among the results of its own query."""

from paretocut.tail.fits import (
    SurpriseFit,
    SurpriseFits,
    fit_lists,
    fit_tail,
    fit_tails,
    limited_threads,
)

__all__ = ["SurpriseFit", "SurpriseFits", "fit_lists", "fit_tail", "fit_tails", "limited_threads"]
