"""Checks one network of PyTorch against tfx: ``python -m bench.models.with_torch NAME``.

Prints one line of JSON with what was found. Runs in the environment that has torch and the rest.
"""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import copy
import io
import time
from pathlib import Path

import numpy as np
import torch

import tfx
from bench.models.checks import Checked, deviation, flat, least, plain_session, report_on, temporary
from bench.models.torch_networks import NETWORKS, prepare, randomized
from tfx.exporters import from_torch
from tfx.loaders import Bundle


def flat_outputs(result):
    """Tensors that a network returns, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in flat_outputs(part)]


def own_answers(module, arguments, weights, rate):
    """The source's answers, gradients by parameter, and parameters after a step of SGD."""
    module = copy.deepcopy(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    outputs = flat_outputs(module(*arguments))
    answers = [o.detach().numpy() for o in outputs]
    floats = [o for o in outputs if o.is_floating_point()]
    loss = sum(
        (o * torch.from_numpy(w).to(o.dtype)).sum() for o, w in zip(floats, weights, strict=True)
    )
    loss.backward()
    gradients = {
        n: None if p.grad is None else p.grad.detach().numpy() for n, p in module.named_parameters()
    }
    optimizer.step()
    after = {n: p.detach().numpy() for n, p in module.named_parameters()}
    return answers, gradients, after


def double(arguments):
    return tuple(a.double() if a.is_floating_point() else a for a in arguments)


def own_export(module, arguments):
    """The source's own ONNX model, as its exporter optimizes it; None: it cannot (t5's views)."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            program = torch.onnx.export(module, arguments, dynamo=True, verbose=False)
    except torch.onnx.OnnxExporterError:
        return None
    return program.model_proto


class Reference:
    """What the source computes, in float32 and in float64, for one drawing of its inputs.

    Args:
        network: The network.
        module: The same with its parameters randomized.
        seed: Of the inputs; 0: those that came with the network.
    """

    rate = 1e-3

    def __init__(self, module, arguments, seed):
        rng = np.random.default_rng(seed + 100)
        if seed:
            arguments = [
                torch.from_numpy(rng.standard_normal(a.shape).astype(np.float32))
                if a.is_floating_point()
                else a
                for a in arguments
            ]
        self.tensors = tuple(arguments)
        self.arrays = [a.numpy() for a in arguments]
        with torch.no_grad():
            outputs = [o for o in flat_outputs(module(*arguments)) if o.is_floating_point()]
        self.weights = [
            rng.standard_normal(o.shape).astype(np.float32) / max(o.numel(), 1) ** 0.5
            for o in outputs
        ]
        self.low = own_answers(module, self.tensors, self.weights, self.rate)
        try:
            exact = copy.deepcopy(module).double()
            self.exact = own_answers(exact, double(self.tensors), self.weights, self.rate)
        except RuntimeError:
            self.exact = self.low  # an operator of the source that has no float64


# Models whose time is compared with ONNX Runtime's on what torch's exporter makes and optimizes.
TIMED = {
    "torchvision/resnet50",
    "torchvision/mobilenet_v2",
    "torchvision/efficientnet_b0",
    "torchvision/vit_b_32",
    "timm/ghostnet_100",
    "transformers/bert",
    "transformers/bert_base",
    "transformers/gpt2",
    "transformers/llama",
    "transformers/t5",
}

# How many drawings of the inputs are tried. Rounding moves a ReLU or a maximum to its other side
# once in a million elements, and then a float32 gradient is another one, the source's own too: a
# wrong rule is wrong for all inputs, such an accident is not.
TRIES = 4


def check(name):
    torch.manual_seed(0)
    network = NETWORKS[name]()
    module, arguments = randomized(network.module, 1), network.arguments
    found = {"parameters": sum(p.numel() for p in module.parameters())}
    yield found
    reference = Reference(module, arguments, 0)
    start = time.perf_counter()
    imported = from_torch.to_module(module, reference.tensors)
    found["to_module_s"] = time.perf_counter() - start
    data = imported.as_onnx()
    found["nodes"] = len(data.graph.node)
    checked = Checked(imported)
    yield found
    found["answers"] = deviation(
        checked.answers(reference.arrays), reference.low[0], reference.exact[0]
    )
    yield found
    parameters = Parameters(imported, module, reference.low[1])
    found["left_out"] = parameters.left_out
    with temporary() as folder:
        for turn in range(TRIES):
            drawn = reference if turn == 0 else Reference(module, arguments, turn)
            compare_gradients(found, checked, drawn, parameters)
            if found["gradient"] <= 1:
                break
        yield found
        start = time.perf_counter()
        checked.save(
            Path(folder),
            reference.arrays,
            [w.shape for w in reference.weights],
            parameters.variables,
        )
        found["save_s"] = time.perf_counter() - start
        for turn in range(TRIES):
            drawn = reference if turn == 0 else Reference(module, arguments, turn)
            compare_step(found, folder, drawn, parameters)
            if found["step"] <= 1:
                break
        yield found
        loaded = tfx.saved_model.load(folder)
        serve = loaded.signatures["serving_default"]
        ports = list(Bundle.open(folder).signatures["serving_default"].inputs)
        again = flat(serve(**dict(zip(ports, map(tfx.constant, reference.arrays), strict=True))))
        found["reloaded"] = deviation(
            [np.asarray(t.numpy()) for t in again], reference.low[0], reference.exact[0]
        )
        yield found
        session = plain_session(Path(folder) / "serving_default.onnx")
        found["plain"] = deviation(
            session.run(None, fed(session, reference.arrays)), reference.low[0], reference.exact[0]
        )
        yield found
        optimized = own_export(module, reference.tensors) if name in TIMED else None
        if optimized is not None:
            original = Path(folder) / "own.onnx"
            found["own_nodes"] = len(optimized.graph.node)
            original.write_bytes(optimized.SerializeToString())
            start = time.perf_counter()
            tfx.import_onnx(original)
            found["import_s"] = time.perf_counter() - start
            session = plain_session(original)
            found |= timed(imported, session, reference.arrays)
        else:
            found["ms"] = timed(imported, session, reference.arrays)["ms"]
    yield found


def fed(session, arrays):
    """Inputs of a session, by name."""
    return dict(zip([i.name for i in session.get_inputs()], arrays, strict=True))


def timed(imported, theirs, arrays):
    """Milliseconds of the imported model, and of ONNX Runtime on the source's own export."""
    feeds = fed(theirs, arrays)
    tensors = [tfx.constant(a) for a in arrays]
    for _ in range(10):
        imported(*tensors)
    times = least(
        {
            "ours": lambda: flat(imported(*tensors))[0].numpy(),
            "plain": lambda: theirs.run(None, feeds),
        }
    )
    return {"ms": times["ours"], "plain_ms": times["plain"]}


def compare_gradients(found, checked, reference, parameters):
    """Gradients of all parameters; the worst one is named."""
    start = time.perf_counter()
    gradients = checked.gradients(reference.arrays, reference.weights, parameters.variables)
    found["gradient_s"] = time.perf_counter() - start
    low, exact = reference.low[1], reference.exact[1]
    floor = 1e-6 * max(np.abs(exact[n]).max(initial=0.0) for n in parameters.names)
    worst = {
        n: deviation([g], [low[n]], [exact[n]], floor=floor)
        for n, g in zip(parameters.names, gradients, strict=True)
    }
    found["worst_gradient"] = max(worst, key=worst.get)
    found["gradient"] = worst[found["worst_gradient"]]
    found["gradient_tries"] = found.get("gradient_tries", 0) + 1


def compare_step(found, folder, reference, parameters):
    """A step of the saved signature, in the loader that knows no tfx."""
    bundle = Bundle.open(folder)
    ports = list(bundle.signatures["train_step"].inputs)
    given = [*reference.arrays, *reference.weights]
    bundle.call("train_step", dict(zip(ports, given, strict=True)))
    low, exact = reference.low[2], reference.exact[2]
    gradients = [g for g in reference.exact[1].values() if g is not None]
    floor = 1e-6 * reference.rate * max(np.abs(g).max(initial=0.0) for g in gradients)
    worst = {}
    for n in parameters.names:
        before = parameters.before[n]
        change = np.asarray(bundle.variables[f"weights/{n}"]) - before
        worst[n] = deviation([change], [low[n] - before], [exact[n] - before], floor=floor)
    found["worst_step"] = max(worst, key=worst.get)
    found["step"] = worst[found["worst_step"]]
    found["step_tries"] = found.get("step_tries", 0) + 1


class Parameters:
    """Parameters that have a gradient, and the variables that they became.

    Attributes:
        names: Of the parameters in torch.
        variables: One for each.
        before: The values before a step.
        left_out: Trainable variables that are no parameter with a gradient; should be empty.
    """

    def __init__(self, imported, module, gradients):
        self.names = [n for n, g in gradients.items() if g is not None]
        self.variables = [imported.weights[n] for n in self.names]
        self.before = {n: p.detach().numpy().copy() for n, p in module.named_parameters()}
        known = {id(v) for v in self.variables}
        dead = {n for n, g in gradients.items() if g is None}
        self.left_out = [
            n for n, v in imported.weights.items()
            if v.trainable and id(v) not in known and n not in dead
        ]  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(2)
    prepare()
    report_on(check)
