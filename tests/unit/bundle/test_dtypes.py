"""The table of element types against ONNX's and NumPy's own."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from tfx.bundle import bundle_pb2 as pb
from tfx.bundle.dtypes import BY_NAME, BY_NUMBER, element_type, from_numpy
from tfx.core.errors import BundleError


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_numbers_are_those_of_onnx_and_of_the_proto(name: str) -> None:
    row = BY_NAME[name]
    assert pb.DType.Value(f"DTYPE_{name.upper()}") == row.number
    if name not in ("string", "int4", "uint4"):
        assert onnx.helper.tensor_dtype_to_np_dtype(row.number) == row.numpy
        assert row.bits == row.numpy.itemsize * 8


def test_every_dtype_of_the_proto_has_a_row() -> None:
    assert set(pb.DType.values()) - {0} == set(BY_NUMBER)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("<f4", "float32"),
        (">f4", "float32"),
        (">i8", "int64"),
        ("?", "bool"),
        ("S5", "string"),
        ("U5", "string"),
        (object, "string"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (ml_dtypes.int4, "int4"),
    ],
)
def test_numpy_dtypes_of_any_byte_order_are_found(dtype: object, name: str) -> None:
    row = from_numpy(np.dtype(dtype))  # type: ignore[call-overload]
    assert row is not None
    assert row.name == name


@pytest.mark.parametrize("dtype", ["M8[s]", "f16", "V4", [("a", "f4")]])
def test_other_numpy_dtypes_are_not(dtype: object) -> None:
    assert from_numpy(np.dtype(dtype)) is None  # type: ignore[call-overload]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BundleError, match=r"here: dtype is 'float', expected one of .*float32"):
        element_type("float", "here")
