"""Unused memory goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.source_tree import ROOT

PROGRAM = """
import numpy as np
import tfx as tf
from tfx.runtime.release_memory import release_memory
def used():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
release_memory()
x = tf.ones([1000, 1000])
y = tf.reduce_sum(x @ x)
before = used()
big = tf.function(lambda x: tf.reduce_sum(tf.exp(x) @ tf.transpose(tf.exp(x))))
big(tf.ones([6000, 1000]))
after = used()
release_memory()
release_memory()
print(after - before, used() - before, float(y), float(tf.reduce_sum(x @ x)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_pool_and_the_heap_are_given_back() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    taken, kept, first, second = map(float, run.stdout.split())
    assert taken > 100
    assert kept < taken / 2
    assert first == second == 1e9
