"""Ragged and RankedLists: what they accept, keep and refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import Ragged, RankedLists
from paretocut.schema.parameters import (
    check_choice,
    check_int,
    check_positive_int,
    check_probability,
    check_real,
)

number_lists = st.lists(st.lists(st.floats(-1e6, 1e6), max_size=6), max_size=6)


def as_lists(ragged: Ragged) -> list[list[object]]:
    return [part.tolist() for part in ragged]


# --- Ragged -------------------------------------------------------------------------------------


@given(number_lists)
def test_ragged_gives_back_the_lists_it_was_made_from(lists: list[list[float]]) -> None:
    ragged = Ragged.from_any(lists)
    assert as_lists(ragged) == lists
    assert ragged.lengths.tolist() == [len(part) for part in lists]
    assert ragged.offsets.dtype == np.int64
    assert ragged.rows.tolist() == [i for i, part in enumerate(lists) for _ in part]


@given(number_lists, st.data())
def test_ragged_take_equals_list_indexing(lists: list[list[float]], data: st.DataObject) -> None:
    positions = data.draw(
        st.lists(st.integers(-len(lists), len(lists) - 1), max_size=8) if lists else st.just([])
    )
    assert as_lists(Ragged.from_any(lists).take(positions)) == [lists[i] for i in positions]


def test_a_pair_of_lists_is_two_lists_and_not_values_with_offsets() -> None:
    assert Ragged.from_any(([9, 8, 1], [0, 3])).tolist() == [[9, 8, 1], [0, 3]]
    assert Ragged.from_any((np.array([0.9, 0.1]), np.array([0.5]))).tolist() == [[0.9, 0.1], [0.5]]
    assert Ragged.from_any(([9, 8, 1], np.array([0, 3]))).tolist() == [[9, 8, 1]]


def test_ragged_from_a_matrix_or_a_pair_shares_memory() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(Ragged.from_any(matrix).values, matrix)
    values = np.arange(3.0)
    ragged = Ragged.from_any((values, np.array([0, 0, 3])))
    assert np.shares_memory(ragged.values, values)
    assert as_lists(ragged) == [[], [0.0, 1.0, 2.0]]
    assert Ragged.from_any(ragged) is ragged


def test_ragged_keeps_the_type_of_what_it_holds() -> None:
    assert Ragged.from_any([["a"], [], ["bcd", "e"]]).values.dtype.kind == "U"
    assert Ragged.from_any([[b"a"], [b"bcd"]]).values.dtype == "S3"
    assert Ragged.from_any([[1, 2], []]).values.dtype.kind == "i"
    assert Ragged.from_any([[True], [False]]).values.dtype == bool
    assert Ragged.from_any([[1, 2], []], dtype=np.float64).values.dtype == np.float64


def test_ragged_accepts_object_arrays_of_lists() -> None:
    column = np.empty(2, dtype=object)
    column[:] = [[1.0, 2.0], [3.0]]
    assert as_lists(Ragged.from_any(column)) == [[1.0, 2.0], [3.0]]


def test_ragged_reads_arrow_lists_sliced_chunked_and_without_copying() -> None:
    pa = pytest.importorskip("pyarrow")
    lists = [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]
    for kind in (pa.list_(pa.float64()), pa.large_list(pa.float64())):
        array = pa.array(lists, type=kind)
        assert as_lists(Ragged.from_any(array)) == lists
        assert as_lists(Ragged.from_any(array[1:3])) == lists[1:3]
        chunked = pa.chunked_array([array[:1], array[1:]])
        assert as_lists(Ragged.from_any(chunked)) == lists
        buffer = np.frombuffer(array.flatten().buffers()[1], dtype=np.float64)
        assert np.shares_memory(Ragged.from_any(array).values, buffer)
    fixed = pa.array([[1.0, 2.0], [3.0, 4.0]], type=pa.list_(pa.float64(), 2))
    assert as_lists(Ragged.from_any(fixed)) == [[1.0, 2.0], [3.0, 4.0]]
    assert as_lists(Ragged.from_any(pa.array([["d1"], ["d2", "d3"]]))) == [["d1"], ["d2", "d3"]]
    with pytest.raises(InvalidScoresError, match=r"null.* at 1"):
        Ragged.from_any(pa.array([[1.0], None]))
    with pytest.raises(InvalidScoresError, match="got double"):
        Ragged.from_any(pa.array([1.0]))


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (np.arange(3.0), "got a 1-D array of float64"),
        (np.zeros((1, 1, 1)), "got a 3-D array"),
        ([[1.0], [[2.0]]], "got 2-D data at position 1"),
        ([1.0, 2.0], "got 0-D data at position 0"),
        ("abc", "got str"),
        (3, "got int"),
        (([1.0, 2.0], np.array([0, 1])), r"rise from 0 to the number of values, 2, got \[0 1\]"),
        (([1.0, 2.0], np.array([1, 2])), "rise from 0"),
        (([1.0, 2.0], np.array([0, 2, 1, 2])), "rise from 0"),
    ],
)
def test_ragged_says_what_it_cannot_read(lists: object, message: str) -> None:
    with pytest.raises(InvalidScoresError, match=message):
        Ragged.from_any(lists)


def test_ragged_survives_pickle_and_is_frozen() -> None:
    ragged = pickle.loads(pickle.dumps(Ragged.from_any([[1.0], [2.0, 3.0]])))
    assert as_lists(ragged) == [[1.0], [2.0, 3.0]]
    assert ragged[-1].tolist() == [2.0, 3.0]
    with pytest.raises(IndexError):
        ragged[2]
    with pytest.raises(AttributeError):
        ragged.values = np.zeros(3)


# --- RankedLists --------------------------------------------------------------------------------


@pytest.fixture
def lists() -> RankedLists:
    """Three lists with every column; the second arrives unsorted, the third is empty."""
    return RankedLists(
        [[0.9, 0.5], [0.1, 0.3, 0.3], []],
        relevance=[[2, 0], [1, 0, 2], []],
        query_ids=["a", "b", "c"],
        doc_ids=[["a1", "a2"], ["b1", "b2", "b3"], []],
        num_relevant=[4, 2, 0],
        query_embeddings=np.eye(3),
        doc_embeddings=np.arange(10.0).reshape(5, 2),
    )


def test_lists_are_sorted_best_first_and_all_columns_move_along(lists: RankedLists) -> None:
    assert as_lists(lists.scores) == [[0.9, 0.5], [0.3, 0.3, 0.1], []]
    assert as_lists(lists.relevance) == [[2, 0], [0, 2, 1], []]
    assert as_lists(lists.doc_ids) == [["a1", "a2"], ["b2", "b3", "b1"], []]
    assert lists.doc_embeddings[:, 0].tolist() == [0.0, 2.0, 6.0, 8.0, 4.0]


def test_distances_stay_distances_and_the_input_is_untouched() -> None:
    distances = np.array([[0.1, 0.4], [0.9, 0.2]])
    before = distances.copy()
    lists = RankedLists(distances, relevance=[[1, 0], [0, 1]], higher_is_better=False)
    assert as_lists(lists.scores) == [[0.1, 0.4], [0.2, 0.9]]
    assert as_lists(lists.merit) == [[-0.1, -0.4], [-0.2, -0.9]]
    assert not lists.higher_is_better
    assert not lists[1:].higher_is_better
    assert lists.truncate(1)[0].scores.tolist() == [0.1]
    assert as_lists(lists.relevance) == [[1, 0], [1, 0]]
    np.testing.assert_array_equal(distances, before)


@given(number_lists)
def test_sorting_equals_a_stable_python_sort(scores: list[list[float]]) -> None:
    names = [[f"{i}-{j}" for j in range(len(part))] for i, part in enumerate(scores)]
    ranked = RankedLists(scores, doc_ids=names)
    for i, part in enumerate(scores):
        order = sorted(range(len(part)), key=lambda j, part=part: -part[j])
        assert ranked.scores[i].tolist() == [part[j] for j in order]
        assert ranked.doc_ids[i].tolist() == [names[i][j] for j in order]


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 36, 100, 129, 5000])
def test_sorting_is_stable_at_every_length(n: int, higher_is_better: bool) -> None:
    rng = np.random.default_rng(n)
    tied, zeros = rng.integers(0, 9, n).astype(float), rng.choice([0.0, -0.0, 1.0, -1.0], n)
    near = 1 + rng.integers(0, 50, n) * 2.0**-52  # the last bits alone tell them apart
    huge = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
    scores = np.stack([rng.normal(size=n), tied, zeros, near, near - 2, huge])
    ranked = RankedLists(
        scores, doc_ids=[np.arange(n)] * len(scores), higher_is_better=higher_is_better
    )
    merit = scores if higher_is_better else -scores
    expected = np.argsort(-merit, axis=1, kind="stable")
    assert ranked.doc_ids is not None
    found = ranked.doc_ids.values.astype(int).reshape(scores.shape)
    np.testing.assert_array_equal(found, expected)


def test_lists_already_in_order_are_not_copied() -> None:
    scores = np.array([[3.0, 2.0], [5.0, 5.0]])
    assert np.shares_memory(RankedLists(scores).scores.values, scores)


def test_min_grade_decides_what_is_relevant() -> None:
    grades = [[2, 1, 0]]
    assert RankedLists([[3.0, 2.0, 1.0]], grades).relevant[0].tolist() == [True, True, False]
    strict = RankedLists([[3.0, 2.0, 1.0]], grades, min_grade=2)
    assert strict.relevant[0].tolist() == [True, False, False]
    assert strict.num_relevant.tolist() == [1]
    flags = RankedLists([[3.0, 2.0]], [[True, False]], min_grade=2)
    assert flags.relevant[0].tolist() == [True, False]


def test_number_of_relevant_defaults_to_those_retrieved(lists: RankedLists) -> None:
    assert lists.num_relevant.tolist() == [4, 2, 0]
    assert RankedLists([[1.0, 0.0], []], [[1, 1], []]).num_relevant.tolist() == [2, 0]


def test_one_list_is_a_view_with_its_own_names(lists: RankedLists) -> None:
    one = lists[1]
    assert (one.query_id, one.num_relevant, len(one)) == ("b", 2, 3)
    assert one.doc_ids.tolist() == ["b2", "b3", "b1"]
    assert one.relevant.tolist() == [False, True, True]
    assert np.shares_memory(one.scores, lists.scores.values)
    assert lists[-1].query_id == "c"
    assert [item.query_id for item in lists] == ["a", "b", "c"]
    with pytest.raises(IndexError):
        lists[3]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (slice(None, None, -2), [2, 0]),
        ([2, 0], [2, 0]),
        (np.array([True, False, True]), [0, 2]),
        (np.array([1, -1]), [1, 2]),
        ([], []),
    ],
    ids=["slice", "list", "mask", "array", "nothing"],
)
def test_subsets_keep_every_column(lists: RankedLists, index: object, expected: list[int]) -> None:
    part = lists[index]
    expected = np.array(expected, dtype=int)
    assert part.query_ids.tolist() == lists.query_ids[expected].tolist()
    assert part.num_relevant.tolist() == lists.num_relevant[expected].tolist()
    assert as_lists(part.doc_ids) == [lists.doc_ids[i].tolist() for i in expected]
    np.testing.assert_array_equal(part.query_embeddings, lists.query_embeddings[expected])
    rows = [lists.doc_embeddings[lists.scores.rows == i] for i in expected]
    np.testing.assert_array_equal(part.doc_embeddings, np.concatenate([np.empty((0, 2)), *rows]))


def test_split_divides_the_queries_and_repeats_under_a_seed() -> None:
    lists = RankedLists(np.zeros((10, 1)))
    train, test = lists.split(0.8, seed=3)
    assert (len(train), len(test)) == (8, 2)
    assert sorted([*train.query_ids, *test.query_ids]) == sorted(lists.query_ids)
    again, _ = lists.split(0.8, seed=3)
    other, _ = lists.split(0.8, seed=4)
    assert train.query_ids.tolist() == again.query_ids.tolist() != other.query_ids.tolist()


def test_every_query_is_in_the_test_part_of_exactly_one_fold() -> None:
    lists = RankedLists(np.zeros((7, 1)))
    pairs = list(lists.folds(3, seed=1))
    assert sorted(len(test) for _, test in pairs) == [2, 2, 3]
    assert sorted(name for _, test in pairs for name in test.query_ids) == sorted(lists.query_ids)
    for train, test in pairs:
        assert not set(train.query_ids) & set(test.query_ids)
        assert len(train) + len(test) == 7


def test_truncate_keeps_the_head_and_the_number_of_relevant(lists: RankedLists) -> None:
    cut = lists.truncate([1, 2, 5])
    assert as_lists(cut.scores) == [[0.9], [0.3, 0.3], []]
    assert as_lists(cut.doc_ids) == [["a1"], ["b2", "b3"], []]
    assert cut.doc_embeddings[:, 0].tolist() == [0.0, 6.0, 8.0]
    assert cut.num_relevant.tolist() == [4, 2, 0]
    assert as_lists(lists.truncate(0).scores) == [[], [], []]


def test_concat_undoes_slicing(lists: RankedLists) -> None:
    whole = RankedLists.concat([lists[:1], lists[1:]])
    for name in ("scores", "relevance", "doc_ids"):
        assert as_lists(getattr(whole, name)) == as_lists(getattr(lists, name))
    for name in ("query_ids", "num_relevant", "query_embeddings", "doc_embeddings"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(lists, name))


def test_concat_refuses_parts_that_do_not_match(lists: RankedLists) -> None:
    bare = RankedLists([[1.0]])
    with pytest.raises(InvalidParameterError, match="relevance in all parts or in none"):
        RankedLists.concat([lists, bare])
    with pytest.raises(InvalidParameterError, match=r"one min_grade in all parts, got \[1, 2\]"):
        RankedLists.concat([bare, RankedLists([[1.0]], min_grade=2)])
    with pytest.raises(InvalidParameterError, match="at least one part"):
        RankedLists.concat([])


def test_lists_without_judgements_say_so_when_asked() -> None:
    lists = RankedLists([[1.0]])
    assert lists[0].relevance is None
    assert lists[0].num_relevant is None
    with pytest.raises(InvalidScoresError, match="made without relevance"):
        _ = lists.relevant
    with pytest.raises(InvalidScoresError, match="made without relevance"):
        _ = lists.num_relevant


def test_lists_survive_pickle_and_print_in_one_line(lists: RankedLists) -> None:
    again = pickle.loads(pickle.dumps(lists))
    assert as_lists(again.doc_ids) == as_lists(lists.doc_ids)
    assert again.num_relevant.tolist() == [4, 2, 0]
    assert repr(lists) == "RankedLists(3 lists, 5 results, judged)"
    assert repr(RankedLists([])) == "RankedLists(0 lists, 0 results)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": [[1.0, np.nan]]}, "scores must be finite, got nan at index 1"),
        (
            {"scores": [[], [2.0, 1.0, -np.inf]], "query_ids": ["x", "y"]},
            "scores must be finite, got -inf at rank 3 of query 'y'",
        ),
        ({"scores": [["a"]]}, "must convert to float64"),
        ({"relevance": [[1]]}, "as many lists as scores, 2, got 1"),
        ({"relevance": [[1, 0], [1, 1]]}, "got 2 for 1 scores in list 1"),
        ({"relevance": [[1, np.inf], [1]]}, "relevance must be finite, got inf at index 1"),
        ({"relevance": [["1", "0"], ["1"]]}, "relevance must be numbers"),
        ({"query_ids": ["a"]}, r"2 names, one per list, got shape \(1,\)"),
        ({"num_relevant": [1.5, 2.0]}, "2 integers, one per list"),
        ({"num_relevant": [-1, 0]}, "query '0': num_relevant must be at least .* 0, got -1"),
        (
            {"relevance": [[1, 1], [0]], "num_relevant": [1, 0]},
            "at least the relevant results retrieved, 2, got 1",
        ),
        ({"query_embeddings": np.zeros((3, 2))}, r"each of the 2 lists, got shape \(3, 2\)"),
        ({"doc_embeddings": np.zeros((2, 2))}, r"each of the 3 results, got shape \(2, 2\)"),
    ],
)
def test_lists_that_cannot_be_used_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidScoresError, match=message):
        RankedLists(**{"scores": [[2.0, 1.0], [3.0]], **arguments})


def test_bad_options_of_the_methods_are_refused(lists: RankedLists) -> None:
    with pytest.raises(InvalidParameterError, match=r"train must be in \(0, 1\), got 1"):
        lists.split(1)
    with pytest.raises(InvalidParameterError, match="at least 2 lists, got 1"):
        lists[:1].split()
    with pytest.raises(InvalidParameterError, match="k must be an integer of at least 2, got 1"):
        lists.folds(1)
    with pytest.raises(InvalidParameterError, match="at least 4 lists, got 3"):
        lists.folds(4)
    with pytest.raises(InvalidParameterError, match="0 or more, got -1"):
        lists.truncate(-1)
    with pytest.raises(InvalidParameterError, match="one integer or 3 of them"):
        lists.truncate([1, 2])


# --- option checks ------------------------------------------------------------------------------


def test_checks_return_plain_values() -> None:
    assert check_choice("a", ["a", "b"], who="T", name="x") == "a"
    assert check_probability(np.float64(0.5), who="T", name="x") == 0.5
    assert type(check_positive_int(np.int64(3), who="T", name="x")) is int
    assert check_real(0, who="T", name="x", low=0, closed="low") == 0.0


def test_checks_say_who_what_is_allowed_and_what_came() -> None:
    with pytest.raises(InvalidParameterError, match=r"^T: x must be in \(0, 1\), got 1.3$"):
        check_probability(1.3, who="T", name="x")
    with pytest.raises(InvalidParameterError, match=r"^T: x must be one of 'a', 'b', got 'c'$"):
        check_choice("c", ["a", "b"], who="T", name="x")
    with pytest.raises(InvalidParameterError, match=r"^T: x must be an integer of at least 1, got"):
        check_positive_int(0, who="T", name="x")
    with pytest.raises(InvalidParameterError, match=r"^T: x must be an integer .*, got True$"):
        check_positive_int(True, who="T", name="x")
    with pytest.raises(InvalidParameterError, match=r"at least 0, got 1.5$"):
        check_int(1.5, who="T", name="x")
    for bad in (float("nan"), "0.5", None, float("inf")):
        with pytest.raises(InvalidParameterError, match=r"must be in \[0, inf\), got"):
            check_real(bad, who="T", name="x", low=0, closed="low")


def test_lists_of_types_that_do_not_mix_are_refused() -> None:
    with pytest.raises(InvalidScoresError, match=r"one type, got datetime64.* and float16"):
        Ragged.from_any([np.zeros(1, np.float16), np.array(["NaT"], "datetime64[Y]")])


def test_lists_of_one_query_count_once_and_stay_in_one_part() -> None:
    rng = np.random.default_rng(0)
    scores = -np.sort(-rng.random((60, 12)), axis=1)
    rows = np.repeat(np.arange(60), 3)
    copies = RankedLists(scores[rows])
    assert len(copies.distinct()) == 60
    named = RankedLists(rng.random((180, 12)), query_ids=[f"q{i}" for i in rows])
    assert sorted(named.distinct().query_ids) == sorted(set(named.query_ids))
    # The same scores in another order of documents, such as ranks, are no copies.
    documents = [[f"{i}-{j}" for j in range(12)] for i in range(180)]
    ranks = RankedLists(np.tile(np.arange(12.0, 0, -1), (180, 1)), doc_ids=documents)
    assert len(ranks.distinct()) == 180
    assert len(RankedLists([[], [], []]).distinct()) == 3
    # Chains: a and b share their id, b and c their scores.
    chain = RankedLists([[5.0], [4.0], [4.0], [3.0]], query_ids=["a", "a", "b", "c"])
    assert len(chain.distinct()) == 2
    near = scores[rows] * (1 + 1e-7 * rng.random((180, 1)))
    tops = scores[:, 0]
    for lists in (copies, RankedLists(near)):
        for train, test in [lists.split(0.7, seed=1), *lists.folds(5, seed=2)]:
            own, other = (
                {int(np.argmin(abs(tops - one[0]))) for one in part.scores}
                for part in (train, test)
            )
            assert own
            assert other
            assert not own & other
            assert len(train) + len(test) == 180
    numbers = copies.fold_numbers(5).reshape(60, 3)
    assert (numbers == numbers[:, :1]).all()
    assert set(numbers.ravel()) == set(range(5))


def test_lists_that_tell_no_queries_apart_are_still_divided() -> None:
    lists = RankedLists([[3.0, 2.0, 1.0]] * 20)
    train, test = lists.split(0.5)
    assert (len(train), len(test)) == (10, 10)
