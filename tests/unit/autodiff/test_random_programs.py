"""Random programs: all ways to differentiate agree with each other and with differences.

Each program runs eagerly, in a function, and in a function of unknown sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.autodiff.random_programs import KIND, Program, program

SEEDS = (129, 262, 7, 23, 41, 58)
STEP = 1e-5


class Directions:
    """A program as a scalar function along one direction of its argument and variable."""

    def __init__(self, made: Program, seed: int) -> None:
        rng = np.random.default_rng(seed + 1000)
        self.made = made
        weights = tf.constant(rng.normal(size=made.run(tf.constant(made.at)).shape.as_list()))
        self.loss = lambda x: tf.reduce_sum(made.run(x) * weights)
        self.at = tf.constant(made.at, KIND)
        self.along = [rng.normal(size=made.at.shape), rng.normal(size=made.variable.shape)]
        self.tangents = [tf.constant(d, KIND) for d in self.along]
        self.sources = [self.at, made.variable]

    def dot(self, gradients: Any) -> float:
        return float(sum(np.vdot(g, d) for g, d in zip(gradients, self.along, strict=True)))

    def gradients(self, f: Any, x: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        sources = [x, self.made.variable]
        return y, tape.gradient(y, sources, unconnected_gradients="zero")

    def accumulator(self) -> Any:
        return tf.autodiff.ForwardAccumulator(self.sources, self.tangents)

    def differences(self) -> tuple[float, list[Any]]:
        """Of the value and of the gradients."""
        before, found = self.made.variable.numpy(), []
        for h in (STEP, -STEP):
            self.made.variable.assign(before + h * self.along[1])
            moved = tf.constant(self.made.at + h * self.along[0], KIND)
            y, g = self.gradients(self.loss, moved)
            found.append((float(y), [q.numpy() for q in g]))
        self.made.variable.assign(before)
        (a, p), (b, q) = found
        return (a - b) / (2 * STEP), [(i - j) / (2 * STEP) for i, j in zip(p, q, strict=True)]


def _modes(f: Callable[[Any], Any], rank: int) -> list[Any]:
    signature = [tf.TensorSpec([None] * rank, KIND)]
    return [f, tf.function(f), tf.function(f, input_signature=signature)]


def _close(a: Any, b: Any, tolerance: float = 1e-7) -> None:
    a, b = np.asarray(a), np.asarray(b)
    scale = max(1.0, float(abs(b).max(initial=0.0)))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def _zeros(x: Any, source: Any) -> Any:
    return np.zeros(source.shape) if x is None else x


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_agree(seed: int) -> None:
    made = program(seed)
    case = Directions(made, seed)
    slope, curve = case.differences()
    for f in _modes(case.loss, made.at.ndim):
        _, found = case.gradients(f, case.at)
        _close(case.dot(found), slope, 1e-5)
        with case.accumulator() as acc:
            y = f(case.at)
        _close(acc.jvp(y, unconnected_gradients="zero"), case.dot(found))
        for product in (_reverse_reverse, _forward_reverse, _reverse_forward):
            for ours, theirs in zip(product(case, f), curve, strict=True):
                _close(ours, theirs, 1e-4)
        _close(_forward_forward(case, f), case.dot(curve), 1e-4)


def _reverse_reverse(case: Directions, f: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(case.at)
        _, inner = case.gradients(f, case.at)
        s = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(inner, case.tangents, strict=True)])
    return outer.gradient(s, case.sources, unconnected_gradients="zero")


def _forward_reverse(case: Directions, f: Any) -> Any:
    with case.accumulator() as acc:
        _, inner = case.gradients(f, case.at)
    return [acc.jvp(g, unconnected_gradients="zero") for g in inner]


def _reverse_forward(case: Directions, f: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(case.at)
        with case.accumulator() as acc:
            y = f(case.at)
        tangent = acc.jvp(y, unconnected_gradients="zero")
    return outer.gradient(tangent, case.sources, unconnected_gradients="zero")


def _forward_forward(case: Directions, f: Any) -> Any:
    with case.accumulator() as outer:
        with case.accumulator() as inner:
            y = f(case.at)
        tangent = inner.jvp(y, unconnected_gradients="zero")
    return outer.jvp(tangent, unconnected_gradients="zero")


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobians_and_maps_agree(seed: int) -> None:
    made = program(seed)
    x, along = tf.constant(made.at, KIND), np.random.default_rng(seed).normal(size=made.at.shape)
    batch = tf.stack([x, x * 0.5, x * -0.3])
    for f in _modes(made.run, made.at.ndim):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        jacobian = tape.jacobian(y, x, unconnected_gradients="zero")
        with tf.autodiff.ForwardAccumulator(x, tf.constant(along)) as acc:
            y = f(x)
        tangent = _zeros(acc.jvp(y), y)
        _close(np.tensordot(jacobian, along, axes=made.at.ndim), tangent)
        _close(tf.vectorized_map(f, batch, warn=False), [f(e).numpy() for e in tf.unstack(batch)])
