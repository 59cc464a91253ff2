"""One contract for the answers of every host: the same type, shorter, cut as NumPy says."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from columns import count_fits, expected
from engines import ENGINES, DuckDb, Engine, Faiss, Recorded, vectors
from support import importorskip

import paretocut as pc
from paretocut.answers import read
from paretocut.errors import InvalidParameterError, InvalidScoresError

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning"),
]
QUICK = (Faiss, DuckDb)
HOSTS = [pair for pair in ENGINES if not pair[0].__name__.endswith("Arrow")]  # those are frames


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(pair, marks=() if issubclass(pair[0], QUICK) else pytest.mark.heavy,
                     id=f"{pair[0].__name__}-{pair[1]}")
        for pair in HOSTS
    ],
)  # fmt: skip
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    kind, metric = request.param
    made = kind(tmp_path_factory.mktemp("engine"), metric)
    yield made
    made.close()


@pytest.fixture(scope="module")
def answer(engine: Engine) -> Any:
    """Return the engine's top 200 of 2000 vectors."""
    return engine.search(*vectors(2000), 200)


def kept_of(answer: Any, **options: Any) -> tuple[Any, pc.Cut]:
    """Return what is left and the decision, also of a batch of one."""
    kept, cut = pc.keep(answer, explain=True, **options)
    return kept, cut if isinstance(cut, pc.Cut) else cut[0]


def best_of(engine: Engine, answer: Any, **options: Any) -> tuple[list[Any], list[float]]:
    """Return what is best, from the answer's own numbers in NumPy."""
    ids, scores = engine.read(answer)
    k, _ = expected(scores, higher_is_better=engine.higher_is_better, **options)
    return ids[:k], scores[:k]


@pytest.mark.parametrize(
    "options",
    [{}, {"expect": "few"}, {"evalue": 0.05}, {"fdr": 0.1, "max_k": 3}, {"alpha": 0.05}],
    ids=str,
)
def test_keeps_exactly_what_the_scores_say(
    engine: Engine, answer: Any, options: dict[str, Any]
) -> None:
    _, scores = engine.read(answer)
    alone = pc.cut(scores, higher_is_better=engine.higher_is_better, **options)
    kept, cut = kept_of(answer, **options)
    ids, own = engine.read(answer)
    assert engine.read(kept) == (ids[: alone.k], own[: alone.k])
    assert (cut.k, cut.n) == (alone.k, len(ids))
    assert cut.reason.startswith(alone.reason)
    if "expect" not in options:
        assert engine.read(kept) == best_of(engine, answer, **options)


def test_the_direction_comes_from_the_host_or_from_the_order(engine: Engine, answer: Any) -> None:
    _, cut = kept_of(answer)
    _, scores = engine.read(answer)
    assert (scores[0] > scores[-1]) == engine.higher_is_better  # every host answers best first
    said = cut.reason.endswith("distances, as their order shows")
    assert not (said and engine.higher_is_better)
    again, same = kept_of(answer, higher_is_better=engine.higher_is_better)
    assert (engine.read(again)[0], same.k) == (engine.read(answer)[0][: cut.k], cut.k)
    with pytest.raises(InvalidScoresError, match="must not come worst first"):
        pc.keep(answer, higher_is_better=not engine.higher_is_better)


def test_a_fitted_truncator_knows_its_direction(engine: Engine, answer: Any) -> None:
    up = engine.higher_is_better
    rng = np.random.default_rng(0)
    ends = rng.normal(-50, 1, 60)  # queries without an answer that score worse than any here
    gate = pc.truncators.Gated(
        pc.truncators.FixedK(3),
        pc.Background.fit(ends if up else -ends, higher_is_better=up),
    )
    assert kept_of(answer, truncator=gate)[1].k == 3
    one = engine.search(*vectors(1), 200)
    assert kept_of(one, truncator=gate)[1].k == 1
    other = pc.truncators.Gated(
        pc.truncators.FixedK(3),
        pc.Background.fit(-ends if up else ends, higher_is_better=not up),
    )
    with pytest.raises(InvalidScoresError, match=r"distances|scores"):
        pc.keep(answer, truncator=other)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 60])
def test_short_and_empty_answers_are_answers(engine: Engine, count: int) -> None:
    answer = engine.search(*vectors(count), 200)
    ids, _ = engine.read(answer)
    assert len(ids) == count
    kept, cut = kept_of(answer)
    assert engine.read(kept) == best_of(engine, answer)
    assert cut.n == count
    assert len(engine.read(pc.keep(answer, min_k=3))[0]) >= min(3, count)
    assert engine.read(pc.keep(answer, max_k=0))[0] == []


