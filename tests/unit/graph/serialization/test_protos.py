"""Tensors, types and attributes as protobufs and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx.numpy_helper
import pytest

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.graph.serialization import protos

KINDS = onnx.AttributeProto
NAMES = [
    *("float16", "float32", "float64", "bool", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("complex64", "complex128", "int4", "uint4"),
]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_tensors(name, shape, rng):
    dtype = dtypes.as_dtype(name)
    array = rng.integers(0, 2, shape).astype(dtype.as_numpy_dtype)
    proto = protos.tensor_proto(array, dtype.onnx, "t")
    assert (proto.name, tuple(proto.dims), proto.data_type) == ("t", shape, dtype.onnx)
    back = protos.tensor_array(proto)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(proto).astype(array.dtype), array)


def test_negative_four_bit_integers():
    array = np.array([-8, 7, -1], ml_dtypes.int4)
    back = protos.tensor_array(protos.tensor_proto(array, dtypes.int4.onnx))
    np.testing.assert_array_equal(back.astype(int), [-8, 7, -1])


def test_strided_arrays():
    array = np.arange(12).reshape(3, 4)[:, ::2]
    np.testing.assert_array_equal(protos.tensor_array(protos.tensor_proto(array, 7)), array)


def test_strings_are_bytes():
    proto = protos.tensor_proto(np.array([["a", b"\xff"], ["", "é"]], object), dtypes.string.onnx)
    back = protos.tensor_array(proto)
    assert back.tolist() == [[b"a", b"\xff"], [b"", "é".encode()]]


@pytest.mark.parametrize("shape", [None, (), (3,), ("n", None, 4), ("x.d0",)], ids=str)
def test_types(shape):
    assert protos.type_of(protos.type_proto(1, shape)) == (1, shape)


def test_only_tensors():
    sequence = onnx.TypeProto()
    sequence.sequence_type.elem_type.tensor_type.elem_type = 1
    with pytest.raises(InvalidArgumentError, match="the type is a sequence_type"):
        protos.type_of(sequence)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (KINDS.INT, True, 1),
        (KINDS.INT, np.int32(3), 3),
        (KINDS.FLOAT, 2, 2.0),
        (KINDS.STRING, "é", "é".encode()),
        (KINDS.INTS, (1, np.int64(2)), [1, 2]),
        (KINDS.FLOATS, [0.5], [0.5]),
        (KINDS.STRINGS, ("a", b"b"), [b"a", b"b"]),
    ],
)
def test_attributes(kind, value, expected):
    proto = protos.attribute_proto("a", value, kind)
    assert proto.type == kind
    assert onnx.helper.get_attribute_value(proto) == expected


def test_tensor_attribute():
    proto = protos.attribute_proto("value", np.arange(3), KINDS.TENSOR)
    np.testing.assert_array_equal(protos.tensor_array(proto.t), np.arange(3))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (KINDS.INT, "three", "int"),
        (KINDS.INTS, 3, "ints"),
        (KINDS.FLOAT, None, "float"),
        (KINDS.STRING, 3.5, "string"),
    ],
)
def test_wrong_attributes(kind, value, expected):
    with pytest.raises(InvalidArgumentError, match=f"Attribute 'a' got .*expected {expected}"):
        protos.attribute_proto("a", value, kind)
