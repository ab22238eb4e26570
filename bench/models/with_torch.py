"""Checks one network of PyTorch against tfx: ``python -m bench.models.with_torch NAME``.

Prints one line of JSON with what was found. Runs in the environment that has torch and the rest.
"""

# mypy: ignore-errors
# ruff: noqa: TID253

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import torch

import tfx
from bench.models.checks import Checked, deviation, flat, least, plain_session, temporary
from bench.models.torch_networks import NETWORKS, prepare, randomized


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
    loss = sum((o * torch.from_numpy(w).to(o.dtype)).sum() for o, w in zip(floats, weights))
    loss.backward()
    gradients = {
        n: None if p.grad is None else p.grad.detach().numpy()
        for n, p in module.named_parameters()
    }
    optimizer.step()
    after = {n: p.detach().numpy() for n, p in module.named_parameters()}
    return answers, gradients, after


def double(arguments):
    return tuple(a.double() if a.is_floating_point() else a for a in arguments)


def exported(module, arguments):
    """The source's own ONNX model: with parameters as they are, and as it optimizes it."""
    with contextlib.redirect_stdout(io.StringIO()):
        program = torch.onnx.export(module, arguments, dynamo=True, optimize=False, verbose=False)
        proto = program.model_proto
        program.optimize()
        return proto, program.model_proto


def check(name):
    torch.manual_seed(0)
    network = NETWORKS[name]()
    module, arguments = randomized(network.module, 1), network.arguments
    found = {"parameters": sum(p.numel() for p in module.parameters())}
    yield found
    with torch.no_grad():
        shapes = [o for o in flat_outputs(module(*arguments)) if o.is_floating_point()]
    rng = np.random.default_rng(2)
    weights = [rng.standard_normal(o.shape).astype(np.float32) / o.numel() ** 0.5 for o in shapes]
    rate = 1e-3
    low = own_answers(module, arguments, weights, rate)
    exact = own_answers(copy.deepcopy(module).double(), double(arguments), weights, rate)
    start = time.perf_counter()
    proto, optimized = exported(module, arguments)
    found["export_s"] = time.perf_counter() - start
    found["nodes"] = len(proto.graph.node)
    found["own_nodes"] = len(optimized.graph.node)
    data = proto.SerializeToString()
    start = time.perf_counter()
    imported = tfx.import_onnx(data)
    found["import_s"] = time.perf_counter() - start
    arrays = [a.numpy() for a in arguments]
    checked = Checked(imported, arrays)
    yield found
    found["answers"] = deviation(checked.answers(), low[0], exact[0])
    yield found
    variables, pairs = matched(imported, module, low[1])
    found["unmatched"] = pairs["unmatched"]
    found["merged"] = pairs["merged"]
    names = pairs["names"]
    start = time.perf_counter()
    gradients = checked.gradients(weights, variables)
    found["gradient_s"] = time.perf_counter() - start
    per = {}
    largest = max(np.abs(exact[1][n]).max() for n in names)
    for n, g, turn in zip(names, gradients, pairs["turned"]):
        e, s = (turn(exact[1][n]), turn(low[1][n]))
        per[n] = deviation([g], [s], [e])
        floor = 1e-6 * largest / max(1e-300, np.abs(g - e).max(initial=0.0))
        per[n] = min(per[n], 1 / floor) if floor > 0 else per[n]
    worst = max(per, key=per.get)
    found["gradient"], found["worst_gradient"] = per[worst], worst
    yield found
    with temporary() as folder:
        start = time.perf_counter()
        checked.save(Path(folder), weights, rate)
        found["save_s"] = time.perf_counter() - start
        loaded = tfx.saved_model.load(folder)
        again = flat(loaded(*checked.arguments))
        found["reloaded"] = deviation([np.asarray(t.numpy()) for t in again], low[0], exact[0])
        yield found
        session = plain_session(Path(folder) / "serving_default.onnx")
        feeds = dict(zip([i.name for i in session.get_inputs()], arrays, strict=True))
        found["plain"] = deviation(session.run(None, feeds), low[0], exact[0])
        yield found
        found |= stepped(folder, arrays, names, pairs, low[2], exact[2])
        yield found
    original = Path(folder).with_suffix(".onnx")
    original.write_bytes(optimized.SerializeToString())
    theirs = plain_session(original)
    own_feeds = dict(zip([i.name for i in theirs.get_inputs()], arrays, strict=True))
    for _ in range(10):
        imported(*checked.arguments)
    times = least(
        {
            "ours": lambda: flat(imported(*checked.arguments))[0].numpy(),
            "plain": lambda: theirs.run(None, own_feeds),
        }
    )
    original.unlink()
    found["ms"], found["plain_ms"] = times["ours"], times["plain"]
    yield found


def stepped(folder, arrays, names, pairs, low, exact):
    """A step of the saved signature in the loader that knows no tfx."""
    from tfx.loaders import Bundle

    bundle = Bundle.open(folder)
    ports = list(bundle.signatures["train_step"].inputs)
    bundle.call("train_step", dict(zip(ports, arrays, strict=True)))
    values = bundle.variables
    worst = 0.0
    for n, key, turn in zip(names, pairs["keys"], pairs["turned"]):
        v = np.asarray(values[key])
        e, s = turn(exact[n]), turn(low[n])
        worst = max(worst, deviation([v], [s], [e]))
    return {"step": worst}


def matched(imported, module, gradients):
    """Variables of the imported model with the parameters that they are."""
    variables, names, keys, turned, unmatched = [], [], [], [], []
    parameters = dict(module.named_parameters())
    left = {n for n, g in gradients.items() if g is not None}
    for key, v in imported.weights.items():
        if not v.trainable:
            continue
        value = v.numpy()
        for n in [key] if key in left else sorted(left):
            p = parameters[n].detach().numpy()
            turn = None
            if p.shape == value.shape and np.array_equal(p, value):
                turn = lambda a: a
            elif p.ndim == 2 and p.T.shape == value.shape and np.array_equal(p.T, value):
                turn = np.transpose
            if turn is not None:
                variables.append(v)
                names.append(n)
                keys.append(f"weights/{key}")
                turned.append(turn)
                left.discard(n)
                break
        else:
            unmatched.append(key)
    return variables, {
        "names": names, "turned": turned, "keys": keys, "unmatched": unmatched,
        "merged": sorted(left),
    }  # fmt: skip


def main():
    name = sys.argv[1]
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(2)
    prepare()
    found = {}
    try:
        for found in check(name):
            pass
    except Exception as e:
        found = dict(found)
        found["error"] = f"{type(e).__name__}: {e}"[:2000]
        found["traceback"] = traceback.format_exc()[-3000:]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
