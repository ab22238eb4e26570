"""Which nodes run together: never two groups that need each other."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import always_fuse, fused, fused_nodes, needs_library, run
from tfx.graph.fusion import elementwise as pass_module

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
