"""Arguments to arrays: what is taken, what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.bundle.manifest import TensorInfo
from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.loaders.convert import to_array


def convert(value: object, dtype: str, shape: Any = None) -> np.ndarray[Any, Any]:
    return to_array(value, TensorInfo(dtype, shape), "it")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, "float32", np.float32(1)),
        (1.5, "bfloat16", ml_dtypes.bfloat16(1.5)),
        ([[1, 2], [3, 4]], "int8", np.array([[1, 2], [3, 4]], np.int8)),
        ((1, 2.5), "float64", np.array([1, 2.5])),
        ([True, False], "bool", np.array([True, False])),
        (255, "uint8", np.uint8(255)),
        (2**64 - 1, "uint64", np.uint64(2**64 - 1)),
        (-(2**63), "int64", np.int64(-(2**63))),
        (2**70, "float32", np.float32(2**70)),
        (float("inf"), "float16", np.float16("inf")),
        ([], "int32", np.zeros(0, np.int32)),
        ([[], []], "float32", np.zeros((2, 0), np.float32)),
        (1, "complex64", np.complex64(1)),
        (7, "int4", ml_dtypes.int4(7)),
    ],
)
def test_python_values_take_the_dtype(value: object, dtype: str, expected: Any) -> None:
    array = convert(value, dtype)
    assert array.dtype == dtypes.as_dtype(dtype).numpy_dtype
    np.testing.assert_array_equal(array.astype(np.complex128), np.asarray(expected, np.complex128))


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (1.5, "int32", "it is 1.5, expected int32; Python values are converted only where nothing"),
        (2.0, "int32", "it is 2.0, expected int32"),
        (True, "int32", "it is True, expected int32"),
        (True, "float32", "it is True, expected float32"),
        (1, "bool", "it is 1, expected bool"),
        ("1", "float32", "it is '1', expected float32"),
        (None, "float32", "it is None, expected float32"),
        ([1, None], "int32", "expected int32"),
        (1j, "float32", "expected float32"),
        (300, "uint8", "it has the number 300, expected uint8, which holds 0 to 255"),
        ([1, -1], "uint8", "it has the number -1, expected uint8"),
        (2**64, "int64", "it has the number 18446744073709551616, which int64 does not hold"),
        (1e300, "float32", "it has numbers beyond the greatest that float32 holds"),
        (8, "int4", "it has the number 8, expected int4, which holds -8 to 7"),
        ([[1], [1, 2]], "int32", "lists beside each other must have equal lengths"),
        ([["a"], ["b", "c"]], "string", "lists beside each other must have equal lengths"),
        ({"a": 1}, "int32", "an object of type dict that is no array of numbers"),
        (1, "string", "it has the element 1 of type int, expected str or bytes for string"),
        (["a", 1], "string", "it has the element 1 of type int"),
    ],
)
def test_python_values_are_refused(value: object, dtype: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        convert(value, dtype)
    assert message in str(caught.value)


@pytest.mark.parametrize("dtype", [d.name for d in dtypes.ALL_DTYPES if d.name != "string"])
def test_an_array_of_the_dtype_is_taken_as_it_is(dtype: str) -> None:
    array = np.zeros((2, 3), dtypes.as_dtype(dtype).numpy_dtype)
    assert convert(array, dtype) is array


@pytest.mark.parametrize("value", [np.float64(1), np.ones(2), [np.float64(1)], [np.ones(2)]])
def test_an_array_of_another_dtype_is_refused(value: object) -> None:
    with pytest.raises(
        DTypeMismatchError, match=r"it is float64\[.*convert it with .astype\('floa"
    ):
        convert(value, "float32")


def test_strings_in_all_their_forms() -> None:
    for value in (["a", "bé"], np.array(["a", "bé"]), np.array(["a", "bé"], object)):
        assert convert(value, "string").tolist() == ["a", "bé"]
    assert convert(b"\xff", "string").tolist() == b"\xff"
    with pytest.raises(DTypeMismatchError, match=r"it is string\[1\], expected float32"):
        convert(np.array(["a"]), "float32")


def test_bytes_without_a_type_are_taken_for_what_numpy_cannot_name() -> None:
    half = np.array([1, 2.5], ml_dtypes.bfloat16)
    array = convert(half.view("V2"), "bfloat16")
    assert array.tolist() == half.tolist()
    with pytest.raises(DTypeMismatchError):
        convert(half.view("V2"), "float16")


def test_anything_with_an_array_or_dlpack_is_an_array() -> None:
    class Arrayish:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
            return np.ones(2, np.float32)

    class Capsule:
        def __init__(self) -> None:
            self._array = np.ones(2, np.float32)

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self._array.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self._array.__dlpack_device__()

    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
            raise RuntimeError("on the GPU")

    assert convert(Arrayish(), "float32").tolist() == [1, 1]
    assert convert(Capsule(), "float32").tolist() == [1, 1]
    with pytest.raises(InvalidArgumentError, match=r"a Broken that NumPy cannot read \(on the GPU"):
        convert(Broken(), "float32")


@pytest.mark.parametrize(
    ("shape", "wanted", "hint"),
    [
        ((4,), ("batch", 4), "add the first dimension: value[None]"),
        ((3,), ("batch", 4), "it has 1 dimensions instead of 2"),
        ((2, 5), ("batch", 4), "dimension 1 is 5 instead of 4"),
        ((1,), (), "it has 1 dimensions instead of 0"),
    ],
)
def test_another_shape_is_refused(shape: Any, wanted: Any, hint: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        convert(np.zeros(shape, np.float32), "float32", wanted)
    assert hint in str(caught.value)
    assert f"float32[{', '.join(map(str, wanted))}]" in str(caught.value)


@given(
    st.lists(st.integers(-(2**40), 2**40)), st.sampled_from(["int8", "uint16", "int32", "int64"])
)
def test_integers_arrive_or_are_refused(values: list[int], dtype: str) -> None:
    info = np.iinfo(dtype)
    fits = all(info.min <= v <= info.max for v in values)
    try:
        array = convert(values, dtype)
    except InvalidArgumentError:
        assert not fits
    else:
        assert fits
        assert array.tolist() == values
