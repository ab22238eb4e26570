"""What a torch model costs here, beside ONNX Runtime on torch's own export of it.

    python -m bench.torch_models [resnet|bert]

Needs torch, onnxscript and transformers. Prints, for a network of the size of ResNet-50 or
BERT-base with random weights: seconds of making the module of graphs that are there, and of its
first call; milliseconds of inference, both ways in turns, best of all; and the memory that two
signatures take, by that of the weights.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers

from tfx.exporters import from_torch
from tfx.exporters.torch_weights import TorchWeights
from tfx.importing.converted_module import ConvertedModule

_ROUNDS = 12


def _network(name: str) -> tuple[Any, Any]:
    torch.manual_seed(0)
    if name == "resnet":
        model = transformers.ResNetModel(transformers.ResNetConfig())
        return model.eval(), torch.randn(1, 3, 224, 224)
    model = transformers.BertModel(transformers.BertConfig())
    return model.eval(), torch.randint(0, 1000, (1, 64))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _resident() -> int:
    """Bytes of memory that the process has, on Linux."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(name: str) -> None:
    """Measure one network."""
    model, x = _network(name)
    made = from_torch.to_module(model, x, training=True)
    # The source's own export is done: what follows is all that is ours.
    graphs = {n: [c.graph for c in m.calls] for n, m in made.methods.items()}
    variables = TorchWeights.of_module(name, model).variables()
    weights = sum(np.asarray(v.value).nbytes for v in variables.values())
    before = _resident()
    start = time.perf_counter()
    module = ConvertedModule(graphs, variables)
    made_in = time.perf_counter() - start
    traced = _seconds(lambda: module.signatures)  # traces both
    grown = _resident() - before
    array = x.numpy()
    first = _seconds(lambda: module(array))
    print(f"{name}: module in {made_in:.2f} s, traces {traced:.2f} s, first call {first:.2f} s")
    print(f"{name}: two signatures over one base: {grown / weights:.2f} x its weights")
    with tempfile.TemporaryDirectory() as folder:
        torch.onnx.export(model, (x,), f"{folder}/m.onnx", dynamo=True, verbose=False)
        session = onnxruntime.InferenceSession(f"{folder}/m.onnx")
    feeds = {session.get_inputs()[0].name: array}
    for _ in range(10):  # until constants are frozen
        module(array)
        session.run(None, feeds)
    ours, theirs = [], []
    for _ in range(_ROUNDS):
        ours.append(_seconds(lambda: module(array)))
        theirs.append(_seconds(lambda: session.run(None, feeds)))
    print(
        f"{name}: {1000 * min(ours):.1f} ms, plain ONNX Runtime {1000 * min(theirs):.1f} ms, "
        f"ratio {min(ours) / min(theirs):.3f}"
    )


if __name__ == "__main__":
    for network in sys.argv[1:] or ("resnet", "bert"):
        main(network)
