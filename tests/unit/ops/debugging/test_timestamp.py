"""``timestamp``: the clock, read at each call and in order."""

from __future__ import annotations

import time

import tfx as tf


def test_the_clock_goes_on() -> None:
    @tf.function
    def run() -> tuple[tf.Tensor, tf.Tensor]:
        first = tf.timestamp()
        tf.py_function(lambda: time.sleep(0.01), [], [])
        return first, tf.timestamp()

    before = time.time()
    first, second = run()
    third = tf.timestamp()
    assert before <= float(first) < float(second) <= float(third) <= time.time()
    assert float(run()[0]) >= float(third)
    assert first.dtype is tf.float64
