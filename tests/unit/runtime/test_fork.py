"""A forked child runs sessions, or says why not; it never hangs."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import select
import signal
import threading
import time

import numpy as np
import pytest

import tfx as tf
from tfx.runtime import fork, fork_safe_locks, values

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    # Python 3.12 and later warn whenever a process with threads forks.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def in_child(work, seconds=60):
    """What a function gives in a forked child, or its exception; a hang fails the test."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                found = (True, work())
            except Exception as e:
                found = (False, (type(e).__name__, str(e)))
            os.write(writer, pickle.dumps(found))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], seconds)
        if not ready:
            os.kill(child, signal.SIGKILL)
            pytest.fail(f"the child did not answer within {seconds} s")
        answer = os.read(reader, 1 << 16)
        assert answer, "the child died"
        good, found = pickle.loads(answer)
    finally:
        os.close(reader)
        os.waitpid(child, 0)
    if not good:
        raise RuntimeError(*found)
    return found


@tf.function
def multiply(x):
    return tf.reduce_sum(tf.matmul(x, x) + tf.exp(x))


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    return tf.constant(rng.normal(size=(200, 200)).astype(np.float32))  # large enough for the pool


def test_functions_traced_before_and_after(x):
    expected = float(multiply(x))

    def work():
        new = tf.function(lambda a: tf.reduce_max(tf.matmul(a, a) * 2.0))
        many = [float(multiply(x)) for _ in range(200)]
        return many[-1], float(new(x)), float(x[0, 0] * 3.0)

    old, new, eager = in_child(work)
    assert old == pytest.approx(expected, rel=1e-5)
    assert new == pytest.approx(float((x.numpy() @ x.numpy() * 2).max()), rel=1e-4)
    assert eager == pytest.approx(float(x.numpy()[0, 0]) * 3.0)
    assert float(multiply(x)) == expected


def test_state_belongs_to_each_process():
    v = tf.Variable(1.0)
    step = tf.function(lambda: v.assign_add(1.0) + 0.0)
    step()

    def work():
        with tf.GradientTape() as tape:
            y = v * v
        return float(step()), float(tape.gradient(y, v))

    assert in_child(work) == (3.0, 4.0)
    assert v.numpy() == 2.0


def test_a_child_of_a_child(x):
    expected = float(multiply(x))
    assert in_child(lambda: in_child(lambda: float(multiply(x)))) == pytest.approx(expected, 1e-5)


