"""A cut to drag, for notebooks: ``pip install 'paretocut[notebook]'``."""

from paretocut.notebook.slider import CutSlider, slider

__all__ = ["CutSlider", "slider"]
