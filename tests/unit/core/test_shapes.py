"""TensorShape: TensorFlow's semantics, names of dimensions, and algebraic properties."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.core.dimension import Dimension
from tfx.core.dims import RawShape
from tfx.core.shapes import TensorShape, as_shape, unknown_shape

DIMS = st.one_of(st.integers(0, 3), st.none(), st.sampled_from(["n", "m", "x.d0"]))
SHAPES = st.one_of(st.none(), st.lists(DIMS, max_size=3)).map(TensorShape)
UNNAMED = st.one_of(st.none(), st.lists(st.one_of(st.integers(0, 2), st.none()), max_size=2)).map(
    TensorShape
)
# Every fully known shape that UNNAMED can represent, and more.
UNIVERSE = [s for rank in range(3) for s in itertools.product(range(3), repeat=rank)]


def represents(shape: TensorShape) -> set[tuple[int, ...]]:
    """The fully known shapes that `shape` may turn out to be: the definition of a shape."""
    if shape.rank is None:
        return set(UNIVERSE)
    return {
        known
        for known in UNIVERSE
        if len(known) == shape.rank
        and all(d is None or d == k for d, k in zip(shape.as_list(), known, strict=True))
    }


@pytest.mark.parametrize(
    ("dims", "raw", "shown", "text"),
    [
        (None, None, "TensorShape(None)", "<unknown>"),
        ([], (), "TensorShape([])", "()"),
        (5, (5,), "TensorShape([5])", "(5,)"),
        ((2, 3), (2, 3), "TensorShape([2, 3])", "(2, 3)"),
        ([None, 8], (None, 8), "TensorShape([None, 8])", "(None, 8)"),
        (["batch", 8], ("batch", 8), "TensorShape([batch, 8])", "(batch, 8)"),
        (["image.d0", 8], ("image.d0", 8), "TensorShape([None, 8])", "(None, 8)"),
        (np.array([2, 3]), (2, 3), "TensorShape([2, 3])", "(2, 3)"),
        (np.int64(4), (4,), "TensorShape([4])", "(4,)"),
        (np.array(4), (4,), "TensorShape([4])", "(4,)"),
        ((np.int32(2), True), (2, 1), "TensorShape([2, 1])", "(2, 1)"),
        ((d for d in (1, 2)), (1, 2), "TensorShape([1, 2])", "(1, 2)"),
        (TensorShape(["n"]), ("n",), "TensorShape([n])", "(n,)"),
    ],
)
def test_construction_and_text(dims: Any, raw: RawShape, shown: str, text: str) -> None:
    shape = TensorShape(dims)
    assert shape.symbolic == raw
    assert all(type(dim) in (int, str, type(None)) for dim in shape.symbolic or ())
    assert repr(shape) == shown
    assert str(shape) == text


@pytest.mark.parametrize(
    ("dims", "error", "match"),
    [
        ([-1, 2], ValueError, "dimension -1 .* must be >= 0: use None"),
        (-1, ValueError, "must be >= 0"),
        ([""], ValueError, "empty dimension name"),
        ([2.0], TypeError, "dimension 2.0 .* has type float: expected an int"),
        ([[1, 2]], TypeError, "type list"),
        ("batch", TypeError, r"expected a list of dimensions, such as \['batch', 8\]"),
        (b"ab", TypeError, "expected a list"),
        (2.5, TypeError, "dimension 2.5"),
    ],
)
def test_bad_dimensions(dims: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        TensorShape(dims)


def test_what_is_known() -> None:
    known = TensorShape([2, 3])
    assert (known.rank, known.ndims, len(known), known.dims) == (2, 2, 2, [2, 3])
    assert known.as_list() == [2, 3]
    assert known.num_elements() == 6
    assert known.is_fully_defined()
    partly = TensorShape(["n", 3, None])
    assert (partly.rank, partly.num_elements()) == (3, None)
    assert [(type(d), d.value) for d in partly.dims or ()] == [
        (Dimension, None),
        (Dimension, 3),
        (Dimension, None),
    ]
    assert not partly.is_fully_defined()
    assert TensorShape([]).num_elements() == 1
    assert TensorShape([0, 5]).num_elements() == 0


def test_unknown_rank() -> None:
    shape = TensorShape(None)
    assert (shape.rank, shape.ndims, shape.dims, shape.num_elements()) == (None, None, None, None)
    assert not shape.is_fully_defined()
    for use in (len, iter, TensorShape.as_list):
        with pytest.raises(ValueError, match=r"unknown.*check \.rank"):
            use(shape)
    assert shape[3] is None


def test_truth_is_whether_the_rank_is_known() -> None:
    assert TensorShape([])
    assert TensorShape([0])
    assert not TensorShape(None)


def test_indexing_hides_names() -> None:
    shape = TensorShape(["batch", 8, "x.d2", None])
    assert list(shape) == [None, 8, None, None]
    assert [shape[i] for i in range(4)] == [None, 8, None, None]
    assert shape[-3] == 8
    assert shape[np.int64(1)] == 8
    assert shape[:2].symbolic == ("batch", 8)
    assert shape[::-2].symbolic == (None, 8)
    with pytest.raises(IndexError):
        shape[4]
    a, b = TensorShape([3, 4])
    assert (a, b) == (3, 4)


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        (slice(None, 2), (None, None)),
        (slice(1, 3), (None, None)),
        (slice(3, 1), ()),
        (slice(1, None), None),
        (slice(-2, None), None),
        (slice(0, -1), None),
    ],
)
def test_slices_of_unknown_rank(key: slice, raw: RawShape) -> None:
    assert TensorShape(None)[key].symbolic == raw


def test_slice_with_step_of_unknown_rank() -> None:
    with pytest.raises(ValueError, match="step needs a known rank"):
        TensorShape(None)[::2]


@pytest.mark.parametrize(
    ("shape", "other", "expected"),
    [
        ([2, 3], [2, 3], True),
        ([2, 3], (2, 3), True),
        ([2, 3], [3, 2], False),
        ([None], [None], True),
        (None, None, True),
        (None, [], False),
        ([5], 5, True),
        (["n"], ["n"], True),
        (["n"], ["m"], False),
        (["n"], [None], False),
        (["x.d0"], [None], True),
        (["x.d0"], ["y.d0"], True),
        (["x.d0", 3], [None, 4], False),
        ([2], "2", False),
        ([2], [-2], False),
        ([2], [2.0], False),
        ([2], object(), False),
    ],
)
def test_equality(shape: Any, other: Any, expected: bool) -> None:
    assert (TensorShape(shape) == other) is expected
    assert (other == TensorShape(shape)) is expected
    assert (TensorShape(shape) != other) is not expected
    if expected:
        assert hash(TensorShape(shape)) == hash(TensorShape(other))


@given(SHAPES)
def test_copies_are_equal_and_keep_names(shape: TensorShape) -> None:
    for other in (copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):
        assert other == shape
        assert other.symbolic == shape.symbolic
        assert other.is_fully_defined() == shape.is_fully_defined()


@given(SHAPES)
def test_from_raw_is_the_constructor_unchecked(shape: TensorShape) -> None:
    other = TensorShape.from_raw(shape.symbolic)
    assert other == shape
    assert hash(other) == hash(shape)
    assert other.is_fully_defined() == shape.is_fully_defined()
    assert other.num_elements() == shape.num_elements()


@given(SHAPES, SHAPES)
def test_equal_shapes_have_equal_hashes(a: TensorShape, b: TensorShape) -> None:
    assert (a == b) == (b == a)
    if a == b:
        assert hash(a) == hash(b)
        assert repr(a) == repr(b)


@given(UNNAMED, UNNAMED)
def test_relations_against_the_definition(a: TensorShape, b: TensorShape) -> None:
    in_a, in_b = represents(a), represents(b)
    assert a.is_compatible_with(b) == bool(in_a & in_b)
    if a.rank is not None or b.rank is None:  # the universe ends at rank 2, None does not
        assert a.is_subtype_of(b) == (in_a <= in_b)
    if in_a & in_b:
        assert represents(a.merge_with(b)) == in_a & in_b
    else:
        with pytest.raises(ValueError, match="not compatible"):
            a.merge_with(b)
    cover = a.most_specific_compatible_shape(b)
    assert in_a | in_b <= represents(cover)
    assert a.is_subtype_of(cover)
    assert b.is_subtype_of(cover)


@given(SHAPES, SHAPES)
def test_relations_with_names(a: TensorShape, b: TensorShape) -> None:
    assert a.is_compatible_with(a)
    assert a.is_subtype_of(a)
    assert a.is_compatible_with(b) == b.is_compatible_with(a)
    if a.is_compatible_with(b):
        merged = a.merge_with(b)
        assert merged.is_compatible_with(a)
        assert merged.is_compatible_with(b)
    cover = a.most_general_compatible_shape(b)
    assert a.is_subtype_of(cover)
    assert b.is_subtype_of(cover)


@pytest.mark.parametrize(
    ("a", "b", "compatible"),
    [
        (["n", "n"], [3, 3], True),
        (["n", "n"], [3, 4], False),
        (["n", "m"], [3, 4], True),
        (["x.d0", "x.d0"], [3, 4], True),
        (["n"], ["m"], True),
        (["n"], [None], True),
        (["n", 2], [3, 3], False),
    ],
)
def test_a_name_is_one_size(a: Any, b: Any, compatible: bool) -> None:
    assert TensorShape(a).is_compatible_with(b) is compatible
    assert TensorShape(b).is_compatible_with(a) is compatible


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([3, 8], ["n", 8], True),
        ([None, 8], ["n", 8], True),
        (["m", 8], ["n", 8], True),
        (["n", 8], [3, 8], False),
        ([3, 3], ["n", "n"], True),
        ([3, 4], ["n", "n"], False),
        ([None, None], ["n", "n"], False),
        (["m", "m"], ["n", "n"], True),
        ([3, 4], ["x.d0", "x.d0"], True),
        (None, ["n"], False),
        ([3], None, True),
    ],
)
def test_subtypes_of_named_shapes(a: Any, b: Any, expected: bool) -> None:
    assert TensorShape(a).is_subtype_of(TensorShape(b)) is expected


def test_subtype_of_something_else() -> None:
    assert not TensorShape([3]).is_subtype_of([3])


def test_merge_keeps_names() -> None:
    assert TensorShape(["n", None, 3]).merge_with([None, "m", None]).symbolic == ("n", "m", 3)
    assert TensorShape(["n"]).merge_with([4]).symbolic == (4,)
    assert TensorShape(None).merge_with(["n"]).symbolic == ("n",)
    assert TensorShape(["n"]).merge_with(None).symbolic == ("n",)
    with pytest.raises(ValueError, match=r"Shapes \(2, 3\) and \(2,\) are not compatible"):
        TensorShape([2, 3]).merge_with([2])


def test_concatenation() -> None:
    one, unknown = TensorShape([1]), TensorShape(None)
    assert TensorShape(["n"]).concatenate([2, None]).symbolic == ("n", 2, None)
    for left, right in ((one, [2]), (one, (2,)), ([1], TensorShape([2])), ((1,), TensorShape(2))):
        total: Any = left + right  # type: ignore[operator]
        assert type(total) is TensorShape
        assert total == [1, 2]
    assert (one + None).rank is None
    assert (unknown + one).rank is None
    assert sum([TensorShape([2]), TensorShape([3])], one) == [1, 2, 3]


def test_common_supertype() -> None:
    one = TensorShape([1, 2])
    assert one.most_specific_common_supertype([TensorShape([1, 3]), TensorShape([2, 3])]) == [
        None,
        None,
    ]
    assert one.most_specific_common_supertype([TensorShape([1])]) == TensorShape(None)
    assert one.most_specific_common_supertype([]) == one
    assert one.most_specific_common_supertype(["other"]) is None
    assert TensorShape(["n", 1]).most_specific_compatible_shape(["n", 2]).symbolic == ("n", None)


def test_ranks() -> None:
    shape, unknown = TensorShape([2, "n"]), TensorShape(None)
    assert shape.with_rank(2) is shape
    assert unknown.with_rank(2) == [None, None]
    assert shape.with_rank_at_least(2) is shape
    assert shape.with_rank_at_most(2) is shape
    assert unknown.with_rank_at_least(9) is unknown
    assert unknown.with_rank_at_most(0) is unknown
    shape.assert_has_rank(2)
    unknown.assert_has_rank(2)
    shape.assert_has_rank(None)
    shape.assert_same_rank([1, 1])
    shape.assert_same_rank(None)
    shape.assert_is_compatible_with([2, 5])
    TensorShape([1]).assert_is_fully_defined()


@pytest.mark.parametrize(
    ("check", "match"),
    [
        (lambda s: s.with_rank(3), "has rank 2, but must have rank 3"),
        (lambda s: s.with_rank_at_least(3), "has rank 2, but must have rank at least 3"),
        (lambda s: s.with_rank_at_most(1), "has rank 2, but must have rank at most 1"),
        (lambda s: s.assert_has_rank(1), r"Shape \(2, n\) has rank 2, but must have rank 1"),
        (lambda s: s.assert_same_rank([1]), r"\(2, n\) and \(1,\) must have the same rank"),
        (lambda s: s.assert_is_compatible_with([3, 1]), "are incompatible"),
        (lambda s: s.assert_is_fully_defined(), "not fully defined"),
    ],
)
def test_failed_checks(check: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        check(TensorShape([2, "n"]))


def test_helpers() -> None:
    shape = TensorShape([2])
    assert as_shape(shape) is shape
    assert as_shape([2]) == shape
    assert unknown_shape().rank is None
    assert unknown_shape(2).as_list() == [None, None]
