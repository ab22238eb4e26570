"""Derivatives of random programs up to the third are the eager ones, however they are asked for."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.function.smooth_programs import (
    Derivatives,
    Machine,
    by_graph,
    by_jacobians,
    derivatives,
    forward_over_reverse,
    is_plain,
    program,
)


def _arrays(found: Derivatives) -> list[list[Any]]:
    return [[tf.convert_to_tensor(x).numpy() for x in part] for part in found]


def _check(seed: int, depth: int, orders: int) -> None:
    machine, rng = Machine(program(random.Random(seed), depth)), np.random.default_rng(seed)
    x = tf.constant(rng.uniform(-1, 1, 3))
    directions = [[tf.constant(rng.normal(size=3)) for _ in range(3)] for _ in range(orders)]
    f = tf.function(machine.loss)

    def traced(way: Any, g: Any) -> Any:
        wanted = directions[:2] if way is by_jacobians else directions
        return tf.function(lambda x: way(machine, g, x, wanted))(x)

    ways = {
        "a function": lambda: derivatives(machine, f, x, directions),
        "in a function": lambda: traced(derivatives, machine.loss),
        "a function in a function": lambda: traced(derivatives, f),
        "jacobians": lambda: by_jacobians(machine, machine.loss, x, directions[:2]),
        "jacobians of a function": lambda: by_jacobians(machine, f, x, directions[:2]),
        "jacobians in a function": lambda: traced(by_jacobians, machine.loss),
        "gradients": lambda: traced(by_graph, machine.loss),
        "forward": lambda: forward_over_reverse(machine, f, x, directions),
        "forward in a function": lambda: traced(forward_over_reverse, machine.loss),
    }
    tf.config.run_functions_eagerly(True)
    try:
        wanted = _arrays(derivatives(machine, machine.loss, x, directions))
    finally:
        tf.config.run_functions_eagerly(False)
    for name, way in ways.items():
        machine.reset()
        for order, (one, other) in enumerate(zip(wanted, _arrays(way()), strict=False)):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(
                    b, a, rtol=1e-6, atol=1e-8, err_msg=f"{name}, order {order}"
                )


@pytest.mark.parametrize("seed", range(100, 103))
def test_small_programs(seed: int) -> None:
    _check(seed, depth=1, orders=2)


def _differences(machine: Machine, x: Any, directions: list[Any]) -> list[float]:
    """The value's change along a direction, by central differences, and the same of the slope."""
    step = 1e-5
    start = [v.numpy() for v in machine.variables]

    def at(shift: float, order: int) -> float:
        moved = [s + shift * d.numpy() for s, d in zip(start, directions[1:], strict=True)]
        machine.reset()
        for variable, value in zip(machine.variables, moved, strict=True):
            variable.assign(value)
        point = x + shift * directions[0]
        if not order:
            return float(machine.loss(point))
        found = derivatives(machine, machine.loss, point, [directions])[1]
        return sum(float(tf.reduce_sum(g * d)) for g, d in zip(found, directions, strict=True))

    return [(at(step, order) - at(-step, order)) / (2 * step) for order in range(2)]


_PLAIN = [seed for seed in range(110, 170) if is_plain(program(random.Random(seed), 1))]


@pytest.mark.parametrize("seed", _PLAIN)
def test_eager_derivatives_are_central_differences(seed: int) -> None:
    machine, rng = Machine(program(random.Random(seed), 1)), np.random.default_rng(seed)
    x = tf.constant(rng.uniform(-1, 1, 3))
    directions = [tf.constant(rng.normal(size=3)) for _ in range(3)]
    tf.config.run_functions_eagerly(True)
    try:
        found = derivatives(machine, machine.loss, x, [directions, directions])
        machine.reset()
        wanted = _differences(machine, x, directions)
    finally:
        tf.config.run_functions_eagerly(False)
    slopes = [
        sum(float(tf.reduce_sum(g * d)) for g, d in zip(part, directions, strict=True))
        for part in found[1:]
    ]
    np.testing.assert_allclose(slopes, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(12))
def test_programs(seed: int) -> None:
    _check(seed, depth=2, orders=3)
