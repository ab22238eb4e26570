"""Loops that run as one operator give what they give iteration by iteration."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import fused, fused_nodes, needs_library
from tfx.function.execution.plan import Plan
from tfx.graph.ir import FUSED_LOOP, bodies_below
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.runtime.values import from_numpy, to_numpy

pytestmark = needs_library


def loops(function, *specs):
    """How many loops of a function run as one operator."""
    graph = function.get_concrete_function(*specs)._observed.make_pure().graph
    together = fused(tune_for_cpu(prepare(graph, runs_here=True), 2))
    return sum(n.op == FUSED_LOOP for g in (together, *bodies_below(together)) for n in g.nodes)


def both(function, *values):
    """What a function gives with fused kernels and without, which are the same."""
    tensors = [tf.constant(v) for v in values]
    graph = function.get_concrete_function(*tensors)._observed.make_pure().graph
    given = [from_numpy(np.asarray(t)) for t in tensors]
    results = []
    for fuse in (True, False):
        plan = Plan(graph, fuse=fuse)
        assert plan.fused == fuse
        found = plan.run(given)
        results.append([np.array(to_numpy(found[i])) for i in range(len(graph.outputs))])
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return results[0]


@tf.function
def polynomial(x, n):
    for i in tf.range(n):
        x = x * 0.5 + tf.cast(i, tf.float32)
    return x


@tf.function
def fibonacci(n):
    a, b = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
    for _ in tf.range(n):
        a, b = b, a + b
    return a, b


@tf.function
def collatz(n):
    steps = tf.constant(0)
    while n != 1:
        n = tf.where(n & 1 == 0, tf.bitwise.right_shift(n, 1), 3 * n + 1)
        steps += 1
    return steps


@tf.function
def orbit(x, y, scale):
    """Values of several shapes and types, one that stays, one that is copied."""
    count, before, stays = tf.zeros([], tf.int32), x, y
    odd = tf.constant(False)
    while tf.logical_and(count < 7, tf.logical_not(tf.logical_and(odd, count > 100))):
        before, x = x, x * 0.9 + y * scale - tf.cast(count, tf.float32)
        odd = tf.logical_not(odd)
        count += 1
    return x, before, stays, odd, count


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_counted(n):
    found = both(polynomial, np.float32(3.0), np.int32(n))[0]
    expected = np.float32(3.0)
    for i in range(n):
        expected = np.float32(expected * np.float32(0.5) + np.float32(i))
    assert found == expected
    both(polynomial, np.linspace(0, 1, 1300, dtype=np.float32).reshape(10, 130), np.int32(n))
    both(polynomial, np.zeros((0, 3), np.float32), np.int32(n))


def test_values_that_change_places():
    assert [int(x) for x in both(fibonacci, np.int32(90))] == [
        2880067194370816120,
        4660046610375530309,
    ]


def test_until_a_condition_fails():
    scalar = tf.TensorSpec([], tf.int32)
    assert loops(fibonacci, scalar) == 1
    for n, steps in ((1, 0), (2, 1), (27, 111), (97, 118)):
        assert int(collatz(tf.constant(n))) == steps


@pytest.mark.parametrize("rows", [1, 4, 600])
def test_values_of_several_shapes(rows, rng):
    x = rng.normal(size=(rows, 5)).astype(np.float32)
    both(orbit, x, rng.normal(size=5).astype(np.float32), np.float32(0.25))


def test_of_unknown_sizes(rng):
    general = tf.function(
        polynomial.python_function,
        input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)],
    )
    assert loops(general) == 1
    x = rng.normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_array_equal(general(x, 5), polynomial(tf.constant(x), tf.constant(5)))


def test_not_where_shapes_change():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def grows(x):
        y = tf.zeros([1, 2])
        for _ in tf.range(3):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(y, tf.TensorShape([None, 2]))]
            )
            y = y + x
        return y

    assert loops(grows) == 0
    np.testing.assert_array_equal(grows(np.ones((4, 2), np.float32)), np.full((4, 2), 3.0))


def test_many_calls_of_the_program():
    """More iterations than one call of it runs, with a value that is carried through all."""
    both(polynomial, np.float32(1.0), np.int32(300_001))
    many = both(polynomial, np.ones(5000, np.float32), np.int32(2_000))
    assert many[0].shape == (5000,)


def test_an_endless_loop_can_be_ended():
    @tf.function
    def endless(x):
        while x > 0.0:
            x = x + 1.0 - 1.0
        return x

    assert loops(endless, tf.TensorSpec([])) == 1
    from tfx.runtime.options import RUN_OPTIONS

    timer = threading.Timer(0.3, lambda: setattr(RUN_OPTIONS, "terminate", True))
    began = time.monotonic()
    timer.start()
    try:
        plan = Plan(endless.get_concrete_function(tf.TensorSpec([]))._observed.make_pure().graph)
        feeds = plan.feed_values(from_numpy(np.array(1.0, np.float32)))
        with pytest.raises(Exception, match="terminate"):
            plan.run_raw(feeds, plan.output_names, RUN_OPTIONS)
    finally:
        timer.cancel()
        RUN_OPTIONS.terminate = False
    assert time.monotonic() - began < 30


@tf.function
def trajectory(x, n):
    places = tf.TensorArray(tf.float32, size=n, element_shape=x.shape)
    numbers = tf.TensorArray(tf.int64, size=n, element_shape=[])
    for i in tf.range(n):
        x = x * 0.9 + 0.1
        places = places.write(i, x)
        numbers = numbers.write(i, tf.cast(i, tf.int64) * 3)
    return x, places.stack(), numbers.stack()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (5, 130)])
def test_what_is_collected(n, shape):
    x = np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    assert loops(trajectory, tf.TensorSpec(shape), tf.TensorSpec([], tf.int32)) == 1
    _, places, numbers = both(trajectory, x, np.int32(n))
    assert places.shape == (n, *shape)
    np.testing.assert_array_equal(numbers, 3 * np.arange(n))
    if n == 7:
        x = x.astype(np.float64)
        np.testing.assert_allclose(places, [0.9**k * (x - 1) + 1 for k in range(1, 8)], rtol=1e-5)


def test_rows_of_many_calls():
    _, places, numbers = both(trajectory, np.float32(0.5), np.int32(300_001))
    assert places.shape == numbers.shape == (300_001,)
    _, places, _ = both(trajectory, np.zeros(7_000, np.float32), np.int32(3_000))
    assert places.shape == (3_000, 7_000)


@pytest.mark.parametrize("bound", [0, 1, 255, 256, 257, 1000])
def test_what_is_collected_until_a_condition_fails(bound):
    @tf.function
    def doubled(x):
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
        i = 0
        while x[0] < tf.cast(bound, tf.float32):
            found = found.write(i, x * 2.0)
            x = x + 1.0
            i += 1
        return found.stack(), i

    rows, count = both(doubled, np.float32([0, 5]))
    assert rows.shape == (bound, 2) and count == bound
    np.testing.assert_array_equal(rows, 2 * (np.arange(bound)[:, None] + [0, 5]))


def test_collected_values_of_unknown_sizes(rng):
    rows = tf.TensorSpec([None, None, 3])
    general = tf.function(
        lambda x: tf.scan(lambda a, row: 0.5 * a + row, x, tf.zeros_like(x[0])),
        input_signature=[rows],
    )
    assert loops(general) == 1
    for shape in ((4, 2, 3), (1, 1, 3), (5, 0, 3)):
        x = rng.normal(size=shape).astype(np.float32)
        expected, a = [], np.zeros(shape[1:], np.float32)
        for row in x:
            a = np.float32(0.5) * a + row
            expected.append(a)
        np.testing.assert_allclose(general(x), np.reshape(expected, shape), rtol=1e-6)


def steps_of_rows(x, w, u):
    """A recurrent network whose products are small; rows are read and collected."""

    def step(h, row):
        return tf.tanh(row @ w + h @ u)

    return tf.scan(step, x, tf.zeros([4, 8]))


def test_rows_that_are_read(rng):
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((9, 4, 5), (5, 8), (8, 8))]
    function = tf.function(steps_of_rows)
    assert loops(function, *map(tf.constant, arrays)) == 1
    expected, h = [], np.zeros((4, 8))
    for row in arrays[0].astype(np.float64):
        h = np.tanh(row @ arrays[1] + h @ arrays[2])
        expected.append(h)
    np.testing.assert_allclose(function(*arrays), expected, atol=1e-5)


def test_gradients_of_loops(rng):
    """Loops that collect, and loops that read what was collected from its end."""
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((9, 4, 5), (5, 8), (8, 8))]

    def slopes(*args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            y = tf.reduce_sum(steps_of_rows(*args) ** 2)
        return tape.gradient(y, args)

    function = tf.function(slopes)
    assert loops(function, *map(tf.constant, arrays)) == 2
    plain = tf.function(slopes, jit_compile=False)
    for a, b in zip(function(*arrays), plain(*arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_gradients_of_counted_loops():
    x = tf.Variable([1.0, 2.0])

    @tf.function
    def slope(n):
        with tf.GradientTape() as tape:
            y = tf.identity(x)
            for _ in tf.range(n):
                y = y * y * 0.5
        return tape.gradient(y, x)

    assert loops(slope, tf.TensorSpec([], tf.int32)) == 2
    np.testing.assert_allclose(slope(3), 8 * np.array([1.0, 2.0]) ** 7 * 0.5**7, rtol=1e-6)


def copies(x, n):
    """Parts, turns and joins of a matrix of 3 by 4."""
    for _ in tf.range(n):
        left, right = x[:, :1], x[::-1, 1:]
        y = tf.concat([right, left], axis=1)
        z = tf.reshape(tf.transpose(y), [3, 4]) + tf.reshape(y, [4, 3])[0:1, :1]
        row = tf.stack([z[0, 3], z[2, -1], z[1, 0], z[0, 0]])
        x = 0.5 * z[:, ::-1] + tf.expand_dims(row, 0) - tf.squeeze(x[1:2, 3:], 1)
        x = tf.where(x > 3.0, x[..., -3:-2], x)
    return x


@pytest.mark.parametrize("n", [1, 2, 50])
def test_parts_turned_and_joined(n, rng):
    x = rng.normal(size=(3, 4)).astype(np.float32)
    function = tf.function(copies)
    assert loops(function, tf.TensorSpec([3, 4]), tf.TensorSpec([], tf.int32)) == 1
    both(function, x, np.int32(n))
    expected = x
    for _ in range(n):
        y = np.concatenate([expected[::-1, 1:], expected[:, :1]], axis=1)
        z = y.T.reshape(3, 4) + y.reshape(4, 3)[0:1, :1]
        row = np.stack([z[0, 3], z[2, -1], z[1, 0], z[0, 0]])
        z = np.float32(0.5) * z[:, ::-1] + row[None] - expected[1:2, 3:][:, 0]
        expected = np.where(z > 3.0, z[..., -3:-2], z)
    np.testing.assert_allclose(function(x, n), expected, rtol=1e-4, atol=1e-5)


def test_gradients_of_parts(rng):
    """Which are padded, split and added up."""

    def slopes(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            left, right = tf.split(copies(x, n), 2, axis=1)
            y = tf.reduce_sum(left * right)
        return tape.gradient(y, x)

    x = tf.constant(rng.normal(size=(3, 4)).astype(np.float32))
    function = tf.function(slopes)
    assert loops(function, x, tf.TensorSpec([], tf.int32)) == 2
    plain = tf.function(slopes, jit_compile=False)
    for n in (1, 3, 9):
        expected = plain(x, n)
        bound = 1e-5 * float(tf.reduce_max(abs(expected)))
        np.testing.assert_allclose(function(x, n), expected, rtol=1e-4, atol=bound)


@pytest.mark.parametrize("fill", [0.0, -1.5])
def test_padding(fill, rng):
    @tf.function
    def surrounded(x, n):
        for _ in tf.range(n):
            x = 0.5 * tf.pad(x[1:, :-2], [[0, 1], [2, 0]], constant_values=fill) + x
        return x

    x = rng.normal(size=(3, 4)).astype(np.float32)
    assert loops(surrounded, tf.TensorSpec([3, 4]), tf.TensorSpec([], tf.int32)) == 1
    both(surrounded, x, np.int32(3))
    expected = x
    for _ in range(3):
        padded = np.pad(expected[1:, :-2], [[0, 1], [2, 0]], constant_values=fill)
        expected = np.float32(0.5) * padded + expected
    np.testing.assert_allclose(surrounded(x, 3), expected, rtol=1e-6)


def test_rows_by_a_carried_index():
    @tf.function
    def chain(links, start, n):
        place = start
        for _ in tf.range(n):
            place = tf.gather(links, place)
        return place

    links = np.array([3, 0, 1, 2, -1], np.int32)
    vector, scalar = tf.TensorSpec([5], tf.int32), tf.TensorSpec([], tf.int32)
    assert loops(chain, vector, scalar, scalar) == 1
    assert int(chain(links, 0, 6)) == 2
    wrong = np.array([3, 0, 7, 2, 1], np.int32)
    with pytest.raises(tf.errors.InvalidArgumentError) as fused_error:
        chain(wrong, 0, 6)
    with pytest.raises(tf.errors.InvalidArgumentError) as plain_error:
        tf.function(chain.python_function, jit_compile=False)(wrong, 0, 6)
    assert str(fused_error.value).splitlines()[0] == str(plain_error.value).splitlines()[0]


def test_a_value_that_programs_have_no_type_for():
    """A text, carried as it is beside numbers."""

    @tf.function
    def labelled(x, name):
        other = name
        for _ in tf.range(5):
            x, other, name = x * 2.0, name, other
        return x, name

    found = labelled(tf.constant(1.0), tf.constant("a"))
    assert float(found[0]) == 32.0 and found[1].numpy() == b"a"

    @tf.function
    def halves(x, y):
        for _ in tf.range(5):
            x, y = x * 2.0, tf.identity(y)
        return x, y

    assert float(halves(tf.constant(1.0), tf.constant(1.5, tf.float16))[1]) == 1.5


def test_the_kernels_count_their_nodes():
    graph = (
        polynomial.get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([], tf.int32))
        ._observed.make_pure()
        .graph
    )
    assert fused_nodes(fused(prepare(graph))) >= 1


def test_a_body_asks_for_the_shape_that_it_expands_to():
    """Whose result is said to have known sizes, which the shape of a run does not keep to."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def total(n):
        def step(i, s):
            y = tf.broadcast_to(tf.constant([1.0]) * s, n)
            y.set_shape([3])
            return i + 1, tf.reduce_sum(y)

        return tf.while_loop(lambda i, s: i < 2, step, [0, tf.constant(1.0)])[1]

    assert float(total([3])) == 9.0
    assert float(total([4])) == 16.0


