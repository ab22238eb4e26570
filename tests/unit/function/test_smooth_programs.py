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
    derivatives,
    forward_over_reverse,
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
        return tf.function(lambda x: way(machine, g, x, directions))(x)

    ways = {
        "a function": lambda: derivatives(machine, f, x, directions),
        "in a function": lambda: traced(derivatives, machine.loss),
        "a function in a function": lambda: traced(derivatives, f),
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


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(12))
def test_programs(seed: int) -> None:
    _check(seed, depth=2, orders=3)
