"""Half a minute of coverage-guided fuzzing; `make fuzz` takes as long as it is told to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import importorskip

TARGET = Path(__file__).with_name("atheris_target.py")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["trec", "fit", "ids", "fusion", "answers", "arrow", "parquet"])
def test_coverage_guided_fuzzing_finds_nothing(what: str, tmp_path: Path) -> None:
    importorskip("atheris")
    # libFuzzer reads the largest memory of the process, which a child begins with its parent's.
    options = ["-max_total_time=5", "-seed=1", "-max_len=2048", "-rss_limit_mb=6000"]
    done = subprocess.run(
        [sys.executable, str(TARGET), what, *options],
        cwd=tmp_path,  # where libFuzzer would leave the input that broke it
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done" in done.stderr