def test_a_branch_in_a_loop_is_both_sides_and_a_choice(rng):
    @tf.function
    def walk(x, steps):
        total, table = tf.constant(0), tf.constant([[1.0, 2.0], [3.0, 4.0]])
        for i in tf.range(steps):
            if tf.reduce_sum(x) > 2.0:
                x, total = x - 1.0, total + 1
                if total % 4 == 0:
                    x = x @ table * 0.1
            else:
                x = tf.sqrt(tf.abs(x)) + tf.cast(i, tf.float32) * 0.1
        return x, total

    @tf.function
    def guarded(n):
        """A side that would fail where the other one is taken."""
        found = tf.constant(0)
        for i in tf.range(6):
            found += tf.cond(i > 2, lambda i=i: n // (i - 2), lambda: tf.constant(7))
        return found

    x = rng.normal(size=(3, 2)).astype(np.float32)
    assert loops(walk, tf.constant(x), tf.constant(30)) == 1
    both(walk, x, np.int32(30))
    assert loops(guarded, tf.constant(12)) == 0
    assert [int(y) for y in both_or_plain(guarded, np.int32(12))] == [21 + 12 + 6 + 4]


def both_or_plain(function, *values):
    """What a function gives, whether its plan has programs or not."""
    return [function(*[tf.constant(v) for v in values]).numpy()]


@pytest.mark.parametrize("axis", [-1, 0, None])
def test_reductions_of_several_steps(axis, rng):
    @tf.function
    def run(x):
        for _ in tf.range(3):
            along = -1 if axis is None else axis
            y = tf.nn.softmax(x, along) + 0.1 * tf.nn.log_softmax(x, along)
            y += tf.reduce_logsumexp(x, axis, keepdims=True) + tf.norm(x, axis=axis, keepdims=True)
            x = y + 0.1 * tf.reduce_logsumexp(x, axis) * tf.reduce_sum(x * x)
        return x

    x = rng.normal(size=(4, 4)).astype(np.float32)
    assert loops(run, tf.constant(x)) == 1
    graph = run.get_concrete_function(tf.constant(x))._observed.make_pure().graph
    for given in (x, np.where(x > 1, -np.inf, x).astype(np.float32)):
        found = [Plan(graph, fuse=f).run([from_numpy(given)])[0] for f in (True, False)]
        np.testing.assert_allclose(*map(to_numpy, found), rtol=1e-5)


def test_constants_of_one_number_are_stacked():
    @tf.function
    def run(n):
        total = tf.zeros([3], tf.int32)
        for i in tf.range(n):
            total += tf.stack([7, i, i * i]) + tf.concat([[i], [1], [2]], 0)
        return total

    assert loops(run, tf.constant(5)) == 1
    both(run, np.int32(5))


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 63, 65])
def test_few_numbers_of_any_type(size, rng):
    @tf.function
    def run(x, n, y):
        for i in tf.range(n):
            k = tf.cast(i, tf.int64)
            x = tf.bitwise.bitwise_xor(x * 31 + k, tf.bitwise.right_shift(x, 3))
            y = tf.where(tf.bitwise.bitwise_and(x, 1) == 0, y * 1.5, tf.abs(y) - 0.5)
        return x, y

    x = rng.integers(0, 2**40, size)
    both(run, x, np.int32(9), rng.normal(size=size).astype(np.float32))
