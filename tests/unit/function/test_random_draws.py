"""Random numbers in graphs: fresh at each run, eager's under a seed, in branches and loops too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

GENERATOR = tf.random.Generator.from_seed(3)
LOGITS = [[0.0, 1.0, 2.0]] * 20
DRAWS: dict[str, Callable[[], Any]] = {
    "normal": lambda: tf.random.normal([3]),
    "uniform": lambda: tf.random.uniform([3]),
    "integers": lambda: tf.random.uniform([3], maxval=10_000, dtype=tf.int32),
    "truncated_normal": lambda: tf.random.truncated_normal([3]),
    "shuffle": lambda: tf.random.shuffle(tf.range(20)),
    "categorical": lambda: tf.random.categorical(LOGITS, 3),
    "seeded": lambda: tf.random.uniform([3], seed=7),
    "generator": lambda: GENERATOR.normal([3]),
    "two": lambda: tf.random.uniform([3]) - tf.random.uniform([3]),
}


def restart() -> None:
    tf.random.set_seed(5)
    GENERATOR.reset_from_seed(3)


@pytest.mark.parametrize("name", DRAWS)
def test_calls(name: str) -> None:
    draw = DRAWS[name]
    traced = tf.function(draw)
    runs = []
    for f in (draw, draw, traced, traced):
        restart()
        runs.append([f().numpy() for _ in range(3)])
    for run in runs:
        assert len({x.tobytes() for x in run}) == 3
    for one, other in (runs[:2], runs[2:]):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert traced.experimental_get_tracing_count() == 1


def test_stateless_draws_depend_on_the_seed_alone() -> None:
    f = tf.function(lambda seed: tf.random.stateless_normal([3], seed))
    a, b, c = (f(tf.constant(seed)).numpy() for seed in ([1, 2], [1, 2], [1, 3]))
    assert (a == b).all()
    assert (a != c).any()
    assert (a == tf.random.stateless_normal([3], [1, 2]).numpy()).all()


def test_loops() -> None:
    def draw(n: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, x: tf.Tensor) -> Any:
            return i + 1, tf.concat([x[1:], tf.random.uniform([1])], 0)

        start = [tf.constant(0), tf.zeros([4])]
        return tf.while_loop(lambda i, x: i < n, body, start)[1]

    restart()
    once = tf.function(lambda: tf.random.uniform([]))
    expected = [float(once()) for _ in range(8)]
    f = tf.function(draw)
    found = np.concatenate([f(tf.constant(4)).numpy() for _ in range(2)])
    assert found.tolist() == expected


def test_branches_draw_only_where_they_go() -> None:
    def draw(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(x > 0.0, lambda: tf.random.normal([2]), lambda: tf.zeros([2]))

    signs = [1.0, -1.0, 1.0]
    runs = []
    for f in (draw, tf.function(draw)):
        restart()
        runs.append(np.stack([f(tf.constant(s)).numpy() for s in signs]))
        assert (runs[-1][1] == 0.0).all()
    # The branch that was not taken drew nothing.
    once = tf.function(lambda: tf.random.normal([2]))
    assert (runs[1][0] == once().numpy()).all()
    assert (runs[1][2] == once().numpy()).all()
    restart()
    assert (runs[0][0] == tf.random.normal([2]).numpy()).all()
    assert (runs[0][2] == tf.random.normal([2]).numpy()).all()
