"""Many threads on one function: nothing is lost or seen half done, nobody waits for ever."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

import tfx as tf
from tfx.framework import variable_locks

SECONDS = 0.4


@pytest.fixture(autouse=True)
def _eager_switching():
    """Threads take turns a hundred times more often than they do by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def together(*works):
    """Run functions in threads that start together; what fails in one, fails the test."""
    errors = []
    barrier = threading.Barrier(len(works))

    def body(work):
        try:
            barrier.wait(30)
            work()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=body, args=[w], daemon=True) for w in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]


def until(seconds=SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


@pytest.mark.parametrize("taped", [False, True])
def test_a_reader_sees_all_of_a_step_or_nothing(taped):
    variables = [tf.Variable(np.zeros(3, np.float32)) for _ in range(40)]

    @tf.function
    def step(x):
        for v in variables:
            v.assign(x + v * 0.0)

    @tf.function
    def read():
        return tf.stack([v + 0.0 for v in variables])

    step(tf.zeros([3]))
    read()
    stop = threading.Event()

    def write():
        try:
            for i, _ in enumerate(until()):
                step(tf.fill([3], float(i % 1000)))
        finally:
            stop.set()

    def look():
        while not stop.is_set():
            if taped:
                with tf.GradientTape():
                    seen = read()
            else:
                seen = read()
            seen = seen.numpy()
            assert (seen == seen[0, 0]).all(), "half of a step"

    together(write, look, look)


def test_a_step_that_reads_two_variables_sees_both_of_one_moment():
    a, b, worst = tf.Variable(0.0), tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def move(x):
        a.assign(x)
        b.assign(-x)

    @tf.function
    def check():
        worst.assign(tf.maximum(worst, tf.abs(a + b)))

    def write():
        for i, _ in enumerate(until()):
            move(tf.constant(float(i)))

    def look():
        for _ in until():
            check()

    together(write, look, look)
    assert worst.numpy() == 0


def test_frozen_plans_hold_one_moment():
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    step = tf.function(lambda x: (a.assign(x), b.assign(x), None)[2])
    read = tf.function(lambda: tf.stack([a, b]))
    for _ in range(20):
        read()
    stop = threading.Event()

    def write():
        for i in range(40):
            step(tf.constant(float(i)))
            for _ in range(20):  # long enough for the reader to be frozen again
                x, y = read().numpy()
                assert x == y == i
        stop.set()

    def look():
        while not stop.is_set():
            x, y = read().numpy()
            assert x == y

    together(write, look, look)


def test_first_calls_race_and_create_variables_once():
    class Layer(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([x.shape[-1]]))
            self.w.assign_add(tf.ones_like(self.w))
            return x * self.w

    for _ in range(5):
        layer = Layer()
        together(*[lambda layer=layer: layer(tf.ones([2, 3]))] * 8)
        np.testing.assert_array_equal(layer.w, np.full(3, 9.0))
        assert len(layer.variables) == 1


def test_tracing_while_others_assign_and_call():
    v = tf.Variable(1.0)
    inner = tf.function(lambda x: tf.reduce_sum(x) * v)
    outer = tf.function(lambda x: inner(x) + inner(x * 2.0))

    def trace(first):
        def work():
            for n in range(first, first + 12):
                size = n % 17 + 1
                got = float(outer(tf.ones([size])))
                assert got in {3.0 * size, 6.0 * size}

        return work

    def assign():
        for i, _ in enumerate(until(0.3)):
            v.assign(1.0 + i % 2)

    together(trace(0), trace(6), trace(12), assign)
    assert outer.experimental_get_tracing_count() == 17


def test_custom_gradients_and_a_tape_in_each_thread():
    @tf.custom_gradient
    def twice(x):
        return x * 2.0, lambda dy: dy * 7.0

    w = tf.Variable(3.0)
    f = tf.function(lambda x: twice(x * w) * w)

    def work(number):
        def run():
            for i in range(8):
                x = tf.constant(float(number + i))
                with tf.GradientTape(persistent=True) as tape:
                    tape.watch(x)
                    y = f(x)
                assert float(y) == 2.0 * 9.0 * float(x)
                assert float(tape.gradient(y, x)) == 7.0 * 9.0
                # d/dw of twice(x w) w: 7 x w through the first use, 2 x w through the second.
                assert float(tape.gradient(y, w)) == (7.0 + 2.0) * 3.0 * float(x)

        return run

    together(*[work(n) for n in range(6)])


def test_optimizer_steps_are_not_lost():
    w = tf.Variable(np.zeros(5, np.float32))
    optimizer = tf.optimizers.SGD(1.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    def work():
        for _ in range(25):
            step(tf.ones([5]))

    together(*[work] * 4)
    np.testing.assert_array_equal(w, np.full(5, -100.0))
    assert int(optimizer.iterations) == 100


def test_methods_and_nested_functions_with_state():
    class Counter(tf.Module):
        def __init__(self):
            super().__init__()
            self.n = tf.Variable(0)

        @tf.function
        def one(self):
            return self.n.assign_add(1)

        @tf.function
        def two(self):
            self.one()
            return self.one() + 0

    counter = Counter()
    seen = []

    def work():
        for _ in range(20):
            seen.append(int(counter.two()))
            counter.n.assign_add(1)

    together(*[work] * 5)
    assert int(counter.n) == 5 * 20 * 3
    assert len(set(seen)) == 100, "no other writer comes between a call's two additions"


def test_a_failed_step_installs_nothing_even_where_a_variable_is_gone():
    a, others = tf.Variable(0.0), [tf.Variable(0.0)]
    step = tf.function(lambda x: (a.assign(x), others[0].assign(x), None)[2])
    step(tf.constant(1.0))
    others.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="was deleted"):
        step(tf.constant(2.0))
    assert a.numpy() == 1.0


def test_readers_wait_for_whoever_installs():
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    read = tf.function(lambda: tf.stack([a, b]))
    read()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(read().numpy()), daemon=True)

    def install():
        a._swap(tf.constant(2.0)._raw)
        thread.start()
        time.sleep(0.05)
        assert not seen
        b._swap(tf.constant(2.0)._raw)

    variable_locks.installs.during(install)
    thread.join(30)
    np.testing.assert_array_equal(seen[0], [2.0, 2.0])


def test_a_checkpoint_holds_one_moment(tmp_path):
    variables = [tf.Variable(np.zeros(3, np.float32)) for _ in range(30)]
    checkpoint = tf.train.Checkpoint(variables=variables)

    @tf.function
    def step(x):
        for v in variables:
            v.assign(v * 0.0 + x)

    stop = threading.Event()

    def write():
        i = 0
        while not stop.is_set():
            i += 1
            step(tf.fill([3], float(i)))

    def save():
        try:
            for _ in range(15):
                tensors, _ = checkpoint._snapshot()
                values = np.stack([t for t in tensors.values() if t.shape == (3,)])
                assert len(values) == 30
                assert (values == values[0, 0]).all(), "half of a step"
        finally:
            stop.set()

    together(write, save)
