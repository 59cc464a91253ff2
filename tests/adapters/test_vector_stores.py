"""Every vector store: its own answer in, the same type of answer out, cut as the engine says."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from columns import expected
from engines import ENGINES, Engine, Postgres, Recorded, chroma_client, vectors
from support import importorskip

from paretocut.adapters import CutList, ScoresWarning
from paretocut.errors import InvalidParameterError, InvalidScoresError

pytestmark = [
    pytest.mark.heavy,
    # Of the stores' own making.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(
    scope="module", params=ENGINES, ids=lambda pair: f"{pair[0].__name__.lower()}-{pair[1]}"
)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    kind, metric = request.param
    folder = tmp_path_factory.mktemp("engine")
    made = kind(folder, metric)
    yield made
    made.close()


@pytest.fixture(scope="module")
def answer(engine: Engine) -> Any:
    """Return the engine's top 200 of 2000 vectors."""
    return engine.search(*vectors(2000), 200)


def best_of(engine: Engine, answer: Any, **options: Any) -> tuple[list[Any], list[float]]:
    """Return what the engine would keep, from the answer's own numbers."""
    ids, scores = engine.read(answer)
    k, _ = expected(scores, higher_is_better=engine.higher_is_better, **options)
    return ids[:k], scores[:k]


@pytest.mark.parametrize(
    "options",
    [{}, {"evalue": 0.05}, {"fdr": 0.1, "max_k": 3}, {"min_surprise": 2.0, "refit": "all"}],
    ids=str,
)
def test_keeps_exactly_what_the_engine_says(
    engine: Engine, answer: Any, options: dict[str, Any]
) -> None:
    kept = engine.cut(answer, **options)
    assert engine.read(kept) == best_of(engine, answer, **options)
    assert (
        engine.read(engine.cut(answer, min_k=7, **{**options, "max_k": 7}))[0]
        == (engine.read(answer)[0][:7])
    )


def test_planted_hits_are_kept_and_only_they(engine: Engine, answer: Any) -> None:
    kept, _ = engine.read(engine.cut(answer, evalue=0.05))
    assert 1 <= len(kept) <= 4
    if not isinstance(engine, Recorded):
        assert {int(str(one).removeprefix("d")) for one in kept} <= {0, 1, 2, 3}


def test_the_wrong_direction_is_refused(engine: Engine, answer: Any) -> None:
    with pytest.raises(InvalidScoresError, match="must come best first"):
        engine.cut_the_wrong_way(answer)


@pytest.mark.filterwarnings("ignore:cut_search. the search returned")  # FAISS pads its answers
@pytest.mark.parametrize("count", [0, 1, 2, 5, 60])
def test_fewer_results_than_asked_for_are_fine(engine: Engine, count: int) -> None:
    answer = engine.search(*vectors(count), 200)
    ids, _ = engine.read(answer)
    assert len(ids) == count
    assert engine.read(engine.cut(answer)) == best_of(engine, answer)
    assert engine.read(engine.cut(answer, min_k=3)) == best_of(engine, answer, min_k=3)


def test_the_answer_keeps_its_type_and_is_not_touched(engine: Engine, answer: Any) -> None:
    before = copy.deepcopy(answer)
    kept = engine.cut(answer, evalue=0.05)
    assert isinstance(kept, type(answer))
    assert repr(answer) == repr(before)
    assert engine.read(answer) == engine.read(before)


def test_an_unknown_option_value_is_refused(engine: Engine) -> None:
    answer = engine.search(*vectors(30), 30)
    with pytest.raises(InvalidParameterError, match="alpha must be in"):
        engine.cut(answer, alpha=1.3)
    with pytest.raises(InvalidParameterError, match=r"options must be among .*, got e_value"):
        engine.cut(answer, e_value=0.05)


def test_faiss_answers_stay_padded_matrices() -> None:
    faiss = importorskip("faiss")
    from paretocut.adapters.faiss import cut_search

    base, query = vectors(150)
    index = faiss.IndexFlatL2(base.shape[1])
    index.add(base)
    distances, labels = index.search(np.stack([query, base[9], -query]), 200)
    cut_distances, cut_labels = cut_search(distances, labels, higher_is_better=False)
    assert cut_distances.shape == distances.shape
    assert cut_distances.dtype == distances.dtype
    assert cut_labels.dtype == labels.dtype
    for row in range(3):
        k, _ = expected(distances[row, :150].tolist(), higher_is_better=False)
        assert cut_labels[row, :k].tolist() == labels[row, :k].tolist()
        assert (cut_labels[row, k:] == -1).all()
        # FAISS itself pads so: rows 150 to 199 of its own answer.
        assert (cut_distances[row, k:] == distances[row, -1]).all()
    with pytest.raises(InvalidScoresError, match="of one shape"):
        cut_search(distances, labels[:, 1:], higher_is_better=False)


