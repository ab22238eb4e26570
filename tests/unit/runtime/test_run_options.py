"""Options of calls: limits, cancellation from other threads; what was ended changed nothing."""

from __future__ import annotations

import gc
import signal
import threading
import time

import numpy as np
import pytest

import tfx as tf
from tests.unit.runtime import slow_work
from tfx.core.errors import CancelledError, DeadlineExceededError, InvalidArgumentError


@pytest.fixture(scope="module")
def slow():
    return slow_work.made()


def test_without_effect():
    f = tf.function(lambda x: x + 1.0)
    for target in (f, f.get_concrete_function(tf.constant(1.0))):
        g = target.with_options(tf.RunOptions(timeout_in_ms=60_000, tag="test"))
        assert float(g(tf.constant(2.0))) == 3.0
        assert float(g(x=tf.constant(2.0))) == 3.0
        assert g.function is target


def test_a_late_call_ends_and_changes_nothing(slow):
    work, x, count = slow
    before, started = int(count), time.monotonic()
    with pytest.raises(DeadlineExceededError, match="'work' did not finish within 20 ms"):
        work.with_options(tf.RunOptions(timeout_in_ms=20))(x)
    assert time.monotonic() - started < 30
    assert int(count) == before


def test_the_error_is_the_builtin_one_too(slow):
    work, x, _ = slow
    with pytest.raises(TimeoutError):
        work.with_options(tf.RunOptions(timeout_in_ms=5))(x)


def test_a_call_in_time_keeps_its_result():
    v = tf.Variable(1.0)
    f = tf.function(lambda: v.assign_add(1.0))
    g = f.with_options(tf.RunOptions(timeout_in_ms=60_000))
    for _ in range(3):
        g()
    assert v.numpy() == 4.0


def test_many_limits_at_once(slow):
    work, x, count = slow
    before, ended = int(count), []

    def run(limit):
        with pytest.raises(DeadlineExceededError, match=f"within {limit} ms"):
            work.with_options(tf.RunOptions(timeout_in_ms=limit))(x)
        ended.append(limit)

    threads = [threading.Thread(target=run, args=[n]) for n in (40, 5, 60, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == [5, 20, 40, 60]
    assert int(count) == before


def test_cancelled_from_another_thread(slow):
    work, x, count = slow
    before = int(count)
    manager = tf.CancellationManager()
    assert not manager.is_cancelled
    timer = threading.Timer(0.05, manager.start_cancel)
    timer.start()
    with pytest.raises(CancelledError, match="'work' was cancelled by its CancellationManager"):
        manager.get_cancelable_function(work)(x)
    timer.join()
    assert manager.is_cancelled
    assert int(count) == before
    with pytest.raises(CancelledError):
        work.with_options(tf.RunOptions(cancellation=manager))(x)


def test_a_manager_does_not_keep_calls():
    manager = tf.CancellationManager()
    f = manager.get_cancelable_function(tf.function(lambda x: x * 2.0))
    for _ in range(5):
        f(tf.constant(1.0))
    gc.collect()
    assert not manager._calls


def test_gradients_and_eager_operations_end_too(slow):
    work, x, count = slow
    before = int(count)
    concrete = work.get_concrete_function(x)
    with pytest.raises(DeadlineExceededError), tf.GradientTape():
        concrete.with_options(tf.RunOptions(timeout_in_ms=10))(x)
    assert int(count) == before

    def train():
        v = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            y = v * v
        return tape.gradient(y, v)

    manager = tf.CancellationManager()
    cancelable = manager.get_cancelable_function(tf.function(train))
    tf.config.run_functions_eagerly(True)
    try:
        assert float(cancelable()) == 4.0
        manager.start_cancel()
        with pytest.raises(CancelledError):
            cancelable()
    finally:
        tf.config.run_functions_eagerly(False)


def test_calls_inside_calls_end_with_them(slow):
    work, x, count = slow
    before = int(count)
    inner = work.with_options(tf.RunOptions(timeout_in_ms=60_000))
    outer = tf.function(lambda: inner(x))
    tf.config.run_functions_eagerly(True)
    try:
        with pytest.raises(DeadlineExceededError):
            outer.with_options(tf.RunOptions(timeout_in_ms=20))()
    finally:
        tf.config.run_functions_eagerly(False)
    assert int(count) == before


def test_frozen_plans_take_options():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: x * v)
    for _ in range(20):
        f(tf.constant(1.0))
    assert float(f.with_options(tf.RunOptions(timeout_in_ms=60_000))(tf.constant(3.0))) == 6.0
    manager = tf.CancellationManager()
    manager.start_cancel()
    with pytest.raises(CancelledError):
        manager.get_cancelable_function(f)(tf.constant(3.0))
    assert float(f(tf.constant(3.0))) == 6.0


def test_a_kernels_failure_stays_what_it_is():
    f = tf.function(lambda x, i: tf.gather(x, i))
    g = f.with_options(tf.RunOptions(timeout_in_ms=60_000))
    with pytest.raises(InvalidArgumentError, match=r"test_run_options\.py"):
        g(tf.ones([3]), tf.constant(7))


def test_other_threads_are_not_touched(slow):
    work, x, _ = slow
    f = tf.function(lambda a: a + 1.0)
    results = []

    def other():
        results.extend(float(f(tf.constant(float(i)))) for i in range(20))

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(DeadlineExceededError):
        work.with_options(tf.RunOptions(timeout_in_ms=10))(x)
    thread.join(60)
    assert results == [i + 1.0 for i in range(20)]


def test_names_of_tensorflow():
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert (options.NO_TRACE, options.SOFTWARE_TRACE, options.HARDWARE_TRACE) == (0, 1, 2)
    assert options.trace_level == tf.RunOptions.FULL_TRACE == 3
    options.timeout_in_ms = 5
    assert options == tf.RunOptions(trace_level=3, timeout_in_ms=5)


@pytest.mark.parametrize(
    "arguments", [{"trace_level": 4}, {"timeout_in_ms": -1}, {"log_severity_level": 9}]
)
def test_refused_options(arguments):
    with pytest.raises(InvalidArgumentError, match=next(iter(arguments))):
        tf.RunOptions(**arguments)


def test_refused_arguments():
    f = tf.function(lambda: tf.constant(1.0))
    with pytest.raises(TypeError, match="takes RunOptions"):
        f.with_options({"timeout_in_ms": 5})
    with pytest.raises(TypeError, match="takes RunMetadata"):
        f.with_options(None, [])


def test_results_are_equal():
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(20, 20)).astype(np.float32))
    f = tf.function(lambda a: tf.nn.softmax(tf.matmul(a, a)))
    np.testing.assert_array_equal(f(x), f.with_options(tf.RunOptions())(x))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_signal_ends_an_interruptible_call(slow):
    work, x, count = slow
    before = int(count)

    def handle(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handle)
    interruptible = work.with_options(tf.RunOptions(interruptible=True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            interruptible(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert int(count) == before
    f = tf.function(lambda a, i: tf.gather(a, i))
    g = f.with_options(tf.RunOptions(interruptible=True))
    assert float(g(tf.ones([3]), tf.constant(1))) == 1.0
    with pytest.raises(InvalidArgumentError, match=r"test_run_options\.py"):
        g(tf.ones([3]), tf.constant(7))
