"""``print``: Python's where the function is traced, the graph's in its loops and branches."""

from __future__ import annotations

import pytest

import tfx as tf


def test_outside_of_blocks_it_tells_of_a_trace(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def double(a):
        print("Tracing with", a)
        return a + a

    for value in (1, 2, 1.5, 2.5):
        double(tf.constant(value))
    captured = capfd.readouterr()
    assert captured.out.splitlines() == [
        'Tracing with Tensor("a:0", shape=(), dtype=int32)',
        'Tracing with Tensor("a:0", shape=(), dtype=float32)',
    ]
    assert captured.err == ""


def test_in_blocks_it_acts_at_each_run(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def count(n):
        for i in tf.range(n):
            print("i", i)
        if n > 2:
            print("many", n, sep="=")
        return n

    count(tf.constant(2))
    assert capfd.readouterr().err.splitlines() == ["i 0", "i 1"]
    count(tf.constant(3))
    assert capfd.readouterr().err.splitlines() == ["i 0", "i 1", "i 2", "many=3"]
