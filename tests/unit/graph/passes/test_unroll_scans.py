"""``Scan`` as the nodes of all its steps: the same numbers, whatever runs backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.function.execution.plan import Plan
from tfx.graph.passes.pipeline import prepare, tune_for_gpu
from tfx.graph.passes.unroll_scans import unroll_scans
from tfx.graph.verify import verify
from tfx.runtime.values import from_numpy, to_numpy


def _sums(x: Any) -> Any:
    total, found = tf.zeros([3]), tf.TensorArray(tf.float32, x.shape[0])
    for i in tf.range(x.shape[0]):
        total = total * 0.5 + x[i]
        found = found.write(i, tf.tanh(total))
    return total, found.stack()


def _slopes(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(_sums(x)[1] ** 2)
    return tape.gradient(y, x)


@pytest.mark.parametrize("steps", [1, 2, 31, 32, 33, 70])
@pytest.mark.parametrize("program", [_sums, _slopes])
def test_the_same_numbers(program: Any, steps: int) -> None:
    spec = tf.TensorSpec([steps, 3])
    graph = tf.function(program).get_concrete_function(spec)._observed.make_pure().graph
    scanned = tune_for_gpu(prepare(graph))
    assert any(n.op in ("Scan", "Loop") for n in scanned.nodes) or steps == 1
    unrolled = unroll_scans(scanned)
    verify(unrolled)
    assert not any(n.op == "Scan" for n in unrolled.nodes)
    assert all(len(n.inputs) <= 32 and len(n.outputs) <= 32 for n in unrolled.nodes)
    x = np.random.default_rng(0).normal(size=(steps, 3)).astype(np.float32)
    expected, found = (Plan(g, fuse=False).run([from_numpy(x)]) for g in (graph, unrolled))
    for i in range(len(graph.outputs)):
        np.testing.assert_allclose(to_numpy(found[i]), to_numpy(expected[i]), rtol=1e-6)


def test_long_loops_stay() -> None:
    graph = tf.function(_sums).get_concrete_function(tf.TensorSpec([4000, 3]))
    scanned = tune_for_gpu(prepare(graph._observed.make_pure().graph))
    kept = unroll_scans(scanned)
    assert [n.op for n in kept.nodes] == [n.op for n in scanned.nodes]
