"""Every pass: equal results before and after, nothing more to do the second time, valid graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.graph.passes.programs import random_graph, run
from tfx.graph.ir import Graph, Node
from tfx.graph.kernels.legalize import legalize
from tfx.graph.passes.common_subexpressions import eliminate_common
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.dead_state import remove_dead_state
from tfx.graph.passes.fold_branches import fold_branches
from tfx.graph.passes.fold_constants import fold_constants
from tfx.graph.passes.hoist_constants import hoist_constants
from tfx.graph.passes.pipeline import prepare
from tfx.graph.passes.remove_copies import remove_copies
from tfx.graph.passes.sink_expands import sink_expands
from tfx.graph.summary import PassEffect, count_nodes
from tfx.graph.verify import verify

PASSES: dict[str, Callable[[Graph], Graph]] = {
    "copies": remove_copies,
    "dead nodes": remove_dead_nodes,
    "dead state": remove_dead_state,
    "expansions": sink_expands,
    "kernels": legalize,
    "conditions": lambda g: fold_branches(g, {}),
    "constants": fold_constants,
    "common": eliminate_common,
    "hoisting": lambda g: hoist_constants(g, 8),
    "all": prepare,
}
SEEDS = range(8)


def nodes_of(graph: Graph) -> list[Node]:
    return [n for part in (graph, *graph.subgraphs()) for n in part.nodes]


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("seed", SEEDS)
def test_results_do_not_change(name: str, seed: int) -> None:
    graph = random_graph(seed)
    nodes, inputs = list(graph.nodes), [n.inputs for n in graph.nodes]
    changed = PASSES[name](graph)
    verify(changed)
    assert [v.dtype for v in changed.outputs] == [v.dtype for v in graph.outputs]
    for a, b in zip(run(changed), run(graph), strict=True):
        np.testing.assert_array_equal(a, b)  # to the last bit
    assert graph.nodes == nodes  # and what was traced is as it was
    assert [n.inputs for n in graph.nodes] == inputs


@pytest.mark.parametrize("name", PASSES)
def test_the_second_time_nothing_happens(name: str) -> None:
    for seed in SEEDS:
        once = PASSES[name](random_graph(seed))
        again = PASSES[name](once)
        assert [n.op for n in nodes_of(again)] == [n.op for n in nodes_of(once)]
        assert len(again.constants) == len(once.constants)


def test_no_node_is_dead_constant_or_repeated_afterwards() -> None:
    for seed in SEEDS:
        graph = prepare(random_graph(seed))
        for change in (fold_constants, eliminate_common, remove_dead_nodes, remove_copies):
            assert count_nodes(change(graph)) == count_nodes(graph)


def test_names_and_lines_survive() -> None:
    for seed in SEEDS:
        graph = random_graph(seed)
        known = {(n.name, n.source) for n in nodes_of(graph)}
        assert {(n.name, n.source) for n in nodes_of(prepare(graph))} <= known


def train_step() -> Any:
    weights = [tf.Variable(np.eye(4, dtype=np.float32)) for _ in range(3)]

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = x
            for w in weights:
                y = tf.nn.sigmoid(y @ w) / tf.cast(tf.shape(y)[1], tf.float32)
            loss = tf.reduce_mean(y * tf.nn.sigmoid(y))
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(g * tf.exp(tf.constant(-2.0)))
        return loss

    return step.get_concrete_function(tf.TensorSpec([2, 4], tf.float32)).graph


def test_effects_are_told() -> None:
    graph = train_step()
    summary = graph.summary()
    names = [p.name for p in summary.passes]
    assert names[:5] == ["lstm kernels", "composites", "matrix kernels", "calls", "copies"]
    assert {"dead nodes", "kernels", "constants", "common"} <= set(names)
    for one, after in zip(summary.passes, summary.passes[1:], strict=False):
        assert one.after == after.before
    assert summary.passes[0].before == summary.nodes
    assert summary.passes[-1].after == count_nodes(prepare(graph.graph))
    assert summary.folded >= 3  # the sizes, and the exponential
    assert summary.shared + summary.folded + summary.removed >= 6
    text = str(summary)
    assert f"{summary.folded} folded, {summary.shared} shared" in text
    assert "constants" in text


def test_effects_count_what_differs() -> None:
    effects: list[PassEffect] = []
    concrete = tf.function(
        lambda x: tf.sin(x) * tf.sin(x) + tf.exp(tf.constant(2.0)) + tf.identity(x) * 1.0
    ).get_concrete_function(tf.TensorSpec([2], tf.float32))
    prepare(concrete.graph.graph, effects=effects)
    change = {e.name: e.after - e.before for e in effects}
    assert (change["copies"], change["constants"], change["common"]) == (-1, -1, -1)


def test_a_graph_that_is_being_traced_has_no_passes_yet() -> None:
    seen = []

    @tf.function
    def f(x: Any) -> Any:
        seen.append((x + 1.0).graph.summary())
        return x

    f(tf.constant(1.0))
    assert seen[0].passes == ()
