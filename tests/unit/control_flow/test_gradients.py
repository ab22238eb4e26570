"""Gradients through branches, loops and tensor arrays.

The evidence is independent of graphs: the same program runs eagerly, where a loop is a Python loop
and the tape sees every operation, and as central differences in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.control_flow.derivatives import F64, POINTS, c, close, first, second


def branch(x, v):
    return tf.cond(x[0] > 0.5, lambda: tf.reduce_sum(tf.exp(x) * v), lambda: tf.sin(x[1]) * v * v)


def branch_passing_on(x, v):
    y, z = tf.cond(x[0] > 0.5, lambda: (x, x * v), lambda: (x * x, x))
    return tf.reduce_sum(y * z)


def branch_without_dependence(x, v):
    return tf.reduce_sum(tf.cond(x[0] > 0.5, lambda: c([1.0, 2.0, 3.0]), lambda: x * v))


def nested_branches(x, v):
    def inner():
        return tf.cond(x[1] > 0.7, lambda: x[0] * v, lambda: x[1] * x[2])

    return tf.cond(x[0] > 0.5, inner, lambda: tf.tanh(x[2]) * v)


def choice(x, v):
    k = tf.cast(x[0] * 3.0, tf.int32)
    return tf.switch_case(
        k, [lambda: x[1] ** 3.0, lambda: v * x[2], lambda: tf.reduce_prod(x)], lambda: x[0]
    )


def loop(x, v):
    return tf.reduce_sum(
        tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.sin(y) * v + x), (0, x))[1]
    )


def loop_until(x, v):
    """The number of iterations depends on the data."""
    y, n = tf.while_loop(
        lambda y, n: tf.reduce_sum(y) < 20.0, lambda y, n: (y * 1.5 + x * v, n + 1), (x, 0)
    )
    return tf.reduce_sum(y) * tf.cast(n, F64)


def loop_never(x, v):
    return tf.reduce_sum(tf.while_loop(lambda y: False, lambda y: (y * v,), (x,))[0])


def loop_of_two(x, v):
    def body(i, a, b):
        return i + 1, a * b + v, tf.tanh(a) + x

    _, a, b = tf.while_loop(lambda i, a, b: i < 3, body, (0, x, x * 2.0))
    return tf.reduce_sum(a * b)


def loop_swapping(x, v):
    _, a, b = tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a * v), (0, x, c([1.0, 2.0, 3.0]))
    )
    return tf.reduce_sum(a + 2.0 * b)


def loop_passing_weights(x, v):
    """A variable that only comes along is constant, and has a gradient."""
    w = x * v
    return tf.reduce_sum(
        tf.while_loop(lambda i, w, y: i < 3, lambda i, w, y: (i + 1, w, y * w), (0, w, x))[2]
    )


def nested_loops(x, v):
    def inner(y):
        return tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, tf.sin(z * v) + y), (0, y))[1]

    return tf.reduce_sum(
        tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, inner(y) * x), (0, x))[1]
    )


def branch_in_loop(x, v):
    def body(i, y):
        return i + 1, tf.cond(y[0] > 1.0, lambda: tf.sin(y) * v, lambda: y * 2.0 + x)

    return tf.reduce_sum(tf.while_loop(lambda i, y: i < 5, body, (0, x))[1])


def loop_in_branch(x, v):
    return tf.cond(x[0] > 0.5, lambda: loop(x, v), lambda: loop_of_two(x, v))


def growing(x, v):
    """The shape is another in each iteration."""
    y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([tf.sin(y), y * v], 0)),
        (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )[1]
    return tf.reduce_sum(y * y)


def mapped(x, v):
    return tf.reduce_sum(tf.map_fn(lambda e: tf.sin(e) * v * e, x))


def mapped_pair(x, v):
    y, z = tf.map_fn(lambda e: (e[0] * e[1], e[1] + v), (x, x * x))
    return tf.reduce_sum(y * z)


def scanned(x, v):
    return tf.reduce_sum(tf.scan(lambda a, e: a * e + v, x) * c([1.0, 2.0, 3.0]))


def scanned_backwards(x, v):
    out = tf.scan(lambda a, e: tf.tanh(a) * e + v, x, initializer=c(0.5), reverse=True)
    return tf.reduce_sum(out * out)


def folded(x, v):
    return tf.foldl(lambda a, e: tf.sin(a) * v + e, x) + tf.foldr(lambda a, e: a * e, x)


def rnn(x, v):
    w = tf.stack([x, x * v, x * x])
    steps = tf.stack([x, x + 1.0, x * 2.0, x - v])

    def step(h, s):
        return tf.tanh(tf.linalg.matvec(w, h) + s)

    return tf.reduce_sum(tf.scan(step, steps, initializer=c([0.1, 0.2, 0.3])))


def array_written(x, v):
    ta = tf.TensorArray(F64, size=4)

    def body(i, ta, y):
        return i + 1, ta.write(i, y), y * x + v

    _, ta, y = tf.while_loop(lambda i, *_: i < 4, body, (0, ta, x))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(12.0)), [4, 3])) + y[0]


def array_partly_written(x, v):
    ta = tf.TensorArray(F64, size=5, element_shape=[3])
    _, ta = tf.while_loop(lambda i, _: i < 3, lambda i, ta: (i + 1, ta.write(i, x * v)), (0, ta))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(15.0)), [5, 3]))


def array_written_backwards(x, v):
    ta = tf.TensorArray(F64, size=3)

    def body(i, ta, y):
        return i + 1, ta.write(2 - i, y), tf.sin(y) * v

    _, ta, _ = tf.while_loop(lambda i, *_: i < 3, body, (0, ta, x))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(9.0)), [3, 3]))


def array_scattered(x, v):
    """Neither at the loop's index nor at its mirror image: a sequence."""
    ta = tf.TensorArray(F64, size=5, element_shape=[3])

    def body(i, ta, y):
        return i + 1, ta.write(i * 2 % 5, y), tf.sin(y) * v

    _, ta, _ = tf.while_loop(lambda i, *_: i < 4, body, (0, ta, x))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(15.0)), [5, 3]))


