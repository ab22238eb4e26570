"""Gradients: tracing them over tracing the graph, Jacobians over a backward pass of as many rows.

The comparison with other frameworks, of time and memory, is in ``bench.peers``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf
from bench.measure import Result, best_of
from bench.peers import networks, tensorflow_networks

_OUTPUTS, _INPUTS, _HIDDEN = 100, 256, 512


def run(effort: float = 1.0) -> list[Result]:
    """All of it.

    Args:
        effort: Less than 1 makes fewer calls.
    """
    return [*_tracing(effort), *_jacobian(effort)]


# Tracing


def _tracing(effort: float) -> list[Result]:
    """What a gradient takes to trace: within a function, and of one under a tape."""
    results = []
    rounds = 40 if effort == 1 else 2
    for name in networks.NAMES:
        inside, outside, forward = _traces(name, rounds)
        note = "tracing the loss alone"
        what = f"tracing the gradient of the {_TITLES[name]}"
        results.append(Result(f"{what}, in a function", inside, forward, "ms", 1.5, note))
        results.append(Result(f"{what}, of a function", outside, forward, "ms", 1.5, note))
    return results


_TITLES = {"mlp": "MLP", "block": "ResNet block", "attention": "attention"}


def _traces(name: str, rounds: int) -> tuple[float, float, float]:
    """Milliseconds: the gradient within a trace, that of a traced function, the loss."""
    arrays = networks.arrays(name)
    inputs = [tf.TensorSpec(a.shape) for a in arrays[0]]
    variables = [tf.Variable(a) for a in arrays[1]]
    loss = tensorflow_networks.LOSSES[name](tf)

    def forward(*inputs: Any) -> Any:
        return loss(*inputs, *variables)

    def both(*inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            result = loss(*inputs, *variables)
        return tape.gradient(result, variables)

    best = [float("inf")] * 3
    for _ in range(rounds + 1):
        function = tf.function(forward)
        alone = _seconds(lambda f=function: f.get_concrete_function(*inputs))  # type: ignore[misc]
        whole = _seconds(lambda: tf.function(both).get_concrete_function(*inputs))
        outside = _seconds(lambda f=function: _pair(f, inputs))  # type: ignore[misc]
        best = [min(b, t) for b, t in zip(best, (whole, outside, alone), strict=True)]
    whole, outside, alone = (seconds * 1e3 for seconds in best)
    return whole - alone, outside, alone


def _pair(function: Any, inputs: list[Any]) -> Any:
    """The forward and backward graph that the first call under a tape makes."""
    pure = function.get_concrete_function(*inputs)._observed.make_pure()
    count = len(inputs)
    return pure.pair(tuple(i >= count for i in range(len(pure.graph.inputs))))


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


# Jacobians


def _jacobian(effort: float) -> list[Result]:
    """The Jacobian of an MLP by its input, beside one backward pass with as many rows."""
    rng = np.random.default_rng(0)
    sizes = [(_INPUTS, _HIDDEN), (_HIDDEN, _HIDDEN), (_HIDDEN, _OUTPUTS)]
    weights = [tf.Variable((rng.standard_normal(s) * 0.05).astype(np.float32)) for s in sizes]

    def network(x: Any) -> Any:
        for w in weights[:-1]:
            x = tf.nn.relu(tf.matmul(x, w))
        return tf.matmul(x, weights[-1])

    @tf.function
    def jacobian(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = network(x)
        return tape.jacobian(y, x)

    @tf.function
    def backward(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = network(x)
        return tape.gradient(y, x)

    row = tf.constant(rng.standard_normal((1, _INPUTS)).astype(np.float32))
    rows = tf.constant(np.repeat(row.numpy(), _OUTPUTS, 0))
    calls = [lambda: jacobian(row), lambda: backward(rows)]
    rounds = 40 if effort == 1 else 3
    ours, reference = best_of(calls, number=max(1, int(20 * effort)), repeats=rounds)
    name = f"Jacobian of an MLP of {_OUTPUTS} outputs"
    return [Result(name, ours, reference, "us", 1.5, f"backward pass of {_OUTPUTS} rows")]
