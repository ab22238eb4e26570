"""The one place where operators happen: eagerly, into a graph, and refused with the user's line."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError, NotFoundError, OpError
from tfx.framework import apply as module
from tfx.framework.apply import apply, apply_n, kernel_count
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor

X = tf.constant([[1.0, -2.0], [3.0, 4.0]])


def test_eager():
    np.testing.assert_array_equal(apply("Neg", (X,)), -X.numpy())
    np.testing.assert_array_equal(apply("Add", (X, X)), 2 * X.numpy())
    np.testing.assert_array_equal(apply("Softmax", (X * 0,), {"axis": 0}), np.full((2, 2), 0.5))


def test_optional_inputs_may_be_left_out():
    np.testing.assert_array_equal(apply("Clip", (X, None, tf.constant(2.0))), [[1, -2], [2, 2]])
    np.testing.assert_array_equal(apply("Clip", (X, tf.constant(2.0))), [[2, 2], [3, 4]])


def test_several_outputs():
    values, indices = apply_n("TopK", (X, int64_constant((1,))), outputs=2)
    np.testing.assert_array_equal(values, [[1.0], [4.0]])
    np.testing.assert_array_equal(indices, [[0], [1]])
    assert len(apply_n("Split", (X,), {"axis": 0, "num_outputs": 2}, outputs=2)) == 2


def test_traced_and_eager_give_the_same_numbers(rng):
    x = tf.constant(rng.normal(size=(3, 4)).astype(np.float32))
    for op in ("Exp", "Sin", "Erf", "Sigmoid"):
        traced = tf.function(lambda a, op=op: apply(op, (a,)), jit_compile=False)
        np.testing.assert_array_equal(apply(op, (x,)), traced(x))


def test_kernels_are_shared_by_operator_attributes_and_dtypes():
    apply("Elu", (X,), {"alpha": 0.25})
    before = kernel_count()
    apply("Elu", (tf.ones([7]),), {"alpha": 0.25})  # another shape
    assert kernel_count() == before
    apply("Elu", (X,), {"alpha": 0.125})
    apply("Elu", (tf.ones([2], tf.float64),), {"alpha": 0.25})
    assert kernel_count() == before + 2


def test_the_cache_of_kernels_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_kernels", type(module._kernels)())
    monkeypatch.setattr(module, "KERNEL_CACHE_SIZE", 3)
    for i in range(1, 8):
        apply("Elu", (X,), {"alpha": i / 64})
        assert kernel_count() <= 3
    np.testing.assert_array_equal(apply("Neg", (X,)), -X.numpy())


def test_in_a_graph():
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", 1, ("n", 2))
        y = apply("MatMul", (x, X))
    assert isinstance(y, SymbolicTensor)
    assert y.shape.symbolic == ("n", 2)
    (node,) = graph.graph.nodes
    assert node.op == "MatMul"
    assert node.source.file == __file__
    assert node.source.function == "test_in_a_graph"


SHAPES = r"\(float32\[2, 2\], float32\[3, 3\]\)"


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "error", "message"),
    [
        ("MatMul", (X, tf.ones([3, 3])), {}, InvalidArgumentError, f"MatMul cannot .*{SHAPES}"),
        ("Add", (X, tf.ones([3, 3])), {}, InvalidArgumentError, f"Add cannot .*{SHAPES}"),
        ("Add", (X, tf.constant(1)), {}, InvalidArgumentError, r"float32.*int32"),
        ("Softmax", (X,), {"axes": 1}, InvalidArgumentError, "no attribute 'axes'"),
        ("Cast", (X,), {}, InvalidArgumentError, "needs the attribute 'to'"),
        ("Neg", (X, X), {}, InvalidArgumentError, "takes 1 to 1 inputs"),
        ("Matmul", (X, X), {}, NotFoundError, "mean 'MatMul'"),
        ("Reshape", (X, int64_constant((3,))), {}, InvalidArgumentError, "Reshape cannot"),
    ],
    ids=lambda p: p if isinstance(p, str) else None,
)
def test_refusals(op, inputs, attrs, error, message, traced):
    with (
        using(graph=FuncGraph("f") if traced else None),
        pytest.raises(error, match=message) as caught,
    ):
        apply(op, inputs, attrs)
    assert isinstance(caught.value, OpError)


@pytest.mark.parametrize("traced", [False, True])
def test_refusals_show_the_users_line(traced):
    def model():
        return apply("MatMul", (X, tf.ones([3, 3])))

    line = model.__code__.co_firstlineno + 1
    with (
        using(graph=FuncGraph("f") if traced else None),
        pytest.raises(InvalidArgumentError, match=rf"\[test_apply\.py:{line} in model\]") as caught,
    ):
        model()
    assert caught.value.source.line == line


def test_what_only_a_kernel_can_know():
    with pytest.raises(InvalidArgumentError, match=r"Gather cannot .*float32\[2, 2\].*int64\[1\]"):
        apply("Gather", (X, int64_constant((7,))))


class _Tape:
    def __init__(self):
        self.seen = []

    def record(self, op, attrs, inputs, outputs):
        self.seen.append((op, attrs, inputs, outputs))

    def watch_variable(self, variable):
        pass


@pytest.mark.parametrize("traced", [False, True])
def test_tapes_are_told(traced):
    outer, inner = _Tape(), _Tape()
    with using(tapes=(outer, inner), graph=FuncGraph("f") if traced else None):
        y = apply("Add", (X, X))
        (z,) = apply_n("Softmax", (y,), {"axis": 0})
    assert outer.seen == inner.seen
    (first, second) = outer.seen
    assert (first[0], second[:2]) == ("Add", ("Softmax", {"axis": 0}))
    assert first[2][0] is X
    assert first[3][0] is y
    assert second[3][0] is z
