"""Composites: one session eagerly, in which operators run together, one call in a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework.builder import ox
from tfx.framework.compiled_graphs import plainly_compiled
from tfx.kernels.library import usable_library
from tfx.ops.common import traced_once
from tfx.ops.common.traced_once import Composite


@pytest.mark.parametrize(
    "draw",
    [
        lambda s: tf.random.stateless_normal([999], s),
        lambda s: tf.random.stateless_uniform([999], s),
        lambda s: tf.random.stateless_truncated_normal([999], s),
        lambda s: tf.random.stateless_gamma([99], s, 0.5),
    ],
    ids=["normal", "uniform", "truncated", "gamma"],
)
def test_eagerly_and_in_functions_the_same_is_drawn(draw: Callable[[Any], Any]) -> None:
    seed = tf.constant([3, 4])
    np.testing.assert_array_equal(draw(seed), tf.function(draw)(seed))


@pytest.mark.skipif(usable_library() is None, reason="the fused kernels are not built")
def test_what_fails_in_a_program_is_run_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = []

    def compiled(graph: Any, device: str, compile: Any = plainly_compiled) -> Any:
        plain.append(graph.name)
        return compile(graph, device)

    monkeypatch.setattr(traced_once, "plainly_compiled", compiled)

    def body(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        return [ox.Add(ox.Mul(ox.Div(x, y), y), ox.Abs(ox.Sub(x, y)))]

    composite = Composite(body, "divided")
    x = tf.constant([7] * 64)
    assert composite(x, tf.constant([2] * 64))[0][5] == 6 + 5
    assert plain == []
    with pytest.raises(tf.errors.OpError):
        composite(x, tf.constant([0] * 64))
    assert plain == ["divided"]


def test_functions_of_several_operators_run_at_once_until_a_tape_records_them():
    made = []

    @traced_once.eagerly_at_once
    def _doubled_sum(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        made.append(type(x).__name__)
        total = ox.Add(x, y)
        return ox.Add(total, total)

    x, y = tf.constant([[1.0, 2.0]]), tf.constant([[3.0], [4.0]])
    for _ in range(2):
        np.testing.assert_array_equal(_doubled_sum(x, y), [[8, 10], [10, 12]])
    assert made == ["SymbolicTensor"]
    np.testing.assert_array_equal(_doubled_sum(y, y), [[12], [16]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = _doubled_sum(x, y)
    np.testing.assert_array_equal(tape.gradient(z, x), [[4, 4]])
    assert made[-1] == "EagerTensor"
