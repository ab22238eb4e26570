"""Scatters that count repeated indices right, and gathers of strings that copy all of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.convert import constant

REDUCTIONS = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "int16", "uint8"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("shape", "depth", "count"),
    [
        ((5,), 1, (7,)),
        ((5, 4), 1, (7,)),
        ((5, 4), 2, (7,)),
        ((5, 4, 3), 2, (2, 3)),
        ((2, 3, 4, 5), 3, (9,)),
        ((5, 0), 1, (3,)),
        ((5, 4), 2, (0,)),
        ((5, 4), 2, ()),
    ],
)
def test_reducing_scatter(shape, depth, count, reduction, dtype, rng):
    numpy_dtype = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    indices = np.stack([rng.integers(-n, n, count) for n in shape[:depth]], -1)
    updates = rng.integers(1, 3, count + shape[depth:]).astype(numpy_dtype)
    data = rng.integers(0, 3, shape).astype(numpy_dtype)
    expected = data.astype(np.float64)
    places = tuple(np.moveaxis(indices, -1, 0))
    REDUCTIONS[reduction].at(expected, places, updates.astype(np.float64))
    result = apply(
        "ScatterND",
        (constant(data), constant(indices), constant(updates)),
        {"reduction": reduction},
    )
    np.testing.assert_array_equal(np.asarray(result), expected.astype(numpy_dtype))


def test_no_update_is_lost(rng):
    """The kernel itself fails this in most runs of a machine with two cores."""
    count = 1_000_000
    indices = constant(rng.integers(0, 2, (count, 1)))
    updates = constant(np.ones(count, np.float32))
    for _ in range(3):
        total = apply(
            "ScatterND", (constant(np.zeros(2, np.float32)), indices, updates), {"reduction": "add"}
        )
        assert float(np.asarray(total).sum()) == count


@pytest.mark.parametrize("index", [[5, 0], [0, 4], [-6, 0], [4, -5]])
def test_a_coordinate_out_of_range_does_not_land_in_another_row(index):
    data = constant(np.zeros((5, 4), np.float32))
    with pytest.raises(InvalidArgumentError, match=r"not in \[0, |out of range"):
        apply(
            "ScatterND", (data, constant([index], "int64"), constant([1.0])), {"reduction": "add"}
        )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_of_strings(axis):
    data = np.array([f"w{i}" for i in range(24)], object).reshape(2, 3, 4)
    for indices in (np.array([1, 0, 1]), np.array(1), np.array([[0], [-1]])):
        result = apply("Gather", (constant(data), constant(indices)), {"axis": axis})
        expected = np.take(data, indices, axis)
        assert result.shape == expected.shape
        assert [s.decode() for s in result.numpy().reshape(-1)] == expected.reshape(-1).tolist()


def test_expand_to_nothing():
    def f(x):
        return apply("Neg", (apply("Expand", (apply("Abs", (x,)), constant([2, 0], "int64"))),))

    x = np.ones((2, 1), np.float32)
    assert run_traced(f, x, static=True).shape == (2, 0)
    assert run_traced(f, x).shape == (2, 0)


def test_booleans_are_reduced():
    data, indices = constant([False, False, True]), constant([0, 0, 2], "int64")
    result = apply(
        "ScatterElements", (data, indices, constant([True, False, False])), {"reduction": "max"}
    )
    assert result.numpy().tolist() == [True, False, True]