def test_usearch_batches_keep_their_own_counts() -> None:
    index_module = importorskip("usearch.index")
    from paretocut.adapters.usearch import cut_batch_matches

    base, query = vectors(150)
    index = index_module.Index(ndim=base.shape[1], metric="cos")
    index.add(np.arange(150), base)
    matches = index.search(np.stack([query, base[9], -query]), 200)
    before = copy.deepcopy(matches)
    cut = cut_batch_matches(matches)
    assert isinstance(cut, type(matches))
    for row in range(3):
        one = matches[row]
        k, _ = expected(one.distances.tolist(), higher_is_better=False)
        assert cut.counts[row] == k
        assert cut[row].keys.tolist() == one.keys[:k].tolist()
    assert matches.counts.tolist() == before.counts.tolist()
    assert matches.keys.tolist() == before.keys.tolist()


def test_hnswlib_and_chroma_cut_each_query_of_a_batch() -> None:
    base, query = vectors(300)
    queries = np.stack([query, -query])
    index = importorskip("hnswlib").Index(space="l2", dim=base.shape[1])
    index.init_index(max_elements=300, M=32)
    index.add_items(base)
    index.set_ef(300)
    labels, distances = index.knn_query(queries, k=200)
    from paretocut.adapters.hnswlib import cut_knn_query

    cut_labels, cut_distances = cut_knn_query(labels, distances)
    assert [len(row) for row in cut_labels] == [len(row) for row in cut_distances]
    for row in range(2):
        k, _ = expected(distances[row].tolist(), higher_is_better=False)
        assert cut_labels[row].tolist() == labels[row, :k].tolist()

    from paretocut.adapters.chroma import cut_query

    collection = chroma_client().create_collection("batch", embedding_function=None)
    collection.add(ids=[f"d{i}" for i in range(300)], embeddings=base)
    result = collection.query(
        query_embeddings=queries, n_results=200, include=["distances", "embeddings"]
    )
    cut = cut_query(result)
    assert cut["documents"] is None
    for row in range(2):
        k, _ = expected(result["distances"][row], higher_is_better=False)
        assert cut["ids"][row] == result["ids"][row][:k]
        assert np.array_equal(cut["embeddings"][row], result["embeddings"][row][:k])
    without = collection.query(query_embeddings=queries, n_results=5, include=["documents"])
    with pytest.raises(InvalidScoresError, match="must have distances"):
        cut_query(without)


def test_postgres_rows_of_every_kind_are_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    engine = Postgres(tmp_path_factory.mktemp("engine"), "<->")
    rows_of = importorskip("psycopg.rows")
    from paretocut.adapters.pgvector import cut_rows

    base, query = vectors(120)
    expect = best_of(engine, engine.search(base, query, 100), alpha=0.1)[0]
    for factory in (rows_of.dict_row, rows_of.namedtuple_row):
        cursor = engine.connection.cursor(row_factory=factory)
        rows = engine.rows(base, query, 100, cursor)
        kept = cut_rows(rows, "distance", alpha=0.1)
        assert [row["id"] if isinstance(row, dict) else row.id for row in kept] == expect
        with pytest.raises(InvalidParameterError, match="score must name a column"):
            cut_rows(rows, "similarity")
    engine.close()


def test_rows_carry_the_decision() -> None:
    from paretocut.adapters.pgvector import cut_rows

    scores = np.sort(1.5 - np.random.default_rng(0).exponential(0.05, size=98))
    kept = cut_rows([(i, s) for i, s in enumerate([0.1, 0.12, *scores])], 1, evalue=0.05)
    assert isinstance(kept, CutList)
    assert kept.cut.reason.startswith("kept 2 of 100")
    with pytest.raises(InvalidParameterError, match=r"a column of a row like \(1, 0.5\), got 5"):
        cut_rows([(1, 0.5)], 5)


def test_lancedb_full_text_and_reranked_scores_are_higher_for_better() -> None:
    from paretocut.adapters.lancedb import cut_arrow, cut_list

    scores = np.sort(np.random.default_rng(0).exponential(1.0, size=98))[::-1]
    for column in ("_score", "_relevance_score"):
        rows = [{"id": i, column: s} for i, s in enumerate([20.0, 19.0, *scores])]
        assert [row["id"] for row in cut_list(rows, evalue=0.05)] == [0, 1]
        with pytest.raises(InvalidScoresError, match="must come best first"):
            cut_list(rows[::-1])
    with pytest.raises(InvalidParameterError, match="must have a column"):
        cut_list([{"id": 1}])
    with pytest.raises(InvalidParameterError, match="must have a column"):
        cut_arrow(importorskip("pyarrow").table({"id": [1]}))


