"""One function in many threads: traced once for each kind of call, and no update is lost."""

from __future__ import annotations

import threading

import numpy as np

import tfx as tf


def _run(work, count=6):
    """Run ``work(number)`` in threads that start together; what fails in one, fails the test."""
    errors = []
    barrier = threading.Barrier(count)

    def body(number):
        try:
            barrier.wait()
            work(number)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=body, args=[n]) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_tracing():
    traces = []

    @tf.function
    def f(x):
        traces.append(x.shape)
        return tf.reduce_sum(x * 2.0)

    def work(number):
        for size in range(1, 8):
            assert float(f(tf.ones([size]))) == 2.0 * size

    _run(work)
    assert len(traces) == f.experimental_get_tracing_count() == 7


def test_first_calls_create_variables_once():
    class Holder:
        v = None

    @tf.function
    def f(x):
        if Holder.v is None:
            Holder.v = tf.Variable(0.0)
        Holder.v.assign_add(x)

    _run(lambda number: f(tf.constant(1.0)))
    assert Holder.v.numpy() == 6.0


def test_methods_are_bound_once():
    class Model:
        @tf.function
        def f(self, x):
            return x

    model = Model()
    seen = []
    _run(lambda number: seen.append(model.f))
    assert len({id(f) for f in seen}) == 1


def test_updates_are_not_lost():
    v, w = tf.Variable(0), tf.Variable(0)
    both = tf.function(lambda: (v.assign_add(1), w.assign_add(v - v + 1)))
    one = tf.function(lambda n: v.assign_add(n))

    def work(number):
        for _ in range(50):
            if number % 3 == 0:
                both()
            elif number % 3 == 1:
                one(tf.constant(1))
            else:
                v.assign_add(1)

    _run(work)
    assert v.numpy() == 300
    assert w.numpy() == 100


def test_readers_never_see_an_old_value_after_an_assignment():
    v = tf.Variable(0)
    read = tf.function(lambda: v + 0)
    for _ in range(20):
        read()

    def work(number):
        if number == 0:
            for i in range(1, 200):
                v.assign(i)
        else:
            last = 0
            for _ in range(300):
                now = int(read())
                assert now >= last
                last = now

    _run(work, 3)
    assert int(read()) == 199


def test_an_assignment_is_seen_at_once_whatever_plan_runs():
    v = tf.Variable(0)
    read = tf.function(lambda: v + 0)
    busy = threading.Event()

    def work(number):
        if number:
            while not busy.is_set():
                read()
            return
        try:
            for i in range(300):
                v.assign(i)
                assert int(read()) == i
        finally:
            busy.set()

    _run(work, 3)


def test_nested_functions():
    v = tf.Variable(0.0)
    inner = tf.function(lambda x: v.assign_add(x))
    outer = tf.function(lambda x: (inner(x), inner(x)))

    def work(number):
        for _ in range(20):
            outer(tf.constant(1.0))
            inner(tf.constant(1.0))

    _run(work)
    assert v.numpy() == 6 * 20 * 3


def test_eager_operations():
    def work(number):
        for i in range(20):
            x = tf.constant(np.full((number + 1, i + 1), 2.0, np.float32))
            np.testing.assert_array_equal(tf.sqrt(x * x), x)

    _run(work)
