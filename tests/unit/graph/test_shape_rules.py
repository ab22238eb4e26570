"""Names of sizes in graphs: random programs, run with several sizes, never lie."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf

SIZES = st.integers(1, 6)
STEPS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 30), st.integers(0, 30), st.integers(-3, 3)),
    min_size=1,
    max_size=9,
)


def _apply(kind: int, x: tf.Tensor, y: tf.Tensor, n: int) -> tf.Tensor:
    """One step of a program on matrices; not all fit all matrices."""
    size = abs(n) + 1
    image = x[tf.newaxis, :, :, tf.newaxis]
    edge = "SAME" if n > 0 else "VALID"
    window = tf.ones([size, size, 1, 1])
    return [
        lambda: x[n:],
        lambda: x[:n, ::size],
        lambda: x[: tf.shape(y)[0]],
        lambda: tf.concat([x, x[:, :1]], 1),
        lambda: tf.concat([x, y[:, : tf.shape(x)[1]]], 0),
        lambda: tf.pad(x, [[abs(n), 0], [0, 1]]),
        lambda: tf.reshape(x, [-1, size]),
        lambda: tf.reshape(x, [tf.shape(x)[1], -1]),
        lambda: x + y,
        lambda: tf.matmul(x, y, transpose_b=True),
        lambda: tf.tile(x, [size, 1]),
        lambda: tf.nn.conv2d(image, window, 1 + size % 3, edge)[0, ..., 0],
        lambda: tf.nn.max_pool2d(image, size, 1 + size % 2, edge)[0, ..., 0],
    ][kind]()


@settings(max_examples=80, deadline=None)
@given(steps=STEPS, sizes=st.lists(st.tuples(SIZES, SIZES, SIZES, SIZES), min_size=2, max_size=4))
def test_sizes_of_one_name_are_equal_whenever_a_program_runs(steps, sizes):
    spec = tf.TensorSpec([None, None])
    names: list[tuple[int | str | None, ...]] = []

    @tf.function(input_signature=[spec, spec])
    def f(a: tf.Tensor, b: tf.Tensor) -> list[tf.Tensor]:
        made = [a, b]
        for kind, i, j, n in steps:
            try:
                made.append(_apply(kind, made[i % len(made)], made[j % len(made)], n))
            except (ValueError, tf.errors.InvalidArgumentError):
                continue
        names[:] = [x._symbol.shape for x in made]
        return [tf.identity(x) for x in made]

    try:
        f.get_concrete_function()
    except (ValueError, tf.errors.InvalidArgumentError):
        return
    for m, n, p, q in sizes:
        try:
            results = f(tf.ones([m, n]), tf.ones([p, q]))
        except (ValueError, tf.errors.InvalidArgumentError):
            continue
        known: dict[str, int] = {}
        for shape, x in zip(names, results, strict=True):
            for dim, size in zip(shape, x.shape, strict=True):
                assert (
                    dim is None
                    or (known.setdefault(dim, size) if isinstance(dim, str) else dim) == size
                ), (dim, size, known)


def test_gradients_of_sliced_sequences_sum_over_no_axes_that_a_run_finds():
    """Of a decoder's kind: tokens cut at an end, and positions from a table."""
    table = tf.Variable(tf.ones([512, 8]))
    weights = tf.Variable(tf.ones([8, 8]))

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def step(tokens: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            inputs = tf.one_hot(tokens[:, :-1], 8)
            x = inputs + table[: tf.shape(inputs)[1]]
            flat = tf.reshape(x, [-1, 8]) @ weights
            x = x * tf.nn.sigmoid(tf.reshape(flat, tf.shape(x)))
            loss = tf.reduce_mean(x * tf.one_hot(tokens[:, 1:], 8))
        return tape.gradient(loss, [table, weights])

    graph = step.get_concrete_function().graph
    sums = [op for op in graph.get_operations() if op.type == "ReduceSum"]
    assert sums
    assert all(tf.get_static_value(op.inputs[1]) is not None for op in sums if len(op.inputs) > 1)
    tokens = np.random.default_rng(0).integers(0, 8, (2, 5)).astype(np.int32)
    assert [g.shape for g in step(tokens)] == [(512, 8), (8, 8)]


def test_functions_do_not_take_over_what_one_call_knows():
    """A function traced for a tensor and a slice of it, called with unrelated tensors."""

    @tf.function
    def inner(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(y)
            total = tf.reduce_sum(x[1:] * y)
        return tape.gradient(total, y)

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def outer(x: tf.Tensor, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return inner(x, x[1:]), inner(x, z)

    @tf.function(input_signature=[tf.TensorSpec(["n"]), tf.TensorSpec([None])])
    def around(x: tf.Tensor, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        @tf.function
        def capturing(y: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(y)
                total = tf.reduce_sum(x * y)
            return tape.gradient(total, y)

        return capturing(x), capturing(z)

    first, second = around(tf.constant([1.0, 2.0, 3.0]), tf.constant([5.0]))
    np.testing.assert_array_equal(first, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(second, [6.0])
    first, second = outer(tf.constant([1.0, 2.0, 3.0]), tf.constant([5.0]))
    np.testing.assert_array_equal(first, [2.0, 3.0])
    np.testing.assert_array_equal(second, [5.0])


def test_shapes_of_one_name_are_asked_for_once():
    """Else a tensor of the forward pass is kept until the backward pass asks for its shape."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x: tf.Tensor) -> list[tf.Tensor]:
        y, z = tf.exp(x)[:, 1:], tf.tanh(x)[:, :-1]
        return [tf.broadcast_to(tf.reduce_sum(v, 1, keepdims=True), tf.shape(v)) for v in (y, z)]

    model = f.get_concrete_function().as_onnx()
    assert len({n.input[0] for n in model.graph.node if n.op_type == "Shape"}) == 1
    for size in (1, 4):
        x = np.random.default_rng(size).standard_normal((2, size)).astype(np.float32)
        y, z = f(x)
        assert y.shape == z.shape == (2, size - 1)
        sums = np.exp(x)[:, 1:].sum(1, keepdims=True)
        np.testing.assert_allclose(y, np.broadcast_to(sums, y.shape), rtol=1e-6)
