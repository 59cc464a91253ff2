"""Settings of the documentation: `make docs` builds it, with warnings as errors."""

import re
from importlib.metadata import version as version_of

project = "paretocut"
author = "The paretocut developers"
copyright = author
release = version = version_of("paretocut")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Types stand in the signatures; the docstrings say what the arguments mean.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autosummary_generate = False
# Printed by these names, not by all that they stand for.
autodoc_type_aliases = {
    name: name
    for name in (
        *("ArrayLike", "BoolArray", "FloatArray", "IntArray", "RaggedLike", "Source", "Target"),
        *("CurveFunction", "FuseLike", "MetricLike", "TruncatorsLike"),
    )
}
default_role = "py:obj"  # a name in backticks is a link to it
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # the signature has them, and NDArray[np.str_] is no valid RST

suppress_warnings = ["misc.highlighting_failure"]  # csv and the like, which have no highlighter

html_theme = "furo"
html_title = f"paretocut {release}"
html_show_copyright = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def without_private_fields(app, what, name, obj, options, signature, returns):
    """Return no signature for a class with private fields: the library makes its objects."""
    if what == "class" and signature and re.search(r"\b_\w+:", signature):
        return "", returns
    return None


def setup(app):
    """Tell Sphinx of the hook above."""
    app.connect("autodoc-process-signature", without_private_fields)
