"""Reductions over both ends as two: the same numbers, and only where they are quicker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core import dtypes
from tfx.function.execution.plan import Plan
from tfx.graph.kernels.cuda_forms import use_cuda_forms
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.testing import assert_close

OPERATORS = ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSumExp"]


def split(op: str, array: Any, axes: Any, shape: Any, **attrs: Any) -> list[tuple[int, ...]]:
    """The axes of the reductions that there are afterwards; results are compared."""
    function = tf.function(lambda x: getattr(tf.raw, op)(x, tf.constant(axes, tf.int64), **attrs))
    spec = tf.TensorSpec(shape, dtypes.as_dtype(array.dtype))
    graph = function.get_concrete_function(spec).graph.graph
    other = remove_dead_nodes(use_cuda_forms(graph))
    found, expected = (Plan(g).run_tensors([tf.constant(array)])[0] for g in (other, graph))
    assert found.shape == expected.shape
    assert_close(found, expected, rtol=1e-5)
    reductions = [node for node in other.nodes if node.op == op]
    return [tuple(node.inputs[1].const.tolist()) for node in reductions]


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", OPERATORS)
def test_both_ends(op: str, keepdims: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 3, 5, 6)).astype("float32")
    for axes in ([0, 2, 3], [-1, 0, -2]):
        for shape in (x.shape, [None, 3, None, None]):
            assert split(op, x, axes, shape, keepdims=keepdims) == [(2, 3), (0,)]
    assert split(op, x, [0, 1, 3], x.shape, keepdims=keepdims) == [(3,), (0, 1)]


@pytest.mark.parametrize("axes", [[0], [2, 3], [0, 1], [1, 2], [0, 2], [1], [0, 1, 2, 3]])
def test_what_stays(axes: Any, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 3, 5, 6)).astype("float32")
    assert split("ReduceSum", x, axes, x.shape) == [tuple(axes)]


def test_integers_and_unknown_ranks_stay(rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (4, 3, 5))
    assert split("ReduceSum", x, [0, 2], x.shape) == [(0, 2)]
    assert split("ReduceSum", x.astype("float32"), [0, 2], None) == [(0, 2)]


def test_nan_and_nothing(rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 3, 5)).astype("float32")
    x[1, 1, 1] = np.nan
    split("ReduceSum", x, [0, 2], [None, 3, None])
    split("ReduceSum", x[:0], [0, 2], [None, 3, None])