def array_growing_scattered(x, v):
    """Written behind the end, over what is there, and read in between."""
    ta = tf.TensorArray(F64, size=1, dynamic_size=True, clear_after_read=False).write(0, x)

    def body(i, ta, y):
        ta = ta.write(i * 2 % 5, y * v)
        return i + 1, ta, y + ta.read(i * 2 % 5 - i % 2)

    _, ta, y = tf.while_loop(lambda i, *_: i < 5, body, (1, ta, x))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(15.0)), [5, 3])) + y[1]


def array_read_back(x, v):
    """Each element is computed from the one before it."""
    ta = tf.TensorArray(F64, size=4, clear_after_read=False).write(0, x)

    def body(i, ta):
        return i + 1, ta.write(i, tf.sin(ta.read(i - 1)) * v + x)

    _, ta = tf.while_loop(lambda i, _: i < 4, body, (1, ta))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(12.0)), [4, 3]))


def array_growing(x, v):
    ta = tf.TensorArray(F64, size=0, dynamic_size=True)

    def body(i, y, ta):
        return i + 1, y * v, ta.write(i, y)

    _, _, ta = tf.while_loop(lambda i, y, _: tf.reduce_sum(y) < 30.0, body, (0, x, ta))
    return tf.reduce_sum(ta.stack())


def array_read_elsewhere(x, v):
    ta = tf.TensorArray(F64, size=3, clear_after_read=False).unstack(x * v)
    return tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * ta.read(2 - i) + y), (0, c(1.0))
    )[1]


def array_in_branch(x, v):
    ta = tf.TensorArray(F64, size=2, clear_after_read=False).write(0, x)
    ta = tf.cond(x[0] > 0.5, lambda: ta.write(1, x * v), lambda: ta.write(1, tf.sin(x)))
    return tf.reduce_sum(ta.read(1) * ta.read(0))


def array_read_in_branch(x, v):
    """The element is read where it is used, in a branch inside of the loop."""
    ta = tf.TensorArray(F64, size=4, clear_after_read=False).write(0, x)

    def body(i, ta):
        y = tf.cond(i % 2 == 0, lambda: ta.read(i - 1) * v, lambda: tf.sin(ta.read(i - 1)))
        return i + 1, tf.cond(y[0] > 0.2, lambda: ta.write(i, y), lambda: ta.write(i, y * x))

    _, ta = tf.while_loop(lambda i, _: i < 4, body, (1, ta))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(12.0)), [4, 3]))


def array_concatenated(x, v):
    ta = tf.TensorArray(F64, size=3, element_shape=[3])
    _, ta = tf.while_loop(
        lambda i, _: i < 3, lambda i, ta: (i + 1, ta.write(i, x * tf.cast(i, F64) * v)), (0, ta)
    )
    return tf.reduce_sum(ta.concat() * c(np.arange(9.0)))


def array_appended(x, v):
    """A growing array that only some iterations write."""
    ta = tf.TensorArray(F64, size=0, dynamic_size=True)

    def body(i, n, ta):
        y = x * tf.cast(i, F64) - v
        return tf.cond(
            y[1] > 0.0,
            lambda: (i + 1, n + 1, ta.write(n, y * y)),
            lambda: (i + 1, n, ta),
        )

    _, n, ta = tf.while_loop(lambda i, *_: i < 5, body, (0, 0, ta.write(0, x)))
    return tf.reduce_sum(ta.stack()) * tf.cast(n + 1, F64)


