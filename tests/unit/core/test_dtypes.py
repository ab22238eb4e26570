"""Dtypes against independent tables: NumPy's own facts, onnx.TensorProto, TensorFlow's enum."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import tfx as tf
from tfx.core import dtypes
from tfx.core.dtypes import DType, as_dtype, from_onnx

# name, NumPy class, ONNX name, TensorFlow's DataType number
TABLE: list[tuple[str, Any, str, int]] = [
    ("float16", np.float16, "FLOAT16", 19),
    ("float32", np.float32, "FLOAT", 1),
    ("float64", np.float64, "DOUBLE", 2),
    ("bfloat16", ml_dtypes.bfloat16, "BFLOAT16", 14),
    ("int8", np.int8, "INT8", 6),
    ("int16", np.int16, "INT16", 5),
    ("int32", np.int32, "INT32", 3),
    ("int64", np.int64, "INT64", 9),
    ("uint8", np.uint8, "UINT8", 4),
    ("uint16", np.uint16, "UINT16", 17),
    ("uint32", np.uint32, "UINT32", 22),
    ("uint64", np.uint64, "UINT64", 23),
    ("bool", np.bool_, "BOOL", 10),
    ("string", np.object_, "STRING", 7),
    ("complex64", np.complex64, "COMPLEX64", 8),
    ("complex128", np.complex128, "COMPLEX128", 18),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "FLOAT8E4M3FN", 25),
    ("float8_e5m2", ml_dtypes.float8_e5m2, "FLOAT8E5M2", 24),
    ("int4", ml_dtypes.int4, "INT4", 29),
    ("uint4", ml_dtypes.uint4, "UINT4", 30),
]
NAMES = [row[0] for row in TABLE]


def get(name: str) -> DType:
    dtype = getattr(dtypes, name)
    assert isinstance(dtype, DType)
    return dtype


def test_table_is_complete() -> None:
    assert [dtype.name for dtype in dtypes.ALL_DTYPES] == NAMES


@pytest.mark.parametrize(("name", "numpy_class", "onnx_name", "enum"), TABLE)
def test_identities(name: str, numpy_class: Any, onnx_name: str, enum: int) -> None:
    dtype = get(name)
    assert dtype.name == name
    assert dtype.as_numpy_dtype is numpy_class
    assert dtype.numpy_dtype == np.dtype(numpy_class)
    assert dtype.size == np.dtype(numpy_class).itemsize
    assert dtype.onnx == onnx.TensorProto.DataType.Value(onnx_name)
    assert from_onnx(dtype.onnx) is dtype
    assert dtype.as_datatype_enum == enum
    assert dtype.base_dtype is dtype


@pytest.mark.parametrize(("name", "numpy_class", "onnx_name", "enum"), TABLE)
def test_every_spelling_gives_the_one_object(
    name: str, numpy_class: Any, onnx_name: str, enum: int
) -> None:
    dtype = get(name)
    for spelling in (dtype, name, numpy_class, np.dtype(numpy_class), enum):
        assert as_dtype(spelling) is dtype
    assert DType(name) is dtype


@pytest.mark.parametrize("name", NAMES)
def test_kind_against_numpy(name: str) -> None:
    dtype = get(name)
    ml_kind = {"bfloat16": "f", "float8_e4m3fn": "f", "float8_e5m2": "f", "int4": "i", "uint4": "u"}
    kind = ml_kind.get(name, dtype.numpy_dtype.kind)
    assert dtype.is_floating == (kind == "f")
    assert dtype.is_integer == (kind in "iu")
    assert dtype.is_unsigned == (kind == "u")
    assert dtype.is_complex == (kind == "c")
    assert dtype.is_bool == (kind == "b")
    assert dtype.is_numeric_compatible == (kind in "fiuc")
    assert dtype.is_numpy_compatible
    assert not dtype.is_quantized


# Bits of the significand after the point, and the largest exponent, as the formats define them.
# float8_e4m3fn spends its last code on a NaN: its largest number is 1.75, not 1.875, times 2**8.
FLOATS = [
    ("float16", (2 - 2**-10) * 2.0**15),
    ("float32", (2 - 2**-23) * 2.0**127),
    ("float64", (2 - 2**-52) * 2.0**1023),
    ("bfloat16", (2 - 2**-7) * 2.0**127),
    ("float8_e5m2", (2 - 2**-2) * 2.0**15),
    ("float8_e4m3fn", 1.75 * 2.0**8),
]


@pytest.mark.parametrize(("name", "largest"), FLOATS)
def test_range_of_floats(name: str, largest: float) -> None:
    assert float(get(name).max) == largest
    assert float(get(name).min) == -largest


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("int", "uint"))])
def test_range_of_integers(name: str) -> None:
    bits = int(name.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    assert (get(name).min, get(name).max) == (low, high)
    assert get(name).limits == (0, high)


@pytest.mark.parametrize("name", ["bool", "string", "complex64", "complex128"])
def test_no_range_of_other_dtypes(name: str) -> None:
    with pytest.raises(TypeError, match=f"minimum value of tf.{name}.*expected an integer"):
        _ = get(name).min
    with pytest.raises(TypeError, match=f"maximum value of tf.{name}"):
        _ = get(name).max


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("uint8", (0, 255)),
        ("int8", (0, 127)),
        ("int32", (0, 2**31 - 1)),
        ("float32", (0, 1)),
        ("bool", (False, True)),
    ],
)
def test_limits(name: str, limits: tuple[Any, Any]) -> None:
    assert get(name).limits == limits


def test_no_limits_of_strings() -> None:
    with pytest.raises(ValueError, match=r"tf\.string has no intensity limits"):
        _ = dtypes.string.limits


def test_real_dtype() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int8.real_dtype is dtypes.int8


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("half", dtypes.float16),
        ("float", dtypes.float32),
        ("double", dtypes.float64),
        (float, dtypes.float32),
        (int, dtypes.int32),
        (bool, dtypes.bool),
        (complex, dtypes.complex128),
        (str, dtypes.string),
        (bytes, dtypes.string),
        (object, dtypes.string),
        (np.str_, dtypes.string),
        (np.bytes_, dtypes.string),
        (np.dtype("U5"), dtypes.string),
        (np.dtype("S3"), dtypes.string),
        (np.dtype(">f4"), dtypes.float32),
        (np.dtype(">i8"), dtypes.int64),
        (np.longlong, dtypes.int64),
        (np.ulonglong, dtypes.uint64),
        (np.intc, dtypes.int32),
        (np.zeros(2, np.uint16), dtypes.uint16),
        (np.float64(1), dtypes.float64),
        (np.ones(1, ml_dtypes.bfloat16), dtypes.bfloat16),
    ],
)
def test_other_spellings(value: Any, dtype: DType) -> None:
    assert as_dtype(value) is dtype


def test_object_with_a_dtype() -> None:
    class Holder:
        dtype = dtypes.int8

    assert as_dtype(Holder()) is dtypes.int8


def test_aliases() -> None:
    assert dtypes.half is dtypes.float16
    assert dtypes.double is dtypes.float64


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "float33",
        "Float32",
        1.5,
        999,
        [1],
        {},
        np.floating,
        np.datetime64,
        np.dtype([("a", np.int8)]),
        np.dtype("m8[s]"),
        list,
    ],
)
def test_what_is_no_dtype_is_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError) as caught:
        as_dtype(value)
    assert repr(value) in str(caught.value)
    assert "float32" in str(caught.value)


def test_from_onnx_refuses_what_tfx_lacks() -> None:
    with pytest.raises(TypeError, match=r"element type 23 is not supported.*1 \(float32\)"):
        from_onnx(onnx.TensorProto.FLOAT4E2M1)


@pytest.mark.parametrize("name", NAMES)
def test_equality(name: str) -> None:
    dtype = get(name)
    others = [get(other) for other in NAMES if other != name]
    for same in (dtype, name, dtype.as_numpy_dtype, dtype.numpy_dtype):
        assert dtype == same
        assert same == dtype
        assert not dtype != same  # noqa: SIM202  the operator itself is tested
        assert all(other != same for other in others)
    assert len({dtype, *others}) == len(NAMES)
    assert {dtype: 1}[as_dtype(name)] == 1


@pytest.mark.parametrize("other", [None, 1, "nothing", [1], np.zeros(2, np.float32), np.floating])
def test_inequality_with_what_is_no_dtype(other: Any) -> None:
    assert (dtypes.float32 == other) is False
    assert (dtypes.float32 != other) is True


@pytest.mark.parametrize("name", NAMES)
def test_copies_are_the_same_object(name: str) -> None:
    dtype = get(name)
    assert copy.copy(dtype) is copy.deepcopy(dtype) is pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str) -> None:
    assert repr(get(name)) == f"tf.{name}"
    assert str(get(name)) == f"<dtype: '{name}'>"


def test_dtypes_do_not_change() -> None:
    with pytest.raises(AttributeError, match="cannot set 'name'"):
        dtypes.float32.name = "other"
    with pytest.raises(AttributeError, match="cannot delete 'name'"):
        del dtypes.float32.name


def test_compatibility() -> None:
    assert dtypes.float32.is_compatible_with(np.float32)
    assert not dtypes.float32.is_compatible_with("int32")
    assert dtypes.float32.is_subtype_of(dtypes.float32)
    assert not dtypes.float32.is_subtype_of(dtypes.float64)
    with pytest.raises(TypeError, match="'nothing'"):
        dtypes.float32.is_compatible_with("nothing")


@pytest.mark.parametrize(
    ("name", "number", "size"),
    [("qint8", 11, 1), ("quint8", 12, 1), ("qint32", 13, 4), ("qint16", 15, 2), ("quint16", 16, 2)],
)
def test_quantized_dtypes_are_facts(name, number, size):
    dtype = getattr(tf, name)
    assert (dtype.name, repr(dtype), str(dtype)) == (name, f"tf.{name}", f"<dtype: '{name}'>")
    assert (dtype.size, dtype.as_datatype_enum) == (size, number)
    assert tf.as_dtype(name) is tf.as_dtype(number) is getattr(tf.dtypes, name) is dtype
    assert dtype.is_quantized
    assert dtype.is_numeric
    assert not (dtype.is_integer or dtype.is_floating or dtype.is_unsigned or dtype.is_bool)
    assert dtype.base_dtype is dtype.real_dtype is pickle.loads(pickle.dumps(dtype)) is dtype
    assert dtype in tf.dtypes.QUANTIZED_DTYPES
    for limit in ("min", "max"):
        with pytest.raises(TypeError, match="quantized"):
            getattr(dtype, limit)
    with pytest.raises(ValueError, match="no intensity limits"):
        dtype.limits  # noqa: B018
    for make in (lambda: tf.constant([1], dtype), lambda: tf.cast(tf.ones([1]), dtype)):
        with pytest.raises(TypeError, match="no tensor has this dtype"):
            make()


def test_numbers_are_numeric():
    assert [d.name for d in dtypes.ALL_DTYPES if not d.is_numeric] == ["bool", "string"]


def test_names_of_what_is_no_tensor():
    assert (str(tf.resource), repr(tf.variant), tf.variant.size) == (
        "<dtype: 'resource'>",
        "tf.variant",
        0,
    )
    assert tf.as_dtype("resource") is tf.as_dtype(20) is tf.dtypes.resource
    assert not tf.variant.is_numpy_compatible and tf.resource != tf.float32
    assert [int(d) for d in (tf.float32, tf.resource, tf.variant)] == [1, 20, 21]
    for make in (lambda: tf.constant(1, tf.resource), lambda: tf.cast(1, tf.variant)):
        with pytest.raises(TypeError, match="no tensor has this dtype"):
            make()
