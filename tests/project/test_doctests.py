"""Runs the examples in the docstrings of every module."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
from support import missing

import paretocut
from paretocut.errors import MissingExtraError

MODULES = [
    "paretocut",
    *(module.name for module in pkgutil.walk_packages(paretocut.__path__, "paretocut.")),
]


def parameter(name: str) -> object:
    """Return the module's name; an adapter may need its library to be imported at all."""
    adapter = name.startswith("paretocut.adapters.")
    return pytest.param(name, marks=[pytest.mark.heavy] if adapter else [])


@pytest.mark.parametrize("name", [parameter(n) for n in MODULES if not n.endswith("__main__")])
def test_examples_in_docstrings_hold(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except (MissingExtraError, ModuleNotFoundError) as error:
        missing(str(error))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    # What went wrong is on standard output, which pytest shows.
    assert doctest.testmod(module, optionflags=flags).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [
        test
        for test in finder.find(importlib.import_module("paretocut.tail.fits"))
        if test.examples
    ]
    assert len(found) >= 2
