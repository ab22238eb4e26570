"""The Jacobian of a network with 100 outputs against a backward pass of 100 examples.

Both do the same arithmetic: one backward pass for 100 gradients of the outputs. ``measure`` is for
``bench.gradients``; the promise is a ratio of at most 1.5.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf

OUTPUTS = 100


def network(inputs: int, hidden: int) -> Callable[[Any], Any]:
    """A network of three layers with ``OUTPUTS`` outputs."""
    rng = np.random.default_rng(0)
    sizes = ((inputs, hidden), (hidden, hidden), (hidden, OUTPUTS))
    weights = [tf.Variable((rng.normal(size=s) / np.sqrt(s[0])).astype(np.float32)) for s in sizes]
    biases = [tf.Variable(np.zeros(s[1], np.float32)) for s in sizes]

    def call(x: Any) -> Any:
        for number, (w, b) in enumerate(zip(weights, biases, strict=True)):
            x = x @ w + b
            if number < len(sizes) - 1:
                x = tf.nn.tanh(x)
        return x

    return call


def measure(inputs: int = 784, hidden: int = 512, repeats: int = 60) -> dict[str, float]:
    """Milliseconds of both, and the ratio.

    Returns:
        ``jacobian``: of one example; ``backward``: of ``OUTPUTS`` examples; ``ratio``.
    """
    net = network(inputs, hidden)

    @tf.function
    def jacobian(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = net(x)
        return tape.jacobian(y, x)

    @tf.function
    def backward(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = net(x)
        return tape.gradient(y, x)

    rng = np.random.default_rng(1)
    one = tf.constant(rng.normal(size=(1, inputs)).astype(np.float32))
    many = tf.constant(rng.normal(size=(OUTPUTS, inputs)).astype(np.float32))
    a, b = _median(jacobian, one, repeats), _median(backward, many, repeats)
    return {"jacobian": a, "backward": b, "ratio": a / b}


def _median(call: Callable[[Any], Any], x: Any, repeats: int) -> float:
    for _ in range(12):
        call(x)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call(x)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)
