"""Values through protobuf and back: what went in comes out, with its Python type."""

from __future__ import annotations

import enum
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tfx.bundle import bundle_pb2 as pb
from tfx.bundle import limits
from tfx.bundle.codec_values import (
    dtype_name,
    shape_from_proto,
    shape_to_proto,
    value_from_proto,
    value_to_proto,
)
from tfx.bundle.dtypes import BY_NAME
from tfx.bundle.python_values import (
    ConstantRef,
    DTypeValue,
    Leaf,
    Opaque,
    Record,
    ShapeValue,
    TensorInfo,
)
from tfx.core.errors import BundleError

IDS = st.integers(0, 2**32 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
DIMS = st.one_of(st.none(), st.integers(0, 2**63 - 1), TEXT)
SHAPES = st.one_of(st.none(), st.lists(DIMS, max_size=4).map(tuple))
DTYPES = st.sampled_from(sorted(BY_NAME))
KEYS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT)
SCALARS = st.one_of(
    KEYS, st.integers(-(2**200), 2**200), st.binary(max_size=8), st.complex_numbers(allow_nan=False)
)
SPECIAL = st.one_of(
    IDS.map(Leaf),
    IDS.map(ConstantRef),
    DTYPES.map(DTypeValue),
    SHAPES.map(ShapeValue),
    st.builds(TensorInfo, DTYPES, SHAPES, TEXT),
    st.builds(Opaque, TEXT, TEXT),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALARS, SPECIAL),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(
            Record, TEXT, st.lists(st.tuples(TEXT, inner), max_size=3).map(tuple), st.booleans()
        ),
    ),
    max_leaves=20,
)


def round_trip(value: Any) -> Any:
    data = value_to_proto(value, "here").SerializeToString()
    return value_from_proto(pb.Value.FromString(data), "here")


def kinds(value: Any) -> Any:
    """Return the types all the way down: 1 == True == 1.0 would hide a mistake."""
    if isinstance(value, (list, tuple)):
        return type(value), [kinds(item) for item in value]
    if isinstance(value, dict):
        return dict, [(kinds(key), kinds(item)) for key, item in value.items()]
    if isinstance(value, Record):
        return Record, [kinds(item) for _, item in value.fields]
    return type(value)


@given(value=VALUES)
def test_every_value_comes_back_with_its_types(value: Any) -> None:
    back = round_trip(value)
    assert back == value
    assert kinds(back) == kinds(value)


@pytest.mark.parametrize("edge", [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0, -1])
def test_integers_at_the_edges(edge: int) -> None:
    assert round_trip(edge) == edge


def test_an_integer_too_long_to_be_read_back_is_not_written() -> None:
    assert round_trip(-(1 << 12_999)) == -(1 << 12_999)
    with pytest.raises(ValueError, match="14000 bits"):
        value_to_proto(1 << 13_999, "here")


def test_floats_that_are_not_numbers_come_back() -> None:
    assert math.isnan(round_trip(math.nan))
    assert round_trip(-math.inf) == -math.inf
    assert math.copysign(1, round_trip(-0.0)) == -1


def test_dicts_keep_their_order() -> None:
    assert list(round_trip({"b": 1, "a": 2})) == ["b", "a"]


def test_an_enum_that_is_an_int_is_stored_as_its_number() -> None:
    class Size(enum.IntEnum):
        BIG = 2**70

    assert round_trip(Size.BIG) == 2**70


@pytest.mark.parametrize("value", [object(), np.int64(3), np.zeros(2), {1, 2}, [print]])
def test_what_cannot_be_stored_is_refused_by_type(value: Any) -> None:
    with pytest.raises(BundleError, match=r"^here: a value of type \w+ .*cannot be stored"):
        value_to_proto(value, "here")


def test_a_value_of_no_known_kind_is_refused() -> None:
    with pytest.raises(BundleError, match="here: a value without a kind"):
        value_from_proto(pb.Value(), "here")


@pytest.mark.parametrize("text", ["", "x", "1.5", "0x10", "--1", "9" * 5000, "1_0", "\u0661"])
def test_a_big_int_that_is_no_decimal_is_refused(text: str) -> None:
    with pytest.raises(BundleError, match="big_int"):
        value_from_proto(pb.Value(big_int=text), "here")


def test_a_dict_with_one_key_twice_is_refused() -> None:
    entry = pb.Dict.Entry(key=pb.Value(int_value=1), value=pb.Value(none=True))
    other = pb.Dict.Entry(key=pb.Value(bool_value=True), value=pb.Value(none=True))
    with pytest.raises(BundleError, match="key True twice"):
        value_from_proto(pb.Value(dict=pb.Dict(entries=[entry, other])), "here")


def test_a_dict_with_a_key_that_has_no_hash_is_refused() -> None:
    entry = pb.Dict.Entry(key=pb.Value(list=pb.ValueList()), value=pb.Value(none=True))
    with pytest.raises(BundleError, match="key of type list"):
        value_from_proto(pb.Value(dict=pb.Dict(entries=[entry])), "here")


@given(shape=SHAPES)
def test_every_shape_comes_back(shape: Any) -> None:
    assert shape_from_proto(shape_to_proto(shape, "here"), "here") == shape


def test_a_scalar_and_an_unknown_rank_are_not_the_same() -> None:
    assert shape_from_proto(shape_to_proto((), "here"), "here") == ()
    assert shape_from_proto(shape_to_proto(None, "here"), "here") is None


def test_an_impossible_shape_is_refused() -> None:
    with pytest.raises(BundleError, match="negative"):
        shape_to_proto((-1,), "here")
    with pytest.raises(BundleError, match="unknown rank and 1"):
        shape_from_proto(pb.Shape(unknown_rank=True, dims=[pb.Dim()]), "here")
    with pytest.raises(BundleError, match=f"limit {limits.MAX_RANK}"):
        shape_from_proto(pb.Shape(dims=[pb.Dim()] * 65), "here")


@pytest.mark.parametrize("number", [0, 18, 20, 99])
def test_an_unknown_dtype_is_refused_by_number(number: int) -> None:
    with pytest.raises(BundleError, match=f"here: dtype number {number} .*upgrade"):
        dtype_name(number, "here")
