from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tfx.exporters.bundle_tensors import Contents


def test_equal_constants_are_one() -> None:
    contents = Contents()
    a = np.arange(100_000.0)
    key = contents.add_constant("a", a)
    assert contents.add_constant("b", a) == key
    assert contents.add_constant("c", a.copy()) == key
    assert contents.add_constant("d", a[:]) == key
    assert list(contents.arrays) == ["a"]
    assert contents.arrays["a"] is a


@pytest.mark.parametrize(
    "other",
    [
        np.arange(100_000.0) + (np.arange(100_000) == 99_999),
        np.arange(100_000.0).reshape(10, -1),
        np.arange(100_000.0).view(np.int64),
        np.arange(100_000.0)[::-1],
    ],
    ids=["last element", "shape", "dtype", "order"],
)
def test_different_constants_are_two(other: np.ndarray) -> None:
    contents = Contents()
    contents.add_constant("a", np.arange(100_000.0))
    assert contents.add_constant("a", other) == "a_1"
    assert len(contents.arrays) == 2


def test_views_of_one_memory_with_other_strides_are_two() -> None:
    contents = Contents()
    a = np.arange(16.0).reshape(4, 4)
    assert contents.add_constant("a", a) != contents.add_constant("b", a.T)


def test_zero_and_minus_zero_are_two() -> None:
    contents = Contents()
    assert contents.add_constant("a", np.zeros(3)) != contents.add_constant("b", -np.zeros(3))


def test_nan_equals_itself() -> None:
    contents = Contents()
    assert contents.add_constant("a", np.full(3, np.nan)) == "a"
    assert contents.add_constant("b", np.full(3, np.nan)) == "a"


@pytest.mark.parametrize(
    "array",
    [np.array(["x"], object), np.zeros((0, 3)), np.array(1.0), np.ones(3, ml_dtypes.bfloat16)],
    ids=["text", "empty", "scalar", "bfloat16"],
)
def test_odd_arrays(array: np.ndarray) -> None:
    contents = Contents()
    for name in ("a", "b"):
        assert contents.arrays[contents.add_constant(name, array)] is not None


def test_constants_never_take_a_variables_name_or_place() -> None:
    contents = Contents()
    array = np.arange(10_000.0)
    contents.add_variable("constants/x", array)
    assert contents.add_constant("constants/x", array) == "constants/x_1"
