"""Settings of the documentation: `make docs` builds it, with warnings as errors."""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.util.inspect import TypeAliasForwardRef
from sphinx.util.nodes import make_refnode

sys.path.insert(0, str(Path(__file__).parent))  # where `beside` is

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
    "beside",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Types are in the signatures; the docstrings say what the arguments mean.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autosummary_generate = False
# Printed by their names, not written out.
autodoc_type_aliases = {
    name: name
    for name in (
        *("ArrayLike", "BoolArray", "FloatArray", "IntArray", "RaggedLike", "Source", "Target"),
        *("CurveFunction", "FuseLike", "MetricLike", "TruncatorsLike"),
    )
}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # also in a union, and for properties
default_role = "py:obj"  # a name in backticks is a link to it
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # the signature has them, and NDArray[np.str_] is no valid RST

suppress_warnings = ["misc.highlighting_failure"]  # csv and the like, which have no highlighter

html_theme = "furo"
html_title = f"paretocut {release}"
html_static_path = ["_static"]
html_js_files = [("tables.js", {"defer": "defer"})]
html_css_files = ["tables.css"]
html_show_copyright = False
html_search_scorer = str(Path(__file__).with_name("search.js"))  # guides come first
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def plain_signature(app, what, name, obj, options, signature, returns):
    """Return a signature as a user writes it: no private fields, and aliases by their names.

    A class with private fields has none, because the library makes its objects.
    """
    if what == "class" and signature and re.search(r"\b_\w+:", signature):
        return "", returns
    return tuple(
        text and re.sub(r"<function (\w+)[^>]*>", r"\1", text) for text in (signature, returns)
    )


def short_name(app, env, node, contents):
    """Return the link for a name that is unique but for its module, such as `Ragged.from_any`."""
    objects = env.domains["py"].objects
    ending = "." + node["reftarget"].removeprefix("paretocut.").removeprefix("pc.")
    found = sorted((name for name in objects if name.endswith(ending)), key=len)
    if node.get("refdomain") != "py" or not found:
        return None
    entry = objects[found[0]]
    return make_refnode(
        app.builder, node["refdoc"], entry.docname, entry.node_id, contents, found[0]
    )


def setup(app):
    """Tell Sphinx of the hooks above."""
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("missing-reference", short_name)
