"""What a torch model costs here, beside ONNX Runtime on torch's own export of it.

    python -m bench.torch_models [resnet|bert ...] [--write]

Needs torch, onnxscript and transformers. Networks of the size of ResNet-50 and BERT-base with
random weights, each in a process of its own: seconds until the model is there and has answered
once, by ``from_torch.to_module`` without the time that torch's own exporters take, and by
``import_onnx`` of the file that torch writes; milliseconds of a call of either and of plain ONNX
Runtime on that file, in turns; and the memory that two signatures take, by that of the weights.
"""

# mypy: ignore-errors

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from bench import report
from bench.peers.environments import ROOT
from bench.peers.process import SETTINGS

BLOCK = "python -m bench.torch_models --write"
# What the project asks for: seconds of an import, and the time of a call over plain ONNX Runtime's.
_SECONDS, _RATIO = 3.0, 1.03
_NETWORKS = {"resnet": "ResNet-50, 1x3x224x224", "bert": "BERT-base, 1x64"}
# Until constants are frozen, and the processor's clock has settled.
_WARM = 12


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for; 1 where a promise is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.torch_models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(_NETWORKS))
    parser.add_argument("--rounds", type=int, default=40, help="turns of a call")
    parser.add_argument("--imports", type=int, default=3, help="imports, of which the best counts")
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = options.names or list(_NETWORKS)
    unknown = [n for n in names if n not in _NETWORKS]
    if unknown:
        parser.error(f"no network is called {unknown[0]!r}; there are {', '.join(_NETWORKS)}")
    if options.write and set(names) != set(_NETWORKS):
        parser.error("--write replaces the whole table: leave out the names")
    if options.here:
        (name,) = names
        print(json.dumps(_measure(name, options)))
        return 0
    found = {name: _in_a_process(name, options) for name in names}
    text = "\n".join(_table(found))
    print(text)
    if options.write:
        versions = next(iter(found.values()))["versions"]
        report.replace(BLOCK, f"{report.machine(*versions)}\n\n{text}")
    return 0 if all(_is_met(f) for f in found.values()) else 1


def _in_a_process(name, options):
    """What a process of its own measures: memory and threads are nobody else's."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.torch_models", name, "--here"]
    done = subprocess.run(
        [*command, "--rounds", str(options.rounds), "--imports", str(options.imports)],
        cwd=ROOT,
        # Torch's threads sleep while they wait, so that they disturb no call of ONNX Runtime.
        env={**os.environ, **SETTINGS, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def _network(name):
    import torch

    from bench.models.torch_networks import prepare

    prepare()
    import transformers

    torch.manual_seed(0)
    if name == "resnet":
        model = transformers.ResNetModel(transformers.ResNetConfig())
        return model.eval(), torch.randn(1, 3, 224, 224)
    model = transformers.BertModel(transformers.BertConfig())
    return model.eval(), torch.randint(0, 1000, (1, 64))


class _Clock:
    """Seconds that were spent inside of other callables, also where one calls another.

    Attributes:
        seconds: How long they took.
        processor: How long processors were at work meanwhile.
    """

    def __init__(self):
        self.seconds = self.processor = 0.0
        self._depth = 0

    def around(self, call):
        """The same callable, whose time is counted."""

        @functools.wraps(call)
        def timed(*args, **kwargs):
            if self._depth:
                return call(*args, **kwargs)
            start, processor = time.perf_counter(), time.process_time()
            self._depth += 1
            try:
                return call(*args, **kwargs)
            finally:
                self._depth -= 1
                self.seconds += time.perf_counter() - start
                self.processor += time.process_time() - processor

        return timed


def _seconds(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def _measure(name, options):
    """All figures of a network."""
    import onnxruntime
    import torch

    import tfx

    model, x = _network(name)
    array = x.numpy()
    (tfx.constant(1.0) + 1.0).numpy()  # what is imported and made once in a process
    found = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "versions": [f"PyTorch {torch.__version__}", f"ONNX Runtime {onnxruntime.__version__}"],
    }
    module = _converted(found, model, x, array, options.imports)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.onnx")
        with contextlib.redirect_stdout(sys.stderr):
            found["export"], _ = _seconds(
                lambda: torch.onnx.export(model, (x,), path, dynamo=True, verbose=False)
            )
        times = []
        for _ in range(options.imports):
            imported = None
            gc.collect()
            begin = time.process_time()
            seconds, imported = _seconds(lambda: tfx.import_onnx(path))
            first = _seconds(lambda m=imported: m(array))[0]
            times.append((seconds, first, time.process_time() - begin))
        best = min(times, key=lambda t: t[0] + t[1])
        found["import"], found["imported_first"], found["import_processor"] = best
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        feeds = {session.get_inputs()[0].name: array}
        calls = {
            "module": lambda: module(array),
            "imported": lambda: imported(array),
            "plain": lambda: session.run(None, feeds),
        }
        found["calls"] = _in_turns(calls, options.rounds)
    found["memory"] = _memory(name, model, x)
    return found


def _converted(found, model, x, array, imports):
    """``from_torch.to_module``, and its time without torch's own exporters'."""
    import torch

    from tfx.exporters import from_torch

    exporters = (
        (torch.export, "export"),
        (torch.export.ExportedProgram, "run_decompositions"),
        (torch.onnx, "export"),
    )
    times = []
    for _ in range(imports):
        begin = time.process_time()
        clock, module = _Clock(), None
        gc.collect()
        with contextlib.ExitStack() as stack:
            for owner, name in exporters:
                timed = clock.around(getattr(owner, name))
                stack.enter_context(mock.patch.object(owner, name, timed))
            seconds, module = _seconds(lambda: from_torch.to_module(model, x))
        first = _seconds(lambda m=module: m(array))[0]
        processor = time.process_time() - begin - clock.processor
        times.append((seconds - clock.seconds, first, clock.seconds, processor))
    best = min(times, key=lambda t: t[0] + t[1])
    found["to_module"], found["module_first"], found["torch_exports"] = best[:3]
    found["to_module_processor"] = best[3]
    return module


def _in_turns(calls, rounds):
    """Least and median milliseconds of each call."""
    for _ in range(_WARM):
        for call in calls.values():
            call()
    times = {n: [] for n in calls}
    order = list(calls)
    for turn in range(rounds):
        for n in order[turn % len(order) :] + order[: turn % len(order)]:
            times[n].append(1000 * _seconds(calls[n])[0])
    return {n: (min(t), statistics.median(t)) for n, t in times.items()}


def _memory(name, model, x):
    """What two signatures over one base take, by the weights."""
    from tfx.exporters import from_torch
    from tfx.exporters.torch_weights import TorchWeights
    from tfx.importing.converted_module import ConvertedModule

    made = from_torch.to_module(model, x, training=True)
    graphs = {n: [c.graph for c in m.calls] for n, m in made.methods.items()}
    variables = TorchWeights.of_module(name, model).variables()
    weights = sum(memoryview(v.value).nbytes for v in variables.values())
    before = _resident()
    module = ConvertedModule(graphs, variables)
    _ = module.signatures  # traces both
    return (_resident() - before) / weights


def _resident():
    """Bytes of memory that the process has, on Linux."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _figures(found):
    """Seconds of both imports with the first call, and both ratios."""
    plain = found["calls"]["plain"][0]
    return {
        "to_module": found["to_module"] + found["module_first"],
        "import": found["import"] + found["imported_first"],
        "module": found["calls"]["module"][0] / plain,
        "imported": found["calls"]["imported"][0] / plain,
    }