def test_the_answer_keeps_its_type_and_is_not_touched(engine: Engine, answer: Any) -> None:
    before = engine.read(answer)
    shown = repr(answer)
    kept = pc.keep(answer, evalue=0.05)
    assert isinstance(kept, type(answer))
    assert engine.read(answer) == before
    assert repr(answer) == shown
    assert len(engine.read(kept)[0]) < len(engine.read(answer)[0])
    assert engine.read(pc.keep(kept, min_k=200)) == engine.read(kept)  # what is kept is an answer
    if isinstance(answer, (list, tuple)):
        cut = kept.cut if hasattr(kept, "cut") else kept.cuts[0]
        assert cut.k == len(engine.read(kept)[0])


def test_ties_and_unicode_and_a_batch(engine: Engine) -> None:
    base, query = vectors(6, hits=0)
    tied = np.repeat(base[:1], 6, axis=0)
    answer = engine.search(tied, query, 6)
    ids, scores = engine.read(answer)
    if len({*scores}) == 1:  # some round by place
        assert len(engine.read(pc.keep(answer))[0]) == len(ids)
    two = [engine.search(*vectors(2000), 200), engine.search(*vectors(60), 200)]
    if isinstance(two[0], tuple):
        return  # two arrays are a batch by themselves: see below
    made, cuts = pc.keep(two, explain=True)
    assert [cut.k for cut in cuts] == [kept_of(one)[1].k for one in two]
    assert [engine.read(one) for one in made] == [engine.read(pc.keep(one)) for one in two]
    assert made.cuts is cuts