def test_qdrant_fusion_is_seen_as_ranks() -> None:
    qdrant = importorskip("qdrant_client")
    models = qdrant.models
    from paretocut.adapters.qdrant import cut_query_points

    base, query = vectors(300)
    client = qdrant.QdrantClient(":memory:")
    size = models.VectorParams(size=base.shape[1], distance=models.Distance.COSINE)
    client.create_collection("tests", vectors_config=size)
    client.upsert(
        "tests", [models.PointStruct(id=i, vector=one.tolist()) for i, one in enumerate(base)]
    )
    fused = client.query_points(
        "tests",
        prefetch=[models.Prefetch(query=q.tolist(), limit=100) for q in (query, base[7])],
        query=models.FusionQuery(fusion=models.Fusion.RRF),
        limit=200,
    )
    client.close()
    with pytest.warns(ScoresWarning, match="cut_query_points: scores only encode the rank"):
        cut_query_points(fused, higher_is_better=True)


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch"])
def test_hits_sorted_by_something_else_are_refused(name: str) -> None:
    hits = [{"_id": "1", "_score": None, "sort": [3]}]
    module = __import__(f"paretocut.adapters.{name}", fromlist=["cut_search"])
    with pytest.raises(InvalidScoresError, match="track_scores=true; got none at index 0"):
        module.cut_search({"hits": {"hits": hits}})


def test_the_rest_of_a_response_stays() -> None:
    (kind, metric) = next(pair for pair in ENGINES if pair[1] == "elasticsearch")
    engine = kind(None, metric)  # type: ignore[arg-type]
    response = engine.search(*vectors(), 200)
    kept = engine.cut(response, evalue=0.05)
    assert len(kept["hits"]["hits"]) == 3  # the three that were written far above the rest
    assert kept["hits"]["total"] == response["hits"]["total"]
    assert kept["took"] == response["took"]
    assert kept.meta == response.meta
    assert len(response["hits"]["hits"]) == 80


def test_pgvector_finds_forty_rows_unless_its_index_searches_deeper(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    from paretocut.adapters.pgvector import cut_rows

    engine = Postgres(tmp_path_factory.mktemp("engine"), "<->")
    base, query = vectors(2000)
    connection = engine.connection
    engine.search(base, query, 1)  # makes the table
    connection.execute("create index on docs using hnsw (embedding vector_l2_ops)")
    connection.execute("set enable_seqscan = off")
    nearest = (
        "select id, embedding <-> %s as distance from docs order by embedding <-> %s limit 200"
    )
    rows = connection.execute(nearest, (query, query)).fetchall()
    assert len(rows) == 40
    with pytest.warns(ScoresWarning, match=r"returned 40 of the 200 .*hnsw.ef_search = 200"):
        kept = cut_rows(rows, 1, asked=200)
    assert [row[0] for row in kept] == [row[0] for row in rows[:4]]
    with connection.transaction():
        connection.execute("set local hnsw.ef_search = 200")
        rows = connection.execute(nearest, (query, query)).fetchall()
    assert len(rows) == 200
    assert {row[0] for row in cut_rows(rows, 1, asked=200)} == {0, 1, 2, 3}
    engine.close()


def test_faiss_finds_fewer_in_one_cell_than_in_many() -> None:
    faiss = importorskip("faiss")
    from paretocut.adapters.faiss import cut_search

    base, query = vectors(2000)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(base.shape[1]), base.shape[1], 40)
    index.train(base)
    index.add(base)
    index.nprobe = 1
    found = index.search(query[None], 200)
    assert 0 < np.count_nonzero(found[1] != -1) < 100
    with pytest.warns(ScoresWarning, match=r"results asked for; search deeper: .*index.nprobe"):
        cut_search(*found, higher_is_better=False)
    index.nprobe = 40
    _, labels = cut_search(*index.search(query[None], 200), higher_is_better=False)
    assert set(labels[0][:4].tolist()) == {0, 1, 2, 3}


def test_graphs_miss_less_the_more_they_look_at() -> None:
    from paretocut.adapters.hnswlib import cut_knn_query

    base, query = vectors(2000)
    index = importorskip("hnswlib").Index(space="l2", dim=base.shape[1])
    index.init_index(max_elements=2000, M=4)
    index.add_items(base, num_threads=1)
    exact = set(np.argsort(((base - query) ** 2).sum(axis=1))[:200].tolist())
    found = []
    for depth in (10, 1000):
        index.set_ef(depth)
        answer = index.knn_query(query[None], k=200)
        found.append(len(exact & set(answer[0][0].tolist())))
    assert found[0] < found[1]
    labels, _ = cut_knn_query(*answer)
    assert set(labels[0].tolist()) == {0, 1, 2, 3}


def test_an_answer_of_chroma_with_fewer_ids_than_distances_is_refused() -> None:
    from paretocut.adapters import chroma

    answer = {"ids": [["a", "b"]], "distances": [[0.1, 0.2, 0.9]]}
    with pytest.raises(InvalidScoresError, match=r"ids must be as many as distances .* got \[2\]"):
        chroma.cut_query(answer)