def test_while_other_threads_run(x):
    stop, errors, counts = threading.Event(), [], [0, 0, 0]
    v = tf.Variable(0.0)
    step = tf.function(lambda: (v.assign_add(1.0), tf.reduce_sum(tf.matmul(x, x)))[1])

    def busy(number):
        try:
            while not stop.is_set():
                multiply(x)
                step()
                tf.matmul(x, x)
                counts[number] += 1
        except Exception as e:
            errors.append(e)

    expected = float(multiply(x))
    threads = [threading.Thread(target=busy, args=[n], daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            found = in_child(lambda: (float(multiply(x)), float(step()) != 0, float(v * 2.0)))
            assert found[0] == pytest.approx(expected, rel=1e-5)
        before = sum(counts)
        time.sleep(0.1)
        assert sum(counts) > before, "the parent's threads go on"
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert not errors


def test_while_another_thread_traces():
    inside, go_on = threading.Event(), threading.Event()

    def slow(a):
        inside.set()
        go_on.wait(60)
        return a + 1.0

    f = tf.function(slow)
    thread = threading.Thread(target=f, args=[tf.constant(1.0)], daemon=True)
    thread.start()
    inside.wait(60)
    try:
        other = tf.function(lambda a: a * 2.0)
        assert in_child(lambda: float(other(tf.constant(2.0)))) == 4.0
    finally:
        go_on.set()
        thread.join(60)


def count_to(end):
    """A long run of small steps."""
    return tf.while_loop(lambda i: i < end, lambda i: [i + 1], [tf.constant(0)])[0]


ENDLESS = tf.constant(2**31 - 1)


@pytest.fixture
def endless():
    """A thread inside a run that takes longer than forking waits."""
    work = tf.function(count_to)
    work(tf.constant(1))
    manager = tf.CancellationManager()

    def run():
        with pytest.raises(tf.errors.CancelledError):
            manager.get_cancelable_function(work)(ENDLESS)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.1)
    yield
    manager.start_cancel()
    thread.join(60)


def test_a_child_that_cannot_run_says_so(x, endless, monkeypatch):
    monkeypatch.setattr(fork, "PATIENCE", 0.01)
    multiply(x)
    for work in (
        lambda: float(multiply(x)),
        lambda: float(x[0, 0] * 2.0),
        lambda: float(tf.function(lambda a: a[0, 0] + 1.0)(x)),
    ):
        with pytest.raises(RuntimeError) as caught:
            in_child(work)
        kind, message = caught.value.args
        assert kind == "FailedPreconditionError"
        assert "was forked" in message
        assert "get_context('spawn') or 'forkserver'" in message
    float(multiply(x))  # the parent is as before


def test_after_a_gpu_was_used(x, monkeypatch):
    expected = float(multiply(x))
    monkeypatch.setattr(values, "gpu_in_use", True)

    def work():
        try:
            fork.session_made("GPU:0")
        except tf.errors.FailedPreconditionError as e:
            return str(e), float(multiply(x))
        return None

    message, found = in_child(work)
    assert "CUDA does not work in a forked child" in message
    assert "get_context('spawn') or 'forkserver'" in message
    assert found == pytest.approx(expected, rel=1e-5)
    fork.session_made("CPU:0")


def test_limits_and_awaited_calls_in_a_child(x):
    f = tf.function(lambda a: tf.reduce_sum(a))
    asyncio.run(f.aio(x))
    f.with_options(tf.RunOptions(timeout_in_ms=60_000))(x)

    slow = tf.function(count_to)

    def work():
        try:
            slow.with_options(tf.RunOptions(timeout_in_ms=10))(ENDLESS)
        except tf.errors.DeadlineExceededError:
            return float(asyncio.run(f.aio(x)))
        return None

    assert in_child(work) == pytest.approx(float(f(x)), rel=1e-5)


def _square(number):
    return float(tf.reduce_sum(tf.matmul(tf.fill([50, 50], number), tf.ones([50, 50]))))


def test_a_pool_of_forked_processes():
    assert _square(1.0) == 50.0**3
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(_square, [1.0, 2.0, 3.0]).get(60)
    assert found == [50.0**3 * n for n in (1, 2, 3)]


def test_locks_survive():
    for lock in (
        fork_safe_locks.fork_safe(threading.Lock()),
        fork_safe_locks.fork_safe(threading.RLock()),
    ):
        held, done = threading.Event(), threading.Event()

        def hold(lock=lock, held=held, done=done):
            with lock:
                held.set()
                done.wait(60)

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        held.wait(60)
        assert in_child(lambda lock=lock: lock.acquire(timeout=5)) is True
        assert not lock.acquire(blocking=False), "the parent's is still held"
        done.set()
        thread.join(60)
    own = fork_safe_locks.fork_safe(threading.RLock())
    with own:
        assert in_child(lambda: own._is_owned()) is True


def test_runners_are_plain_again_afterwards(x):
    multiply(x)
    done = threading.Event()
    thread = threading.Thread(target=done.wait, daemon=True)
    thread.start()
    plan = multiply.get_concrete_function(x)._program.plan
    before = plan.run_raw
    in_child(lambda: float(multiply(x)))
    done.set()
    assert getattr(plan.run_raw, "plain", plan.run_raw) == getattr(before, "plain", before)
    assert plan.run_raw.__qualname__ == before.__qualname__


def test_forking_waits_until_the_pool_sleeps(x, monkeypatch, tmp_path):
    """A thread that lies down holds a lock: a child forked then would wait for it for ever."""
    multiply(x)
    stat = tmp_path / "1" / "stat"
    stat.parent.mkdir()
    stat.write_text("1 (a) R b) R 0 0")
    monkeypatch.setattr(fork, "_TASKS", str(tmp_path))

    def fall_asleep():
        time.sleep(0.05)
        stat.write_text("1 (a) R b) S 0 0")

    thread = threading.Thread(target=fall_asleep)
    start = time.monotonic()
    thread.start()
    found = in_child(lambda: float(multiply(x)))
    thread.join()
    assert time.monotonic() - start >= 0.05
    assert found == pytest.approx(float(multiply(x)), rel=1e-5)


def test_forking_does_not_wait_for_busy_threads_of_others(x, monkeypatch, tmp_path):
    multiply(x)
    stat = tmp_path / "1" / "stat"
    stat.parent.mkdir()
    stat.write_text("1 (busy) R 0 0")
    monkeypatch.setattr(fork, "_TASKS", str(tmp_path))
    monkeypatch.setattr(fork, "POOL_PATIENCE", 0.02)
    assert in_child(lambda: float(multiply(x))) == pytest.approx(float(multiply(x)), rel=1e-5)