def test_no_tail_is_fitted_that_the_decision_does_not_need(
    engine: Engine, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = count_fits(monkeypatch)
    kept, cut = kept_of(answer)
    assert engine.read(kept)[0]
    assert cut.to_dict()["reason"]
    assert fits == []
    pc.keep(answer, evalue=0.05)
    assert len(fits) == 1


def test_an_unknown_option_is_refused(engine: Engine, answer: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"^keep: alpha must be in"):
        pc.keep(answer, alpha=1.3)
    with pytest.raises(InvalidParameterError, match=r"^keep: .*e_value"):
        pc.keep(answer, e_value=0.05)


def test_answers_of_one_question_are_fused(engine: Engine, answer: Any) -> None:
    _, scores = engine.read(answer)
    own = [str(one) for one in read(answer).ids("test")[0]]
    words = [(one, 100.0 - i) for i, one in enumerate(own[:50][::-1])]
    fused = pc.fuse({"words": words, "mine": answer}, method="rrf")
    (fused,) = fused if not hasattr(fused, "lists") else (fused,)
    lists = {
        "words": pc.RankedLists([[s for _, s in words]], doc_ids=[[d for d, _ in words]]),
        "mine": pc.RankedLists([scores], doc_ids=[own], higher_is_better=engine.higher_is_better),
    }
    want = pc.fuse(lists, method="rrf")
    assert [one.id for one in fused] == want.doc_ids[0].tolist()
    assert [one.score for one in fused] == want.scores[0].tolist()
    best = pc.keep(fused, max_k=2)
    assert [one.id for one in best] == want.doc_ids[0][: len(best)].tolist()
    assert set(fused[0].results) <= {"words", "mine"}


@pytest.mark.heavy
def test_two_arrays_of_many_queries_stay_padded() -> None:
    faiss, hnswlib = importorskip("faiss"), importorskip("hnswlib")
    base, query = vectors(150)
    queries = np.stack([query, base[9], -query])
    index = faiss.IndexFlatL2(base.shape[1])
    index.add(base)
    distances, labels = index.search(queries, 200)
    (new_distances, new_labels), cuts = pc.keep((distances, labels), explain=True)
    assert (new_distances.dtype, new_labels.dtype) == (distances.dtype, labels.dtype)
    assert new_labels.shape == (3, cuts.k.max())
    for row in range(3):
        k, _ = expected(distances[row, :150].tolist(), higher_is_better=False)
        assert cuts.k[row] == k
        assert new_labels[row, :k].tolist() == labels[row, :k].tolist()
        assert (new_labels[row, k:] == -1).all()
        # FAISS itself pads so: rows 150 to 199 of its own answer.
        assert (new_distances[row, k:] == distances[row, -1]).all()
    graph = hnswlib.Index(space="l2", dim=base.shape[1])
    graph.init_index(max_elements=150, M=32)
    graph.add_items(base)
    graph.set_ef(150)
    names, far = graph.knn_query(queries, k=100)
    kept_names, kept_far = pc.keep((names, far))
    for row in range(3):
        k, _ = expected(far[row].tolist(), higher_is_better=False)
        assert kept_names[row, :k].tolist() == names[row, :k].tolist()
        assert kept_far[row, :k].tolist() == far[row, :k].tolist()
    assert pc.keep((kept_names, kept_far), min_k=200)[0].tolist() == kept_names.tolist()
    with pytest.raises(InvalidScoresError, match="of one shape"):
        pc.keep((distances, labels[:, 1:]))


@pytest.mark.heavy
def test_batches_of_usearch_milvus_and_chroma_keep_their_columns_aligned() -> None:
    base, query = vectors(150)
    queries = np.stack([query, base[9], -query])
    index = importorskip("usearch.index").Index(ndim=base.shape[1], metric="cos")
    index.add(np.arange(150), base)
    matches = index.search(queries, 200)
    before = copy.deepcopy(matches)
    kept = pc.keep(matches)
    for row in range(3):
        one = matches[row]
        k, _ = expected(one.distances.tolist(), higher_is_better=False)
        assert kept.counts[row] == k
        assert kept[row].keys.tolist() == one.keys[:k].tolist()
    assert matches.counts.tolist() == before.counts.tolist()
    client = importorskip("chromadb").EphemeralClient()
    collection = client.create_collection("batch", embedding_function=None)
    collection.add(ids=[f"d{i}" for i in range(150)], embeddings=base)
    result = collection.query(
        query_embeddings=queries, n_results=100, include=["distances", "embeddings"]
    )
    cut = pc.keep(result)
    assert cut["documents"] is None
    for row in range(3):
        k, _ = expected(result["distances"][row], higher_is_better=False)
        assert cut["ids"][row] == result["ids"][row][:k]
        assert np.array_equal(cut["embeddings"][row], result["embeddings"][row][:k])
    without = collection.query(query_embeddings=queries, n_results=5, include=["documents"])
    with pytest.raises(InvalidParameterError, match="answer must hold results with scores"):
        pc.keep(without)


@pytest.mark.heavy
def test_the_rest_of_a_response_stays() -> None:
    engine = Recorded(None, "elasticsearch")  # type: ignore[arg-type]
    response = engine.search(*vectors(), 200)
    kept = pc.keep(response, evalue=0.05)
    assert len(kept["hits"]["hits"]) == 3  # the three that were written far above the rest
    assert kept["hits"]["total"] == response["hits"]["total"]
    assert kept["took"] == response["took"]
    assert kept.meta == response.meta
    assert len(response["hits"]["hits"]) == 80
    sorted_otherwise = {"hits": {"hits": [{"_id": "1", "_score": None, "sort": [3]}]}}
    with pytest.raises(InvalidScoresError, match="must have scores, got none for any of 1 results"):
        pc.keep(sorted_otherwise)


@pytest.mark.heavy
def test_fusion_scores_of_qdrant_are_seen_as_ranks() -> None:
    qdrant = importorskip("qdrant_client")
    models = qdrant.models
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
    batch = client.query_batch_points(
        "tests", [models.QueryRequest(query=q.tolist(), limit=90) for q in (query, base[7])]
    )
    client.close()
    assert "rank_only_scores" in kept_of(fused)[1].warnings
    kept = pc.keep(batch)
    assert [type(one) for one in kept] == [type(one) for one in batch]
    assert [len(one.points) for one in kept] == kept.cuts.k.tolist()


@pytest.mark.heavy
def test_rows_of_postgres_of_every_kind_are_read(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    from engines import Postgres

    engine = Postgres(tmp_path_factory.mktemp("engine"), "<->")
    rows_of = importorskip("psycopg.rows")
    base, query = vectors(120)
    expect = best_of(engine, engine.search(base, query, 100), alpha=0.1)[0]
    for factory in (rows_of.dict_row, rows_of.namedtuple_row):
        cursor = engine.connection.cursor(row_factory=factory)
        rows = engine.rows(base, query, 100, cursor)
        for kept in (pc.keep(rows, alpha=0.1), pc.keep(rows, score="distance", alpha=0.1)):
            assert [row["id"] if isinstance(row, dict) else row.id for row in kept] == expect
        with pytest.raises(InvalidParameterError, match="score must be in every result"):
            pc.keep(rows, score="similarity")
    cursor = engine.connection.cursor()
    engine.rows(base, query, 100, cursor)
    cursor.execute(
        "select id, 'text', embedding <-> %s as d from docs order by d limit 100", (query,)
    )
    assert [row[0] for row in pc.keep(cursor, alpha=0.1)] == expect  # a cursor is read once
    engine.close()
