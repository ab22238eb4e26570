"""Tracing from several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import tfx as tf


def test_functions_that_call_each_other_can_be_traced_at_once():
    @tf.function
    def even(x, n):
        return x if n == 0 else odd(x, n - 1) + 1.0

    @tf.function
    def odd(x, n):
        return x if n == 0 else even(x, n - 1) * 2.0

    together = Barrier(2)

    def call(function):
        together.wait()
        return float(function(tf.constant(1.0), 8))

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(call, f) for f in (even, odd)]
        # Each would wait for the other for ever if functions had locks of their own.
        assert [r.result(timeout=60) for r in results] == [float(_even(1, 8)), float(_odd(1, 8))]


def _even(x, n):
    return x if n == 0 else _odd(x, n - 1) + 1


def _odd(x, n):
    return x if n == 0 else _even(x, n - 1) * 2
