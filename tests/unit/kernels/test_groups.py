"""Which nodes run together: never two groups that need each other."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import always_fuse, fused, fused_nodes, needs_library, run
from tfx.graph.fusion import elementwise as pass_module
from tfx.kernels import programs

pytestmark = [needs_library, pytest.mark.usefixtures("always_fuse")]
__all__ = ["always_fuse"]


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_groups_that_are_full_do_not_need_each_other(monkeypatch, most, seed):
    monkeypatch.setattr(pass_module, "_MOST_NODES", most)
    rng = np.random.default_rng(seed)

    @tf.function
    def braid(x, y):
        values = [x, y]
        for _ in range(40):
            a, b = rng.choice(len(values), 2)
            values.append(values[a] * 0.5 - values[b])
        return values[2:]

    given = [np.float32([1, 2, 3]), np.float32([3, 0, -1])]
    graph = braid.get_concrete_function(*map(tf.constant, given))._observed.make_pure().graph
    together = fused(graph)
    assert most == 1 or fused_nodes(together) > 1
    for a, b in zip(run(together, given), run(graph, given), strict=True):
        np.testing.assert_array_equal(a, b)


@tf.function
def across_axes(x):
    total = tf.reduce_sum(tf.exp(x), axis=1)
    column = tf.reshape(total * 2.0 + 1.0, [-1, 1]) + tf.reshape(tf.sqrt(total), [1, -1])
    return tf.expand_dims(column, 1) * 0.5 - tf.squeeze(tf.expand_dims(column, 0), 0)[:, None, :]


@pytest.mark.parametrize(("rows", "alone"), [(30, 0), (60, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_axes_for_few_numbers_part_no_program(rows, alone, dtype):
    x = np.random.default_rng(0).normal(size=(rows, 5)).astype(dtype)
    graph = across_axes.get_concrete_function(tf.constant(x))._observed.make_pure().graph
    together = fused(graph)
    reshapes = [n for n in together.nodes if n.op in ("Reshape", "Squeeze", "Unsqueeze")]
    assert len(reshapes) >= alone if alone else not reshapes and fused_nodes(together) == 1
    np.testing.assert_allclose(run(together, [x])[0], run(graph, [x])[0], rtol=1e-6)


def test_thousands_of_nodes_are_one_program_of_many_tensors():
    """What would go from one program to another stays in one."""

    @tf.function
    def tangle(x, *more):
        values = [x + y for y in more]
        sums = [tf.reduce_sum(v) for v in values]
        for _ in range(3):
            sums = [a - b for a, b in zip(sums, [*sums[1:], sums[0]], strict=True)]
            values = [tf.minimum(tf.abs(v * s), 8.0) for v, s in zip(values, sums, strict=True)]
            sums = [tf.reduce_sum(v) for v in values]
        return tf.add_n(sums), values

    rng = np.random.default_rng(1)
    given = [rng.integers(-4, 4, (3, 4)).astype(np.float32) for _ in range(400)]
    graph = tangle.get_concrete_function(*map(tf.constant, given))._observed.make_pure().graph
    assert len(graph.nodes) > 6000
    together = fused(graph)
    assert fused_nodes(together) == 1
    for a, b in zip(run(together, given), run(graph, given), strict=True):
        np.testing.assert_array_equal(a, b)


def test_more_sources_than_a_loop_has_are_several_programs():
    @tf.function
    def sums(*values):
        return [a + b for a, b in zip(values[::2], values[1::2], strict=True)]

    given = [np.float32([i, -1.5]) for i in range(2 * programs.MAX_STREAMS - 500)]
    graph = sums.get_concrete_function(*map(tf.constant, given))._observed.make_pure().graph
    together = fused(graph)
    assert fused_nodes(together) > 1
    for a, b in zip(run(together, given), run(graph, given), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("shapes", "ours"),
    [
        (((50, 60), (50, 60), ()), True),
        (((50, 60), (60,), (50, 60)), True),
        (((50, 1), (50, 60), (50, 60)), False),  # few conditions: ONNX Runtime's kernel is as quick
        (((50, 60), (50, 1), (1, 60)), False),
    ],
)
def test_a_selection_by_a_condition_for_each_element_is_a_program_of_its_own(shapes, ours, rng):
    condition = rng.random(shapes[0]) < 0.5
    x, y = (np.asarray(rng.normal(size=s), np.float32) for s in shapes[1:])
    select = tf.function(lambda c, x, y: tf.where(c, x, y))
    args = [tf.constant(a) for a in (condition, x, y)]
    np.testing.assert_array_equal(select(*args), np.where(condition, x, y))
    with tf.profile() as p:
        select(*args)
    assert [node.op for node in p.nodes] == ["Fused" if ours else "Where"]
