"""``await`` of calls: the loop goes on, cancelled calls leave no trace, the context comes along."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import tfx as tf
from tests.unit.runtime import slow_work
from tfx.core.errors import CancelledError, DeadlineExceededError, InvalidArgumentError


@pytest.fixture(scope="module")
def slow():
    return slow_work.made()


def test_result_and_arguments():
    f = tf.function(lambda x, y=None: {"sum": x + y, "none": None})

    async def main():
        found = await f.aio(tf.constant(1.0), y=tf.constant(2.0))
        concrete = f.get_concrete_function(tf.constant(1.0), y=tf.constant(2.0))
        again = await concrete.aio(tf.constant(3.0), y=tf.constant(4.0))
        return found, again

    found, again = asyncio.run(main())
    assert float(found["sum"]) == 3.0
    assert found["none"] is None
    assert float(again["sum"]) == 7.0


def test_the_loop_goes_on(slow):
    work, _, count = slow
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    async def main():
        ticking = asyncio.create_task(tick())
        await work.aio(tf.constant(3000))
        ticking.cancel()

    before = int(count)
    asyncio.run(main())
    assert ticks > 3
    assert int(count) == before + 1


def test_a_cancelled_task_changes_nothing(slow):
    work, x, count = slow

    async def main():
        task = asyncio.create_task(work.aio(x))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    before, threads = int(count), threading.active_count()
    asyncio.run(main())
    assert int(count) == before
    assert threading.active_count() <= threads + 1


def test_a_timeout_of_asyncio(slow):
    work, x, count = slow

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await work.aio(x)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(work.aio(x), 0.02)

    before = int(count)
    asyncio.run(main())
    assert int(count) == before


def test_limits_and_managers(slow):
    work, x, count = slow

    async def main():
        with pytest.raises(DeadlineExceededError):
            await work.with_options(tf.RunOptions(timeout_in_ms=10)).aio(x)
        manager = tf.CancellationManager()
        asyncio.get_running_loop().call_later(0.02, manager.start_cancel)
        with pytest.raises(CancelledError):
            await manager.get_cancelable_function(work).aio(x)

    before = int(count)
    asyncio.run(main())
    assert int(count) == before


def test_calls_that_assign_run_in_order():
    v = tf.Variable(0.0)

    @tf.function
    def step(x):
        v.assign(v * 0.5 + x)
        return v + 0.0

    async def main():
        return await asyncio.gather(*[step.aio(tf.constant(float(i))) for i in range(30)])

    expected, value = [], 0.0
    for i in range(30):
        value = value * 0.5 + i
        expected.append(value)
    np.testing.assert_allclose([float(r) for r in asyncio.run(main())], expected, rtol=1e-6)
    # Another loop has a line of its own.
    assert len(asyncio.run(main())) == 30


def test_the_line_goes_on_after_a_call_was_cancelled(slow):
    work, x, count = slow

    async def main():
        first = asyncio.create_task(work.aio(x))
        waiting = asyncio.create_task(work.aio(x))
        last = asyncio.create_task(work.aio(tf.constant(2)))
        await asyncio.sleep(0.02)
        waiting.cancel()
        first.cancel()
        await last
        found = await asyncio.gather(first, waiting, return_exceptions=True)
        assert all(isinstance(e, asyncio.CancelledError) for e in found)

    before = int(count)
    asyncio.run(main())
    assert int(count) == before + 1


def test_calls_that_only_read_run_side_by_side():
    together = threading.Barrier(2, timeout=30)

    def meet(x):
        together.wait()
        return x

    f = tf.function(lambda x: tf.py_function(meet, [x], tf.float32))
    f.get_concrete_function(tf.constant(0.0))

    async def main():
        return await asyncio.gather(f.aio(tf.constant(1.0)), f.aio(tf.constant(2.0)))

    assert [float(r) for r in asyncio.run(main())] == [1.0, 2.0]


def test_tapes_and_scopes_come_along():
    w = tf.Variable(3.0)
    square = tf.function(lambda x: w * w * x)

    async def main():
        with tf.GradientTape() as tape:
            y = await square.aio(tf.constant(2.0))
        return tape.gradient(y, w)

    assert float(asyncio.run(main())) == 12.0


def test_exceptions_come_back():
    f = tf.function(lambda x, i: tf.gather(x, i))

    async def main():
        await f.aio(tf.ones([3]), tf.constant(9))

    with pytest.raises(InvalidArgumentError, match=r"test_async_calls\.py"):
        asyncio.run(main())


def test_refused_inside_a_trace():
    inner = tf.function(lambda x: x)

    @tf.function
    def outer(x):
        coroutine = inner.aio(x)
        try:
            coroutine.send(None)
        finally:
            coroutine.close()

    with pytest.raises(InvalidArgumentError, match="'outer' was being traced"):
        outer(tf.constant(1.0))


def test_timings():
    f = tf.function(lambda x: tf.exp(x))
    metadata = tf.RunMetadata()
    asyncio.run(f.with_options(run_metadata=metadata).aio(tf.constant(1.0)))
    assert [row.op for row in metadata.rows()] == ["Exp"]
