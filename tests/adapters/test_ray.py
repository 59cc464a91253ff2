"""Ray Data on a real local Ray with two workers, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import OPTIONS, expected, expected_rows, lists_of_scores, row_table, truncators_of
from processes import command, wait_for
from support import importorskip

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


def answers(dataset: Any) -> list[tuple[Any, Any]]:
    """Return k and surprise of each row, by the column `i`."""
    rows = sorted(dataset.take_all(), key=lambda row: row["i"])
    return [(row["k"], None if row["surprise"] is None else list(row["surprise"])) for row in rows]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_lists_get_the_numbers_of_the_engine(ray: Any, options: dict[str, Any]) -> None:
    import pyarrow as pa

    from paretocut.adapters.ray import cut_lists

    k, surprise = expected(LISTS[0], **options)
    table = pa.table({"i": range(9), "scores": [*LISTS, None, [None, *LISTS[0], None]]})
    found = answers(cut_lists(ray.data.from_arrow([table[:4], table[4:]]), **options))
    assert found[:7] == [expected(scores, **options) for scores in LISTS]
    assert found[7:] == [(None, None), (k, [None, *surprise, None])]


@pytest.mark.parametrize("lengths", [(60, 60, 60), (60, 0, 25)], ids=["equal", "ragged"])
def test_arrays_in_a_column_are_lists_too(ray: Any, lengths: tuple[int, ...]) -> None:
    from paretocut.adapters.ray import cut_lists

    lists = lists_of_scores(lengths=lengths)
    items = [{"i": i, "scores": np.array(scores)} for i, scores in enumerate(lists)]
    found = answers(cut_lists(ray.data.from_items(items), evalue=0.05))
    assert found == [expected(scores, evalue=0.05) for scores in lists]


def test_rows_of_a_query_are_one_list_wherever_they_are(ray: Any) -> None:
    import pyarrow as pa

    from paretocut.adapters.ray import cut_rows

    options = OPTIONS[-1]
    table = pa.table(row_table(LISTS))
    dataset = ray.data.from_arrow([table[:150], table[150:]])
    found: dict[str, list[Any]] = {}
    rows = cut_rows(dataset, **options).take_all()
    for row in sorted(rows, key=lambda row: row["position"]):
        found.setdefault(row["query_id"], []).append((row["surprise"], row["kept"]))
    wanted = {f"q{i}": expected_rows(one, **options) for i, one in enumerate(LISTS) if one}
    assert found == wanted


def test_workers_get_the_truncator_and_give_its_reason(ray: Any, tmp_path: Path) -> None:
    from paretocut.adapters.ray import cut_lists

    items = [{"i": i, "scores": scores} for i, scores in enumerate(LISTS)]
    dataset = ray.data.from_items(items).materialize()
    for truncator in truncators_of(LISTS):
        truncator.save(tmp_path / "saved.json")
        for given in (truncator, tmp_path / "saved.json"):
            rows = cut_lists(dataset, truncator=given).take_all()
            found = [(row["k"], row["reason"]) for row in sorted(rows, key=lambda row: row["i"])]
            cuts = [truncator.cut(scores) for scores in LISTS]
            assert found == [(cut.k, cut.reason) for cut in cuts]
    with pytest.raises(InvalidParameterError, match="at most one of truncator"):
        cut_lists(dataset, truncator=truncator, alpha=0.05)
    with pytest.raises(InvalidParameterError, match=r"must be a ray.data.Dataset, got list"):
        cut_lists([1.0])


def test_a_batch_that_may_only_be_read_is_enough(ray: Any) -> None:
    from paretocut.adapters.arrow import cut_lists

    scores = ray.data.from_items([{"scores": one} for one in LISTS])
    (block,) = [ray.get(reference) for reference in scores.repartition(1).to_arrow_refs()]
    flat = block["scores"].combine_chunks().flatten().to_numpy()
    assert not flat.flags.writeable
    assert cut_lists(block)["k"].to_pylist() == [expected(one)[0] for one in LISTS]


def test_columns_are_not_overwritten(ray: Any) -> None:
    from paretocut.adapters.ray import cut_lists

    dataset = ray.data.from_items([{"scores": [1.0, 2.0]}])
    with pytest.raises(ray.exceptions.RayTaskError, match="k must name a new column"):
        cut_lists(dataset, k="scores").take_all()


def test_the_job_survives_a_killed_worker(ray: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    from paretocut.adapters.ray import cut_lists

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
    table = pa.table({"i": range(40), "scores": lists})
    blocks = ray.data.from_arrow([table[at : at + 8] for at in range(0, 40, 8)])
    slow = cut_lists(blocks.map_batches(slowly, batch_format="pyarrow", batch_size=None))
    with ThreadPoolExecutor() as pool:
        job = pool.submit(answers, slow)
        wait_for(lambda: any(path.read_text() for path in tmp_path.iterdir()))
        victim = next(int(path.read_text()) for path in tmp_path.iterdir() if path.read_text())
        assert "ray::" in command(victim)
        os.kill(victim, signal.SIGKILL)
        found = job.result(timeout=240)
    begun = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert len(begun) > len(set(begun)) == 5, "the block in work must have been done again"
    assert found == [expected(scores) for scores in lists]
