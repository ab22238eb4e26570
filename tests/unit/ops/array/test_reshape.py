"""``reshape`` and its relatives against NumPy; what is known of shapes while tracing."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.variable import Variable
from tfx.graph.passes.pipeline import prepare
from tfx.ops.array import shape as shape_ops
from tfx.ops.array.reshape import broadcast_to, expand_dims, reshape, squeeze
from tfx.testing import assert_close, check_grads

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def _graph(*shapes):
    graph = FuncGraph("f")
    with using(graph=graph):
        made = [graph.add_argument(f"x{i}", dtypes.float32.onnx, s) for i, s in enumerate(shapes)]
    return graph, *made


@pytest.mark.parametrize(
    "shape", [(24,), (-1,), (4, 6), (2, -1), (3, 2, -1, 1), [np.int64(2), 12], (1, 24)], ids=str
)
def test_reshape(shape):
    expected = X.reshape(shape)
    check(lambda x: reshape(x, shape), [X], expected)
    check(reshape, [X, np.array(shape, np.int32)], expected)
    check_grads(lambda x: reshape(x, shape) ** 2.0, [X + 1])


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((0, 3), (3, 0), (3, 0)),
        ((0, 3), (-1,), (0,)),
        ((2, 0, 3), (0, -1), (0, 6)),
        ((0,), (0, 5), (0, 5)),
        ((), (1, 1), (1, 1)),
        ((1,), (), ()),
    ],
)
def test_reshape_of_nothing(shape, target, expected):
    x = np.zeros(shape, np.float32)
    assert reshape(x, target).shape == expected
    result = run_traced(lambda x: reshape(x, target), x, static=True)
    assert result.shape == expected


def test_shapes_may_mix_numbers_and_tensors():
    two = constant(2)
    assert reshape(X, [two, 12]).shape == (2, 12)
    assert reshape(X, [two, constant(-1, "int64")]).shape == (2, 12)
    assert reshape(X, TensorShape([4, 6])).shape == (4, 6)
    assert reshape(X, 24).shape == (24,)
    assert reshape(3.0, []).shape == ()
    assert reshape(X, Variable([6, 4])).shape == (6, 4)


def test_the_usual_dynamic_reshape_is_one_node():
    def f(x):
        return reshape(x, [shape_ops.shape(x)[0], -1])

    graph, x = _graph(("batch", 3, 4))
    with using(graph=graph):
        y = f(x)
    assert y.shape.symbolic == ("batch", 12)
    graph.graph.outputs = [graph.value_of(y)]
    assert [n.op for n in prepare(graph.graph).nodes] == ["Reshape"]
    check(f, [X], X.reshape(2, -1))
    assert f(constant(X[:0])).shape == (0, 12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: reshape(x, [shape_ops.shape(x)[1], shape_ops.shape(x)[0], -1]),
        lambda x: reshape(x, [-1, shape_ops.shape(x)[2]]),
        lambda x: reshape(x, [shape_ops.shape(x)[0] * shape_ops.shape(x)[1], -1]),
        lambda x: reshape(x, shape_ops.shape(x)),
        lambda x: reshape(x, [shape_ops.size(x)]),
        lambda x: reshape(x, [shape_ops.shape(x, "int64")[0], 2, -1]),
    ],
    ids=range(6),
)
def test_dynamic_reshapes(f):
    expected = np.asarray(f(constant(X)))
    check(f, [X], expected)


def test_a_wrong_dynamic_dimension_is_an_error():
    def f(x, y):
        return reshape(x, [shape_ops.shape(y)[0], 12])

    check(f, [X, X[:, 0]], X.reshape(2, 12))
    with pytest.raises(InvalidArgumentError):
        run_traced(f, X, X[:1])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([4, 7], "tensor with 24 values, but the requested shape has 28"),
        ([5, -1], "tensor with 24 values, but the requested shape requires a multiple of 5"),
        ([-1, -1], "Only one input size may be -1, not both 0 and 1"),
        ([24, -2], "Size 1 must be non-negative, not -2"),
        ([2.0, 12], "Value for attr 'Tshape' of float"),
        (constant([2.0, 12.0]), "Value for attr 'Tshape' of float32"),
    ],
    ids=str,
)
def test_bad_shapes(shape, message):
    with pytest.raises(InvalidArgumentError, match=message):
        reshape(X, shape)
    with pytest.raises(InvalidArgumentError, match=message):
        run_traced(lambda x: reshape(x, shape), X, static=True)


def test_none_is_no_dimension():
    with pytest.raises(ValueError, match="dimension of None; use -1"):
        reshape(X, [None, 4])


# expand_dims and squeeze


@pytest.mark.parametrize("axis", [0, 1, 3, -1, -4, [0], constant(2), np.int64(2)], ids=str)
def test_expand_dims(axis):
    where = int(np.asarray(axis).reshape(-1)[0])
    check(lambda x: expand_dims(x, axis), [X], np.expand_dims(X, where))
    check_grads(lambda x: expand_dims(x, axis) ** 2.0, [X + 1])


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (5, "Tried to expand dim index 5 for tensor with 3 dimensions"),
        (-5, "Tried to expand dim index -5"),
        ([0, 1], "'dim' must be a tensor with a single value"),
    ],
)
def test_bad_axes_of_expand_dims(axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        expand_dims(X, axis)


S = np.arange(6, dtype=np.float32).reshape(1, 2, 1, 3, 1)


@pytest.mark.parametrize("axis", [0, -1, [0, 2], [-1, 0], (4,), constant([2, 4])], ids=str)
def test_squeeze(axis):
    axes = tuple(np.asarray(axis).reshape(-1).tolist())
    check(lambda x: squeeze(x, axis), [S], np.squeeze(S, axes))
    check_grads(lambda x: squeeze(x, axis) ** 2.0, [S + 1])


@pytest.mark.parametrize("axis", [None, []])
def test_squeeze_all(axis):
    check(lambda x: squeeze(x, axis), [S], np.squeeze(S))
    check_grads(lambda x: squeeze(x, axis) ** 2.0, [S + 1])
    assert_close(squeeze(X), X)


def test_squeeze_of_unknown_shape_has_a_gradient():
    from tfx.autodiff.tape import GradientTape

    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = squeeze(x) * 2.0 + squeeze(expand_dims(x, 1), [1, 2]) * 0.0
        return tape.gradient(y, x)

    x = np.arange(2, dtype=np.float32).reshape(2, 1)
    check(f, [x], np.full_like(x, 2))


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (1, r"Can not squeeze dim\[1\], expected a dimension of 1, got 2"),
        (5, "Tried to squeeze dim index 5 for tensor with 5 dimensions"),
    ],
)
def test_bad_axes_of_squeeze(axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        squeeze(S, axis)


def test_squeeze_at_run_time():
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda x: squeeze(x, 1), S)


# broadcast_to


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((), (2, 3)),
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((1, 3), (0, 3)),
        ((2, 3), (2, 3)),
        ((2, 1, 1), (4, 2, 1, 3)),
    ],
)
def test_broadcast_to(shape, target):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    expected = np.broadcast_to(x, target)
    check(lambda x: broadcast_to(x, target), [x], expected)
    check(broadcast_to, [x, np.array(target, np.int32)], expected)
    check_grads(lambda x: broadcast_to(x, target) ** 2.0, [x + 1])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([1, 3], r"Unable to broadcast tensor of shape \[2,3\] to tensor of shape \[1, 3\]"),
        ([3], r"Rank of input \(2\) must be no greater than rank of output shape \(1\)"),
        ([-1, 3], "Dimension -1 must be >= 0"),
    ],
)
def test_bad_broadcasts(target, message):
    with pytest.raises(InvalidArgumentError, match=message):
        broadcast_to(X[:, :, 0], target)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_lists_of_sizes_may_begin_with_a_float_tensor(traced):
    import tfx as tf

    two = tf.constant(2.0)
    x = tf.constant([[1, 2, 3, 4]])

    def sizes():
        return (
            tf.reshape(x, [two, 2]),
            tf.tile(x, [1, two]),
            tf.broadcast_to(1, [two, 1]),
            tf.slice(x, [0, 0], [1, two]),
            tf.zeros([two, 1]),
            tf.fill([1, two], 0.0),
        )

    found = (tf.function(sizes) if traced else sizes)()
    assert [y.shape.as_list() for y in found] == [[2, 2], [1, 8], [2, 1], [1, 2], [2, 1], [1, 2]]
    for wrong in (two, [two, 1.5], tf.constant([2.0, 2.0])):
        with pytest.raises((InvalidArgumentError, TypeError)):
            tf.reshape(x, wrong)
