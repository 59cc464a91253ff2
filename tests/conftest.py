"""Fixtures and settings for all tests."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from support import data_dir, missing

pytest.register_assert_rewrite("network_contract")
# Workers of pytest-xdist that each keep a pool of threads per core spend their time on waiting.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are timed on busy machines, so no deadline; CI must give the same answer every time.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Libraries that adapters are tested with do not report from here to their makers.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["ANONYMIZED_TELEMETRY"] = "False"  # Chroma

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def without_skips(report: Report) -> Report:
    """Return the report, a skip turned into a failure when PARETOCUT_REQUIRE_ALL is set."""
    required = os.environ.get("PARETOCUT_REQUIRE_ALL", "") not in ("", "0")
    if required and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"PARETOCUT_REQUIRE_ALL is set, so nothing may be skipped. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return without_skips((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return without_skips((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is asynchronous, as some of LangChain's own are."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with the judged runs that come beside the project."""
    folder = data_dir()
    if folder is None:
        missing("no judged runs: set PARETOCUT_DATA to their folder, or put them in ../shared/data")
    return folder
