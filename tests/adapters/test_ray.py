"""Ray Data on a real local Ray with two workers, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from columns import OPTIONS, lists_of_scores, row_table, truncators_of
from frames import CASES, documented, kept_rows
from processes import command, wait_for
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError

pytestmark = [
    pytest.mark.heavy,
    # Of short lists, by the rules; workers print them.
    pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets and processes of Ray's own
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

LISTS = lists_of_scores()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=200_000_000,
        )
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.default_hash_shuffle_parallelism = 2  # of 200, for seven queries
        yield ray
        ray.shutdown()


def dataset(ray: Any, table: Any) -> Any:
    half = table.num_rows // 2
    return ray.data.from_arrow([table[:half], table[half:]])


def plain(dataset: Any) -> list[dict[str, Any]]:
    return list(dataset.take_all())


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[-1]], ids=str)
def test_the_rows_are_those_of_the_engine(ray: Any, options: dict[str, Any]) -> None:
    rows = dataset(ray, pa.table(row_table(LISTS)))
    kept = plain(pc.keep(rows, query="query_id", score="score", **options))
    assert sorted(tuple(row.values()) for row in kept) == sorted(kept_rows(LISTS, **options))


@pytest.mark.parametrize("case", CASES)
def test_the_table_of_the_page_says_what_becomes_of_a_column(ray: Any, case: str) -> None:
    says, one = documented()[case]["Ray"], CASES[case]
    rows = dataset(ray, pa.table({"query": one.query(), "score": one.score()}))
    if says.startswith("error"):
        column = "query" if case.startswith("queries") else "score"
        with pytest.raises(Exception, match=f"column '{column}' must hold"):
            plain(pc.keep(rows, query="query", score="score"))
    else:
        kept = plain(pc.keep(rows, query="query", score="score"))
        assert one.read(pa.Table.from_pylist(kept)) == one.want


def test_columns_explain_and_workers_get_the_truncator(ray: Any, tmp_path: Path) -> None:
    rows = dataset(ray, pa.table(row_table(LISTS))).materialize()
    for truncator in truncators_of(LISTS):
        truncator.save(tmp_path / "saved.json")
        for given in (truncator, tmp_path / "saved.json"):
            how = {"truncator": given, "explain": ["reason", "surprise"]}
            kept = plain(pc.keep(rows, query="query_id", score="score", **how))
            assert len(kept) == sum(truncator.cut(scores).k for scores in LISTS if scores)
            for row in kept:
                cut = truncator.cut(LISTS[int(row["query_id"][1:])])
                assert row["reason"] == cut.reason
                assert row["surprise"] == cut.surprise[row["position"]]


def test_bad_calls_are_refused(ray: Any) -> None:
    rows = dataset(ray, pa.table(row_table(LISTS)))
    with pytest.raises(InvalidParameterError, match=r"explain must name columns.*ray.*got True"):
        pc.keep(rows, query="query_id", score="score", explain=True)
    with pytest.raises(InvalidParameterError, match="query must name a column, because"):
        pc.keep(rows, score="score")
    with pytest.raises(ray.exceptions.RayTaskError, match="score must name one column"):
        plain(pc.keep(rows, query="query_id", score="x"))


def test_the_job_survives_a_killed_worker(ray: Any, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def slowly(block: Any) -> Any:
        # In here everything comes from the closure: workers cannot import this file.
        import os
        import time
        import uuid
        from pathlib import Path

        (Path(folder) / f"{block['i'][0].as_py()}-{uuid.uuid4()}").write_text(str(os.getpid()))
        time.sleep(1.5)
        return block

    lists = lists_of_scores(seed=1, lengths=(200,) * 40)
    table = pa.table({"i": np.repeat(np.arange(40), 200), "score": np.concatenate(lists)})
    blocks = ray.data.from_arrow([table[at : at + 1600] for at in range(0, 8000, 1600)])
    slow = pc.keep(
        blocks.map_batches(slowly, batch_format="pyarrow", batch_size=None),
        query="i",
        score="score",
    )
    with ThreadPoolExecutor() as pool:
        job = pool.submit(plain, slow)
        wait_for(lambda: any(path.read_text() for path in tmp_path.iterdir()))
        victim = next(int(path.read_text()) for path in tmp_path.iterdir() if path.read_text())
        assert "ray::" in command(victim)
        os.kill(victim, signal.SIGKILL)
        found = job.result(timeout=240)
    begun = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert len(begun) > len(set(begun)) == 5, "the block in work must have been done again"
    for i, scores in enumerate(lists):
        kept = [row["score"] for row in found if row["i"] == i]
        assert sorted(kept) == sorted(pc.cut(scores).of(scores))