def array_growing_in_branch(x, v):
    """Each element is computed from the one before it, in one of two ways."""
    ta = tf.TensorArray(F64, size=1, dynamic_size=True, clear_after_read=False).write(0, x)

    def body(i, ta):
        last = ta.read(i - 1)
        return i + 1, tf.cond(
            last[0] > 0.5, lambda: ta.write(i, last * v), lambda: ta.write(i, tf.sin(last) + x)
        )

    _, ta = tf.while_loop(lambda i, _: i < 4, body, (1, ta))
    return tf.reduce_sum(ta.stack() * tf.reshape(c(np.arange(12.0)), [4, 3]))


def array_replaced(x, v):
    """Another array takes the place of the one that is read."""

    def body(i, ta, y):
        return i + 1, tf.TensorArray(F64, size=3).unstack(y * v), y + ta.read(i * 2 % 3)

    ta = tf.TensorArray(F64, size=3).unstack(x)
    return tf.reduce_sum(tf.while_loop(lambda i, *_: i < 4, body, (0, ta, x))[2])


def array_replaced_in_branch(x, v):
    ta = tf.TensorArray(F64, size=0, dynamic_size=True, clear_after_read=False).unstack(x)

    def other(ta):
        grown = tf.TensorArray(F64, size=0, dynamic_size=True, clear_after_read=False)
        return grown.unstack(tf.sin(ta.stack()) * v)

    def body(i, ta):
        return i + 1, tf.cond(ta.read(i) > 0.5, lambda: other(ta), lambda: ta)

    _, ta = tf.while_loop(lambda i, _: i < 3, body, (0, ta))
    return tf.reduce_sum(ta.stack() ** 2)


PROGRAMS = [
    branch,
    branch_passing_on,
    branch_without_dependence,
    nested_branches,
    choice,
    loop,
    loop_until,
    loop_never,
    loop_of_two,
    loop_swapping,
    loop_passing_weights,
    nested_loops,
    branch_in_loop,
    loop_in_branch,
    growing,
    mapped,
    mapped_pair,
    scanned,
    scanned_backwards,
    folded,
    rnn,
    array_written,
    array_partly_written,
    array_written_backwards,
    array_scattered,
    array_growing_scattered,
    array_read_back,
    array_growing,
    array_read_elsewhere,
    array_in_branch,
    array_read_in_branch,
    array_concatenated,
    array_appended,
    array_growing_in_branch,
    array_replaced,
    array_replaced_in_branch,
]


