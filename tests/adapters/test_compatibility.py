"""The page on compatibility says what the tests do."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from compatibility import PAGE, TESTED, TESTS, page, pins
from support import missing

PACKAGES = sorted({package for group in TESTED.values() for package in group})


def test_the_page_is_what_the_tests_make_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python tests/helpers/compatibility.py"


def test_every_file_of_tests_is_on_the_page() -> None:
    files = {path.name for path in (TESTS / "adapters").glob("test_*.py")}
    assert files - TESTED.keys() == {"test_compatibility.py", "test_deciding.py"}


@pytest.mark.heavy
@pytest.mark.parametrize("package", PACKAGES)
def test_the_version_on_the_page_is_the_one_tested(package: str) -> None:
    try:
        installed = version(package)
    except PackageNotFoundError:
        missing(f"{package} is not installed")
    assert installed.partition("+")[0] == pins()[package]
