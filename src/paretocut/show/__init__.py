"""Pictures for notebooks, plots, and a slider."""

from typing import Any

from paretocut.schema.drawn import Drawn
from paretocut.show import pictures

__all__ = ["register"]


def register() -> None:
    """Let notebooks draw what the package returns."""
    Drawn.register("Cut", pictures.cut_html)
    Drawn.register("Cuts", pictures.cuts_html)
    Drawn.register("SurpriseFit", pictures.fit_html)
    Drawn.register("SurpriseFits", pictures.fits_html)
    Drawn.register("Background", pictures.background_html)
    Drawn.register("Evaluation", pictures.evaluation_html)
    Drawn.register("Calibrated", plot=_calibration)


def _calibration(calibrated: Any, *, ax: Any = None) -> Any:
    from paretocut.show.plots import calibration  # matplotlib is imported when it is needed

    return calibration(calibrated, ax=ax)
