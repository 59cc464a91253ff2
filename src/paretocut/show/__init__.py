"""Pictures of decisions: HTML for notebooks, and plots for papers."""

from typing import Any

from paretocut.schema.drawn import Drawn
from paretocut.show.pictures import (
    background_html,
    calibrated_html,
    cut_html,
    cuts_html,
    evaluation_html,
    fit_html,
    fits_html,
    lists_html,
)

__all__ = ["register"]


def register() -> None:
    """Let notebooks draw what the package returns."""
    Drawn.register("RankedLists", lists_html)
    Drawn.register("Cut", cut_html)
    Drawn.register("Cuts", cuts_html)
    Drawn.register("SurpriseFit", fit_html)
    Drawn.register("SurpriseFits", fits_html)
    Drawn.register("Background", background_html)
    Drawn.register("Evaluation", evaluation_html)
    Drawn.register("Calibrated", calibrated_html, plot=_calibration)
    Drawn.register("Accept", plot=_acceptance)


def _calibration(calibrated: Any, *, ax: Any = None) -> Any:
    from paretocut.show.plots import calibration

    return calibration(calibrated, ax=ax)


def _acceptance(accept: Any, *, ax: Any = None) -> Any:
    from paretocut.show.plots import acceptance

    return acceptance(accept, ax=ax)
