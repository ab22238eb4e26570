"""Memory shared with ORT values: no copy, no dangling, no way to write where nobody may."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tfx.core.errors import UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.tensor import from_array
from tfx.runtime.memory import borrow, hand_over, lend
from tfx.runtime.values import from_numpy, to_numpy

SHARED = ["float16", "float32", "float64", "int8", "int32", "uint64", "bool", ml_dtypes.bfloat16]
COPIED = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


class Owner:
    """Memory whose end can be seen: an array cannot be referred to weakly with its base."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


@pytest.mark.parametrize("dtype", SHARED + COPIED, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_values_come_back(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array.flags.writeable = False
    for out in (to_numpy(borrow(array)), hand_over(from_numpy(array))):
        assert out.dtype == array.dtype
        np.testing.assert_array_equal(out, array)


@pytest.mark.parametrize("dtype", SHARED, ids=lambda d: np.dtype(d).name)
def test_read_only_memory_is_shared_and_kept_alive(dtype: Any) -> None:
    owner = Owner(np.ones(16, np.uint8))
    array = np.asarray(owner).view(dtype)
    array.flags.writeable = False
    alive = weakref.ref(owner)
    value = borrow(array)
    assert value.data_ptr() == array.ctypes.data
    del array, owner
    gc.collect()
    assert alive() is not None
    del value
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.arange(3, dtype=">f4"),
        np.frombuffer(b"\0" * 1 + np.arange(3, dtype=np.float32).tobytes(), np.float32, 3, 1),
    ],
    ids=["strides", "byte order", "alignment"],
)
def test_memory_that_cannot_be_shared_is_copied(array: np.ndarray[Any, Any]) -> None:
    value = borrow(array)
    assert value.data_ptr() != array.ctypes.data
    np.testing.assert_array_equal(to_numpy(value), array)


def test_results_can_be_written_and_outlive_their_value() -> None:
    for dtype in (np.float32, ml_dtypes.bfloat16):
        value = from_numpy(np.ones(4, dtype))
        out = hand_over(value)
        del value
        gc.collect()
        out += out
        assert out.tolist() == [2] * 4


def test_strings() -> None:
    array = np.array([["a", "é"], ["", "x"]], object)
    assert hand_over(borrow(array)).tolist() == array.tolist()


def test_bytes_that_are_no_text_are_an_error_and_not_a_crash() -> None:
    value = borrow(np.array([b"\xff"], object))
    assert hand_over(value).tolist() == ["\udcff"]
    x = from_array(np.array([b"\xff"], object))
    with pytest.raises(UnimplementedError, match="not UTF-8"):
        hand_over(apply("StringConcat", (x, x))._raw)  # type: ignore[attr-defined]


def test_complex_numbers_share_memory() -> None:
    array = np.arange(3) * np.complex64(1 + 2j)
    value = borrow(array)
    assert value.data_ptr() == array.ctypes.data
    out = hand_over(value)
    assert out.tolist() == array.tolist()
    with pytest.raises(ValueError, match="read-only"):
        to_numpy(value)[0] = 0


def test_four_bits_are_unpacked_and_lent() -> None:
    array = np.array([[-8, 7, 3], [0, -1, 5]], ml_dtypes.int4)
    value = borrow(array)
    out = hand_over(value)
    out[0, 0] = 1  # its own memory
    assert to_numpy(value).tolist() == array.tolist()
    alias, owner = lend(value)
    assert (alias.shape(), alias.element_type()) == ([2, 3], value.element_type())
    assert to_numpy(alias).tolist() == array.tolist()
    del owner
