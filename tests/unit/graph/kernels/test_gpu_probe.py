"""What a GPU has kernels for is tried, once, and only where the CPU has none."""

from __future__ import annotations

import pytest

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.graph.ir import Graph
from tfx.graph.kernels import gpu_probe
from tfx.graph.passes.pipeline import prepare

BFLOAT16, FLOAT = dtypes.bfloat16.onnx, dtypes.float32.onnx


@pytest.fixture
def tried(monkeypatch):
    """Pretend that GPUs multiply bfloat16 and do not add them; list what was compiled."""
    models = []

    def session(model, *, device):
        models.append((b"Mul" in model, device))
        if b"Mul" not in model:
            raise UnimplementedError("no implementation")

    monkeypatch.setattr(gpu_probe, "Session", session)
    monkeypatch.setattr(gpu_probe, "_known", {})
    return models


def graph(op, dtype):
    made = Graph("g")
    x = made.add_input("x", dtype, (2,))
    made.outputs = list(made.add_node(op, [x, x], {}, [(dtype, (2,))], name=op).outputs)
    return made


def ops(op, dtype, device):
    return [n.op for n in prepare(graph(op, dtype), device=device).nodes]


def test_kernels_of_the_gpu_are_used(tried):
    assert ops("Mul", BFLOAT16, "GPU:0") == ["Mul"]
    assert ops("Mul", BFLOAT16, "GPU:0") == ["Mul"]
    assert tried == [(True, "GPU:0")]


def test_what_it_lacks_is_computed_in_a_wider_type(tried):
    wider = ["Cast", "Add", "Cast"]
    assert ops("Add", BFLOAT16, "GPU:0") == wider
    assert ops("Add", BFLOAT16, "CPU:0") == wider
    assert tried == [(False, "GPU:0")]


def test_what_the_cpu_has_is_not_tried(tried):
    assert ops("Add", FLOAT, "GPU:0") == ["Add"]
    assert tried == []


def test_the_trial_is_a_real_model():
    """Compiled for the CPU, which has one of the two."""
    node = graph("Add", FLOAT).nodes[0]
    assert not gpu_probe.runs_on_gpu(node, "CPU:0")
    assert gpu_probe._compiles(node, "CPU:0")
    assert not gpu_probe._compiles(graph("Add", BFLOAT16).nodes[0], "CPU:0")
