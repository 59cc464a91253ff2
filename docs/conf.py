"""Settings of the documentation: `make docs` builds it, with warnings as errors."""

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
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Types stand in the signatures; the docstrings say what the arguments mean.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # the signature has them, and NDArray[np.str_] is no valid RST

suppress_warnings = ["misc.highlighting_failure"]  # csv and the like, which have no highlighter

html_theme = "furo"
html_title = f"paretocut {release}"
html_show_copyright = False
