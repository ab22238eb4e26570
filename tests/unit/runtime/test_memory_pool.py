"""All sessions on the CPU take their memory from one pool."""

from __future__ import annotations

import subprocess
import sys

import pytest

_GROWTH = """
import numpy as np
import tfx as tf

def status(name):
    with open("/proc/self/status") as file:
        return next(int(l.split()[1]) * 1024 for l in file if l.startswith(name))

def train(rows):
    w = tf.Variable(np.eye(256, dtype=np.float32))
    x = tf.constant(np.ones((rows, 256), np.float32))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            h = x
            for _ in range(8):
                h = tf.tanh(tf.matmul(h, w))
            loss = tf.reduce_mean(tf.square(h))
        return tape.gradient(loss, w)

    return lambda: step(x)

small, large = train(4), train(8_000)
for _ in range(12):
    small()
before = status("VmRSS")
for _ in range(12):
    large()
print(status("VmHWM") - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_function_that_is_compiled_twice_needs_its_memory_once():
    """Live and frozen, and the blocks of a first call beside those of later ones: four times."""
    done = subprocess.run(
        [sys.executable, "-c", _GROWTH], check=True, capture_output=True, text=True
    )
    kept = 8 * 8_000 * 256 * 4  # the results of tanh
    assert kept < int(done.stdout) < 2.5 * kept