def _is_met(found):
    figures = _figures(found)
    return (
        max(figures["to_module"], figures["import"]) <= _SECONDS
        and max(figures["module"], figures["imported"]) <= _RATIO
    )


def _table(found):
    """Two tables: imports, and calls."""
    imports = [
        (
            _NETWORKS[n],
            f"{f['parameters'] / 1e6:.1f} M",
            f"{f['export']:.1f} s",
            f"{f['torch_exports']:.1f} s",
            f"{f['to_module']:.2f} + {f['module_first']:.2f} s ({f['to_module_processor']:.2f})",
            f"{f['import']:.2f} + {f['imported_first']:.2f} s ({f['import_processor']:.2f})",
            f"≤ {_SECONDS:g} s",
            _verdict(max(_figures(f)["to_module"], _figures(f)["import"]) <= _SECONDS),
            f"{f['memory']:.2f}",
        )
        for n, f in found.items()
    ]
    calls = [
        (
            _NETWORKS[n],
            *(f"{f['calls'][c][0]:.1f} ms" for c in ("module", "imported", "plain")),
            *(f"{f['calls'][c][0] / f['calls']['plain'][0]:.3f}" for c in ("module", "imported")),
            *(f"{f['calls'][c][1] / f['calls']['plain'][1]:.3f}" for c in ("module", "imported")),
            f"≤ {_RATIO:g}",
            _verdict(max(_figures(f)["module"], _figures(f)["imported"]) <= _RATIO),
        )
        for n, f in found.items()
    ]
    return [
        report.table(
            (
                "what", "parameters", "torch.onnx.export", "torch's exporters in to_module",
                "to_module without them + first call (processor)",
                "import_onnx + first call (processor)", "promise", "",
                "two signatures, by the weights",
            ),
            imports,
        ),
        "",
        report.table(
            (
                "what", "to_module", "import_onnx", "plain ONNX Runtime", "to_module over plain",
                "import_onnx over plain", "medians: to_module", "import_onnx", "promise", "",
            ),
            calls,
        ),
    ]  # fmt: skip


def _verdict(is_met):
    return "met" if is_met else "**missed**"


if __name__ == "__main__":
    sys.exit(main())
