"""Reductions of what has no elements, along axes counted from the end, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework.apply import apply
from tfx.graph.traits import operators

SHAPES = [(0, 3), (3, 0), (2, 0, 3), (0,)]
IDENTITY = {"ReduceProd": 1.0, "ReduceMax": -np.inf, "ReduceMin": np.inf}


def _reduction(op: str, axis: int, keepdims: int) -> Callable[[Any], Any]:
    axes = tf.constant([axis], dtype=tf.int64)
    return lambda x: apply(op, (x, axes), {"keepdims": keepdims})


@pytest.mark.parametrize("op", operators(lambda t: t.reduction))
@pytest.mark.parametrize("mode", ["eager", "static", "open"])
def test_shapes_and_values(op: str, mode: str) -> None:
    for shape in SHAPES:
        for axis in range(-len(shape), 0):
            for keepdims in (0, 1):
                x, run = tf.zeros(shape), _reduction(op, axis, keepdims)
                if mode == "eager":
                    y = run(x)
                elif mode == "static":
                    y = tf.function(run)(x)
                else:
                    y = tf.function(run, input_signature=[tf.TensorSpec(None)])(x)
                wanted = np.sum(np.zeros(shape), axis, keepdims=bool(keepdims))
                assert tuple(y.shape) == wanted.shape
                if op in IDENTITY or op in ("ReduceSum", "ReduceL1", "ReduceL2"):
                    np.testing.assert_array_equal(y, wanted + IDENTITY.get(op, 0.0))


def test_places_of_extremes() -> None:
    for op in ("ArgMax", "ArgMin"):
        y = apply(op, (tf.zeros([0, 3]),), {"axis": -1, "keepdims": 0})
        assert tuple(y.shape) == (0,)
        f = tf.function(lambda x, op=op: apply(op, (x,), {"axis": -1, "keepdims": 0}))
        assert tuple(f(tf.zeros([2, 0, 3])).shape) == (2, 0)


def test_sums_of_integers_stay_exact() -> None:
    big = 2**53 + 1
    x = tf.constant([[big, 0], [0, big]], dtype=tf.int64)
    f = tf.function(lambda x: tf.reduce_sum(x, -1))
    np.testing.assert_array_equal(f(x), [big, big])
    np.testing.assert_array_equal(tf.reduce_max(x, -1), [big, big])
