"""``slice`` and ``strided_slice`` against NumPy; gradients of every kind of ``Slice``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfx as tf
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.framework.guards import guard_of
from tfx.ops.array import slice as slice_ops
from tfx.testing import assert_close, check_grads

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("begin", "size"),
    [([0, 1, 2], [2, 3, 1]), ([1, 0, 4], [-1, -1, -1]), ([3, 4, 0], [0, 0, -1])],
)
def test_slice(begin, size, dtype):
    end = [None if n == -1 else b + n for b, n in zip(begin, size, strict=True)]
    expected = X[tuple(map(slice, begin, end))]
    check(lambda x: slice_ops.slice(x, begin, size), [X], expected)
    b, n = np.array(begin, dtype), np.array(size, dtype)
    check(slice_ops.slice, [X, b, n], expected)
    check(lambda x, n: slice_ops.slice(x, begin, n), [X, n], expected)
    check(lambda x, b: slice_ops.slice(x, b, size), [X, b], expected)


def test_slice_of_a_scalar():
    assert_close(slice_ops.slice(3.0, [], []), 3.0)


@pytest.mark.parametrize(
    ("begin", "size", "message"),
    [
        ([0, 1], [3, 2], r"Expected size\[0\] in \[0, 2\], but got 3"),
        ([5, 1], [-1, 2], r"Expected begin\[0\] in \[0, 2\], but got 5"),
        ([-1, 0], [1, 1], r"Expected begin\[0\] in \[0, 2\], but got -1"),
        ([0, 0], [-2, 1], r"Expected size\[0\] in \[0, 2\], but got -2"),
        ([0], [1], "Expected begin and size arguments to be 1-D tensors of size 2"),
    ],
)
def test_blocks_outside_of_the_tensor(begin, size, message):
    x = constant([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(InvalidArgumentError, match=message):
        slice_ops.slice(x, begin, size)


# strided_slice


@st.composite
def _entries(draw):
    """One entry of a strided slice: what Python would write, and its numbers and mask bits."""
    kind = draw(st.sampled_from(["range", "range", "pick", "new"]))
    if kind == "new":
        return None, (7, 7, 7), {"new_axis_mask"}
    if kind == "pick":
        index = draw(st.integers(-3, 2))
        return index, (index, 0, 1), {"shrink_axis_mask"}
    start = draw(st.none() | st.integers(-7, 7))
    stop = draw(st.none() | st.integers(-7, 7))
    step = draw(st.sampled_from([1, 2, 3, -1, -2]))
    masks = {m for m, v in (("begin_mask", start), ("end_mask", stop)) if v is None}
    return slice(start, stop, step), (start or 0, stop or 0, step), masks


@given(st.lists(_entries(), max_size=3), st.none() | st.integers(0, 3), st.booleans())
def test_strided_slice(entries, ellipsis, tensors):
    key = [e[0] for e in entries]
    numbers = [e[1] for e in entries]
    masks = [set(e[2]) for e in entries]
    if ellipsis is not None and ellipsis <= len(entries):
        key.insert(ellipsis, Ellipsis)
        numbers.insert(ellipsis, (7, 7, 1))
        masks.insert(ellipsis, {"ellipsis_mask"})
    bits = {
        name: sum(1 << i for i, m in enumerate(masks) if name in m)
        for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    }
    x = X[:, :, :3][:, :3]
    vectors = [[n[i] for n in numbers] for i in range(3)]
    if tensors:
        vectors = [constant(v, "int32") for v in vectors]
    result = slice_ops.strided_slice(x, *vectors, **bits)
    assert_close(result, x[tuple(key)])


def test_strided_slice_with_bounds_known_at_run_time():
    def f(x, begin, end):
        return slice_ops.strided_slice(x, begin, end, [1, -1], end_mask=2, shrink_axis_mask=0)

    args = [X, np.array([1, -2], np.int32), np.array([3, 0], np.int32)]
    for result in (f(*map(constant, args)), run_traced(f, *args, static=True)):
        assert_close(result, X[1:3, -2::-1])

    def g(x, begin):
        return slice_ops.strided_slice(x, begin, begin, shrink_axis_mask=3)

    args = [X, np.array([1, -1])]
    for result in (g(*map(constant, args)), run_traced(g, *args, static=True)):
        assert_close(result, X[1, -1])
    with pytest.raises(InvalidArgumentError, match="bounds of known length"):
        run_traced(g, *args)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5], [6], None, 0, 0, 0, 0, 1), "slice index 5 of dimension 0 out of bounds"),
        (([0], [1], [0]), r"strides\[0\] must be non-zero"),
        (([0], [1], [-1], 0, 0, 0, 0, 1), "only stride 1 allowed on non-range indexing"),
        (([1, 0], [2]), "Expected begin, end, and strides to be 1D equal size tensors"),
        (([0] * 4, [1] * 4), "Index out of range using input dim 3"),
        (([0, 0], [1, 1], None, 0, 0, 3), "Multiple ellipses"),
    ],
)
def test_strided_slices_that_cannot_be(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        slice_ops.strided_slice(X, *arguments)


def test_no_variable_argument():
    with pytest.raises(ValueError, match="takes no var"):
        slice_ops.strided_slice(X, [0], [1], var=3)


# Gradients

KEYS = [
    np.s_[1:, :2],
    np.s_[..., -3:-1],
    np.s_[5:],
    np.s_[::2, 1::3],
    np.s_[::-1, :, ::-1],
    np.s_[1::-1, ::-2],
    np.s_[2:0:-1, 3:1:-1, 1:3],
    np.s_[-1:-99:-1],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_gradients(key):
    check_grads(lambda x: x[key] * x[key], [X * 0.1])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_gradients_with_bounds_known_at_run_time(key):
    parts = key if isinstance(key, tuple) else (key,)
    axes = [i for i, k in enumerate(parts) if isinstance(k, slice)]
    if Ellipsis in parts:
        axes = [2]
    cuts = [k for k in parts if isinstance(k, slice)]
    far = 2**31
    starts = [(0 if (k.step or 1) > 0 else far) if k.start is None else k.start for k in cuts]
    ends = [(far if (k.step or 1) > 0 else -far) if k.stop is None else k.stop for k in cuts]
    steps = [k.step or 1 for k in cuts]

    def f(x, starts, ends, steps):
        with GradientTape() as tape:
            tape.watch(x)
            y = apply("Slice", (x, starts, ends, constant(np.array(axes)), steps))
            y = y * y
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    expected[key] = 2 * X[key]
    bounds = [np.array(v) for v in (starts, ends, steps)]
    assert_close(run_traced(f, X, *bounds), expected)
    assert_close(run_traced(f, X, *bounds, static=True), expected)


def test_the_gradient_of_a_plain_slice_is_one_node():
    x = constant(X)
    with GradientTape() as tape:
        tape.watch(x)
        y = x[1:, :2]
    assert_close(tape.gradient(y, x), np.pad(np.ones((2, 2, 5)), [(1, 0), (0, 2), (0, 0)]))


# (begin, size): of X; TensorFlow refuses all of them.
OUTSIDE = [
    ([0, 0, 0], [5, 1, 1]),
    ([2, 0, 0], [3, -1, 1]),
    ([0, 0, 0], [-2, 1, 1]),
    ([-1, 0, 0], [1, 1, 1]),
    ([0, 5, 0], [1, -1, 1]),
]


@pytest.mark.parametrize(("begin", "size"), OUTSIDE, ids=range(len(OUTSIDE)))
@pytest.mark.parametrize("known", ["", "begin", "size", "both"], ids=lambda k: k or "nothing")
def test_a_block_that_a_run_finds_outside(begin, size, known):
    begin, size = np.array(begin), np.array(size)

    def cut(x, start, length):
        start = begin if known in ("begin", "both") else start
        length = size if known in ("size", "both") else length
        return slice_ops.slice(x, start, length)

    with pytest.raises(Exception, match=r"Slice|dimension value"):
        run_traced(cut, X, begin, size)


def test_the_whole_along_an_axis_of_unknown_size_is_not_checked():
    f = tf.function(
        lambda x: tf.slice(x, [0, 1], [tf.shape(x)[0], -1]),
        autograph=False,
        input_signature=[tf.TensorSpec([None, 3])],
    )
    nodes = f.get_concrete_function().graph.graph.nodes
    assert not any(map(guard_of, nodes))
    np.testing.assert_array_equal(f(X[:, :3, 0]), X[:, 1:3, 0])
