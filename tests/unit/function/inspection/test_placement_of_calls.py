"""Placement tables of a GPU: nodes of inlined functions, in time that grows with their number."""

from __future__ import annotations

import time
from typing import Any

import tfx as tf
from tfx.function.execution.plan import Plan
from tfx.function.inspection.placement import placement

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


class GpuSession:
    """What a session on a GPU tells."""

    device = "GPU:0"

    def __init__(self, rows: list[tuple[str, str, str]]) -> None:
        self.rows = rows

    def assignments(self) -> list[tuple[str, str, str]]:
        return self.rows


def table_of(function: Any, rows: list[tuple[str, str, str]]) -> Any:
    concrete = tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([2]))
    plan: Any = Plan(concrete.graph.graph)
    plan.session = GpuSession(rows)
    return placement("f", "GPU:0", plan)


def test_each_call_has_its_nodes() -> None:
    inner = tf.function(lambda x: tf.nn.relu(tf.exp(x)))
    rows = [
        ("_inlfunc_inner_Exp", "Exp", CUDA),
        ("_inlfunc_inner_Relu", "Relu", CUDA),
        ("_inlfunc_inner_token_1_Exp", "Exp", CPU),
        ("_inlfunc_inner_token_1_Relu", "Relu", CPU),
    ]
    table = table_of(lambda x: inner(inner(x)), rows)
    found = [(row.op, row.provider) for row in table]
    assert found == [("Exp", CUDA), ("Relu", CUDA), ("Exp", CPU), ("Relu", CPU)]


def test_many_nodes_are_found_at_once() -> None:
    inner = tf.function(lambda x: tf.nn.relu(x))

    def many(x: Any) -> Any:
        for _ in range(1500):
            x = inner(x)
        return x

    rows = [(f"_inlfunc_inner_token_{i}_Relu", "Relu", CUDA) for i in range(1500)]
    concrete = tf.function(many, autograph=False).get_concrete_function(tf.TensorSpec([2]))
    plan: Any = Plan.__new__(Plan)
    plan.graph, plan.session = concrete.graph.graph, GpuSession(rows)
    began = time.monotonic()
    table = placement("f", "GPU:0", plan)
    assert time.monotonic() - began < 0.5
    assert [row.provider for row in table] == [CUDA] * 1500