@pytest.mark.parametrize("point", POINTS, ids=["up", "down"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_graph_and_eager_agree(program, point):
    x, v = c(point), tf.Variable(1.3, dtype=F64)
    expected = first(program, x, v)
    close(first(tf.function(program), x, v), expected)  # the tape is outside
    close(tf.function(lambda x: first(program, x, v))(x), expected)  # and inside
    for value, at in ((expected[1], x), (expected[2], v)):
        assert value.shape == at.shape


@pytest.mark.parametrize("point", POINTS, ids=["up", "down"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_second_derivatives(program, point):
    x, v = c(point), tf.Variable(1.3, dtype=F64)
    expected = second(program, x, v)
    close(second(tf.function(program), x, v), expected)
    close(tf.function(lambda x: second(program, x, v))(x), expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_central_differences(program):
    traced, v = tf.function(program), tf.Variable(1.3, dtype=F64)
    x = np.array(POINTS[0])
    _, dx, dv = first(traced, c(x), v)
    step = 1e-6
    for i in range(3):
        e = np.eye(3)[i] * step
        slope = (traced(c(x + e), v).numpy() - traced(c(x - e), v).numpy()) / (2 * step)
        np.testing.assert_allclose(dx.numpy()[i], slope, rtol=1e-6, atol=1e-6)
    up, down = (traced(c(x), tf.Variable(1.3 + s, dtype=F64)).numpy() for s in (step, -step))
    np.testing.assert_allclose(dv.numpy(), (up - down) / (2 * step), rtol=1e-6, atol=1e-6)


def test_two_gradients_of_one_persistent_tape():
    """The second one uses what the first one made the loop keep, and so does an outer tape."""

    def f(x):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), (0, x))[
                    1
                ]
                z = tf.cond(x > 0.0, lambda: tf.exp(y) * x, lambda: y)
                w = z * 2.0
            first, second = tape.gradient(z, x), tape.gradient(w, x)
        return first, second, outer.gradient(first, x), outer.gradient(second, x)

    x = c(0.8)
    plain, traced = f(x), tf.function(f)(x)
    close(traced, plain)
    np.testing.assert_allclose(traced[3].numpy(), 2.0 * traced[2].numpy())


def test_a_called_function_that_reads_what_it_assigned():
    """In a branch: what is read after the assignment depends on the variable."""
    v = tf.Variable(0.0, dtype=F64)

    @tf.function
    def called(x):
        v.assign(x * 3.0)
        return x + v * x

    x = c(2.0)
    plain = first(lambda x, v: tf.cond(x > 0.0, lambda: called(x), lambda: x), x, v)
    traced = first(tf.function(lambda x, v: tf.cond(x > 0.0, lambda: called(x), lambda: x)), x, v)
    close(traced, plain)
    assert traced[2].numpy() == 2.0

    @tf.function
    def inside(x):
        y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, called(y)), (0, x))[1]
        return tf.gradients(y, [x, v])

    # y1 = x + v1 x with v1 = 3 x; y2 = y1 + v2 y1 with v2 = 3 y1
    y1 = 2.0 + 6.0 * 2.0
    dx, dv = inside(x)
    np.testing.assert_allclose(dx.numpy(), (1.0 + 3.0 * y1) * 7.0)
    np.testing.assert_allclose(dv.numpy(), y1 + (1.0 + 3.0 * y1) * 2.0)


def _cell(x, w, b):
    def step(h, e):
        return tf.tanh(tf.matmul(tf.concat([h, e], 1), w) + b)

    h = tf.foldl(step, x, initializer=tf.zeros([2, 3], F64))
    return tf.reduce_sum(h * h)


@pytest.mark.parametrize("steps", [0, 1, 6])
def test_gradients_of_weights_are_summed_after_the_loop(steps, rng):
    """One product of all iterations' rows, and no sum of matrices in the loop."""
    x = tf.constant(rng.normal(size=(steps, 2, 2)))
    w, b = tf.Variable(rng.normal(size=(5, 3))), tf.Variable(rng.normal(size=3))

    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _cell(x, w, b)
        return tape.gradient(y, [x, w, b], unconnected_gradients="zero")

    traced = tf.function(f)
    close(traced(x), f(x))
    nodes = traced.get_concrete_function(x).graph.graph.nodes
    loops = [n for n in nodes if n.op == "Loop"]
    inside = [(n.op, n.attrs.get("transA", 0)) for n in loops[-1].attrs["body"].nodes]
    assert ("Gemm", 1) not in inside
    assert not any(op == "ReduceSum" for op, _ in inside)
    assert any(n.op == "Gemm" and n.attrs.get("transA") for n in nodes)


def test_slices_have_their_gradients_collected():
    """Of ``x[i]`` in iteration ``i``: not a tensor of the whole in each iteration."""

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.map_fn(lambda e: e * tf.sin(e), x))
        return tape.gradient(y, x)

    x = c(np.linspace(-1, 1, 7))
    np.testing.assert_allclose(f(x).numpy(), np.sin(x) + x.numpy() * np.cos(x))
    loop = [n for n in f.get_concrete_function(x).graph.graph.nodes if n.op == "Loop"][-1]
    assert not any(
        n.op in ("ScatterND", "Add") and n.outputs[0].shape == (7,)
        for n in loop.attrs["body"].nodes
    )
    assert all(v.shape == () for v in loop.attrs["body"].outputs)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_sums_over_many_iterations_keep_their_digits(dtype):
    v = tf.Variable(1.0, dtype=dtype)

    def run(x):
        def body(i, y):
            return i + 1, y + tf.cast(v * v * tf.cast(0.1, dtype), tf.float32) * x

        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = tf.while_loop(lambda i, _: i < 3000, body, (0, 0.0))[1]
            slope = tape.gradient(y, v)
            assert slope.dtype == dtype
        return slope, outer.gradient(slope, v)

    for found in tf.function(run)(tf.constant(1.0)):
        assert float(found) == 600.0


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("jit_compile", [False, None])
def test_scan_of_unknown_sizes(rows, jit_compile):
    """One row needs no iteration, after which ONNX Runtime knows no sizes of what was collected."""

    @tf.function(jit_compile=jit_compile, input_signature=[tf.TensorSpec([None, None])])
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.scan(lambda a, b: a * b + a, x))
        return tape.gradient(total, x)

    expected = {1: [1], 2: [3, 1], 3: [7, 3, 2]}[rows]
    found = slope(tf.ones([rows, 4])).numpy()
    np.testing.assert_array_equal(found, np.repeat(np.array(expected)[:, None], 4, axis=1))
