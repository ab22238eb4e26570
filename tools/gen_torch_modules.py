"""Record what torch makes of a few modules, for tests that run without torch.

    python tools/gen_torch_modules.py

It needs the extra ``torch`` and writes ``tests/unit/importing/torch_modules.npz``: graphs as
``exporters/from_torch.py`` gets them, weights, and torch's own answers, gradients and weights after
steps of its optimizers.
"""

# ruff: noqa: TID253

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.unit.exporters import torch_samples
from tfx.exporters import from_torch
from tfx.exporters.example_calls import ExampleCall
from tfx.importing.method_graphs import MethodGraph, Port

_OUT = Path(__file__).parent.parent / "tests/unit/importing/torch_modules.npz"
_STEPS = 3


def described(structure: Any) -> Any:
    """A structure of arguments or results as JSON has it."""
    if isinstance(structure, Port):
        return {"port": structure.name}
    if isinstance(structure, dict):
        return {"dict": {k: described(v) for k, v in structure.items()}}
    if isinstance(structure, list | tuple):
        return {type(structure).__name__: [described(v) for v in structure]}
    return {"value": structure}


def recorded_graph(graph: MethodGraph) -> tuple[dict[str, Any], bytes]:
    """A graph's description and its bytes without torch's notes on each node."""
    proto = graph.model
    del proto.metadata_props[:], proto.graph.metadata_props[:], proto.graph.value_info[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for item in (*proto.graph.input, *proto.graph.output):
        del item.metadata_props[:]
    text = {
        "arguments": described(graph.arguments),
        "results": described(graph.results),
        "weights": dict(graph.weights or {}),
        "updates": dict(graph.updates),
    }
    return text, proto.SerializeToString(deterministic=True)


def record(name: str, model: Any, x: Any, dynamic: dict[str, Any], pick: Any) -> dict[str, Any]:
    """Everything of one model, by keys that begin with its name."""
    exporter = from_torch._exporter(model)
    found: dict[str, Any] = {}
    facts: dict[str, Any] = {"tied": exporter.weights.tied, "methods": {}, "trainable": []}
    for method, training in (("forward", False), ("forward_train", True)):
        graph = exporter.graph(ExampleCall("forward", (x,), {}, dynamic, training))
        facts["methods"][method], data = recorded_graph(graph)
        found[f"{name}/{method}"] = np.frombuffer(data, np.uint8)
        for i, answer in enumerate(graph.answers):
            for kind in ("inputs", "outputs", "updates"):
                for key, array in getattr(answer, kind).items():
                    found[f"{name}/{method}/{i}/{kind}/{key}"] = array
    for key, variable in exporter.weights.variables().items():
        found[f"{name}/weight/{key}"] = np.array(variable.value)
        if variable.trainable:
            facts["trainable"].append(key)
    model.train()
    y = 2 * torch.randn_like(pick(copy.deepcopy(model)(x)))
    found[f"{name}/y"] = y.numpy()
    for kind in ("SGD", "Adam"):
        torch.manual_seed(0)
        copied = type(model)()
        copied.load_state_dict(model.state_dict())
        optimizer = getattr(torch.optim, kind)(copied.parameters(), 0.05)
        losses = []
        for step in range(_STEPS):
            optimizer.zero_grad()
            loss = torch.mean(torch.square(pick(copied(x)) - y))
            loss.backward()
            if step == 0 and kind == "SGD":
                for key, parameter in copied.named_parameters():
                    found[f"{name}/gradient/{key}"] = parameter.grad.numpy().copy()
            optimizer.step()
            losses.append(float(loss.detach()))
        found[f"{name}/{kind}/losses"] = np.array(losses)
        for key, tensor in copied.state_dict().items():
            found[f"{name}/{kind}/after/{key}"] = tensor.numpy().copy()
    found[f"{name}/x"] = x.numpy()
    found[f"{name}/facts"] = np.frombuffer(json.dumps(facts, sort_keys=True).encode(), np.uint8)
    return found


def main() -> None:
    """Record all."""
    torch.manual_seed(0)
    tied = torch_samples.Tied()
    images = torch_samples.Convolutions()
    found = record(
        "tied", tied, torch.randn(6, 4), {"x": {0: "batch"}}, lambda result: result["logits"]
    )
    found |= record(
        "images", images, torch.randn(4, 3, 8, 8), {"x": {0: "batch"}}, lambda result: result
    )
    np.savez_compressed(_OUT, **found)


if __name__ == "__main__":
    main()
