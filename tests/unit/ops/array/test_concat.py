"""``concat``, ``stack``, ``split`` and ``unstack`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.variable import Variable
from tfx.ops.array.concat import concat, split, stack, unstack
from tfx.testing import assert_close, check_grads

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_concat(count, axis):
    parts = [np.take(X, range(i + 1), axis) + i for i in range(min(count, X.shape[axis]))]
    check(lambda *p: concat(p, axis), parts, np.concatenate(parts, axis))
    check_grads(lambda *p: concat(p, axis) ** 2.0, [p + 1 for p in parts])


def test_concat_with_empty_parts():
    parts = [X[:, :0], X, X[:, :0]]
    check(lambda *p: concat(p, 1), parts, X)
    check_grads(lambda *p: concat(p, 1) ** 2.0, parts)


def test_concat_takes_the_dtype_of_the_first_tensor():
    assert concat([[1], constant([2.0], "float64")], 0).dtype == "float64"
    assert_close(concat([Variable([1.0]), [2]], constant(0)), [1.0, 2.0])
    assert_close(concat(constant(X), 0), X)
    assert_close(concat([["a"], ["b"]], 0).numpy().tolist(), [b"a", b"b"])


def test_gradient_of_unknown_shape():
    def f(x, y):
        with GradientTape() as tape:
            tape.watch([x, y])
            z = concat([x, y, x], -1)
            z = z * z
        return tape.gradient(z, [x, y])

    x, y = X, X[:, :, :2]
    check(f, [x, y], (4 * x, 2 * y))


@pytest.mark.parametrize(
    ("values", "axis", "message"),
    [
        (
            [[[1, 2]], [[1, 2, 3]]],
            0,
            r"Dimension 1 in both shapes must be equal: shape\[0\] = \[1,2\] vs. shape\[1\]",
        ),
        ([[1], [[1]]], 0, "Ranks of all input tensors should match"),
        ([1, 2], 0, r"Can't concatenate scalars \(use tfx.stack instead\)"),
        ([[1], [2]], 3, r"Expected dimension in the range \[-1, 1\), but got 3"),
        ([constant([1]), constant([1.0])], 0, "cannot compute ConcatV2 as input #1"),
    ],
)
def test_bad_concats(values, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        concat(values, axis)


def test_values_that_do_not_fit():
    with pytest.raises(TypeError, match="Cannot convert"):
        concat([constant([1]), [1.5]], 0)
    with pytest.raises(ValueError, match="at least one tensor"):
        concat([], 0)


# stack


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -4])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_stack(count, axis):
    parts = [X + i for i in range(count)]
    check(lambda *p: stack(p, axis), parts, np.stack(parts, axis))
    check_grads(lambda *p: stack(p, axis) ** 2.0, [p + 1 for p in parts])


def test_stack_of_scalars_and_of_nothing():
    check(lambda *p: stack(p), [np.float32(i) for i in range(4)], np.arange(4, dtype=np.float32))
    assert stack([1, 2.5]).dtype == "float32"
    assert stack([]).shape == (0,)
    assert_close(stack([X[:0]] * 3, 1), np.stack([X[:0]] * 3, 1))
    assert_close(stack(constant(X), axis=1), np.stack(X, 1))
    assert_close(stack([1, constant(2.0)]), [1.0, 2.0])


def test_many_parts_cost_two_nodes():
    graph = FuncGraph("f")
    with using(graph=graph):
        parts = [graph.add_argument(f"x{i}", dtypes.float32.onnx, (2, 3)) for i in range(5)]
        y = stack(parts, axis=1)
    assert [n.op for n in graph.graph.nodes] == ["Concat", "Reshape"]
    assert y.shape == (2, 5, 3)


def test_bad_stacks():
    with pytest.raises(InvalidArgumentError, match=r"values\[0\].shape = \[2,3,4\] != values\[1\]"):
        stack([constant(X), X[0]])
    with pytest.raises(ValueError, match=r"`axis` = 4 not in range \[-4, 4\)"):
        stack([constant(X), X], 4)
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda a, b: stack([a, b]), X, X[:1])


# unstack and split


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack(axis):
    expected = [np.take(X, i, axis) for i in range(X.shape[axis])]
    for result in (
        unstack(X, axis=axis),
        run_traced(lambda x: unstack(x, axis=axis), X, static=True),
        run_traced(lambda x: unstack(x, num=X.shape[axis], axis=axis), X),
    ):
        for a, b in zip(result, expected, strict=True):
            assert_close(a, b)
    check_grads(lambda x: unstack(x, axis=axis)[1] ** 2.0, [X + 1])


def test_unstack_of_one_and_of_none():
    assert [x.shape for x in unstack(X[:1])] == [(3, 4)]
    assert unstack(X[:0]) == []


def test_bad_unstacks():
    with pytest.raises(ValueError, match=r"`axis` = 3 not in range \[-3, 3\)"):
        unstack(X, axis=3)
    with pytest.raises(InvalidArgumentError, match="Input shape axis 0 must equal 3"):
        unstack(X, num=3)
    with pytest.raises(ValueError, match="Cannot infer argument `num` from shape"):
        run_traced(unstack, X)
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda x: unstack(x, num=3), X)


SPLITS = [
    (2, -1),
    (3, 1),
    (1, 0),
    ([1, 3], 2),
    ([2, -1], 1),
    ([0, 2], 0),
    ([-1], 1),
    ([1, 1, 2], -1),
]


@pytest.mark.parametrize(("sizes", "axis"), SPLITS)
def test_split(sizes, axis):
    if isinstance(sizes, int):
        expected = np.split(X, sizes, axis)
    else:
        rest = X.shape[axis] - sum(n for n in sizes if n >= 0)
        exact = [rest if n == -1 else n for n in sizes]
        expected = np.split(X, np.cumsum(exact)[:-1], axis)
    check(lambda x: split(x, sizes, axis), [X], tuple(expected))
    check_grads(lambda x: [p**2.0 for p in split(x, sizes, axis)], [X + 1])
    if not isinstance(sizes, int):
        given = np.array(sizes, np.int32)
        for result in (
            split(X, given, axis),
            run_traced(lambda x, n: split(x, n, axis, num=len(sizes)), X, given),
        ):
            for a, b in zip(result, expected, strict=True):
                assert_close(a, b)


def test_parts_that_are_not_used_have_zero_gradients():
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = split(x, 3, axis=1)[1] * 2.0
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    expected[:, 1] = 2
    check(f, [X], expected)


@pytest.mark.parametrize(
    ("sizes", "axis", "message"),
    [
        (2, 1, r"should evenly divide the split dimension, but got split_dim 1 \(size = 3\)"),
        ([1, 1], 1, "Determined shape must either match input shape along split_dim exactly"),
        ([-1, -1], 1, "Determined shape"),
        ([4, -1], 1, "Determined shape"),
        (2, 3, r"range \[-3, 3\), but got 3"),
        (0, 0, "must be at least minimum 1"),
    ],
)
def test_bad_splits(sizes, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        split(X, sizes, axis)


def test_other_bad_splits():
    with pytest.raises(InvalidArgumentError, match="num=3"):
        split(X, [1, 2], 1, num=3)
    with pytest.raises(ValueError, match="Rank-0 tensors are not supported"):
        split(X, constant(3), 1)
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda x: split(x, 2, axis=1), X)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint16", "int64", "bool"]
)
def test_dtypes(dtype):
    x = constant(X % 2 == 0 if dtype == "bool" else X, dtype)
    a = np.asarray(x)
    assert_close(concat([x, x], 1), np.concatenate([a, a], 1))
    assert_close(stack([x, x, x], 1), np.stack([a, a, a], 1))
    assert_close(split(x, 3, 1)[1], a[:, 1:2])


def test_stack_converts_each_part_that_a_program_has_registered() -> None:
    class Parameter:
        def __init__(self, value: float) -> None:
            self.value = value

    tf.register_tensor_conversion_function(
        Parameter, lambda p, dtype=None, name=None, as_ref=False: tf.constant([p.value, 1.0])
    )
    assert tf.stack([Parameter(2.0), Parameter(3.0)]).numpy().tolist() == [[2.0, 1.0], [3.0, 1.0]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.stack([[1], [2, 3]])


def test_stacking_a_tensor_is_the_tensor() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def stacked(x: tf.Tensor) -> tf.Tensor:
        return tf.stack(x)

    assert stacked([[1.0, 2.0]]).numpy().tolist() == [[1, 2]]
    assert stacked(tf.zeros([0, 2])).shape == [0, 2]
