"""``timestamp``: the time at which a graph runs."""

from __future__ import annotations

import time

import tfx as tf


def test_the_time_now() -> None:
    before = time.time()
    now = tf.timestamp()
    assert (now.dtype, now.shape) == (tf.float64, ())
    assert before <= float(now) <= time.time()


def test_each_run_of_a_function_reads_it() -> None:
    @tf.function
    def read() -> tf.Tensor:
        found = tf.timestamp()
        assert found.shape == ()
        return found

    first = float(read())
    time.sleep(0.002)
    assert float(read()) >= first + 0.001
    assert read.experimental_get_tracing_count() == 1
