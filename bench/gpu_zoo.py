"""``python -m bench.gpu_zoo [NAME ...]``: the models of the zoo on a GPU.

Of each function, what the CUDA provider left to the CPU, beside what ``placement("/GPU:0")``
predicts without a GPU; of each program that ``bench.zoo`` times, the losses of some steps beside
the CPU's. Exits with 1 if anything but computations with shapes stays on the CPU, or losses differ.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

import tfx as tf
from bench.zoo import programs, tensorflow_programs
from tests.model_zoo.test_cuda_placement import MODELS, functions

GPU, CPU = "/GPU:0", "/CPU:0"
# More than plans of known sizes and CUDA graphs wait for.
_STEPS = 10
# Of losses, relative: products on the GPU keep 10 bits of their factors (TF32).
_TOLERANCE = 2e-2
# What ONNX Runtime takes to the host because it computes with shapes.
_OF_SHAPES = frozenset(
    {"Add", "Cast", "Concat", "Div", "Equal", "Gather", "Max", "Min", "Mul", "Neg", "Range"}
    | {"ReduceProd", "Reshape", "Shape", "Size", "Slice", "Squeeze", "Sub", "Unsqueeze", "Where"}
)


def _counted(rows: Iterable[Any]) -> str:
    counts = Counter(row.op for row in rows)
    return ", ".join(f"{n} {op}" for op, n in sorted(counts.items())) or "nothing"


def placements(name: str) -> bool:
    """Print what stays on the CPU of a model's functions; whether that is only shapes."""
    kept = True
    predicted = {n: c.placement(GPU) for n, c in functions(MODELS[name]()).items()}
    with tf.device(GPU):
        traced = functions(MODELS[name]())
    for function, concrete in traced.items():
        start = time.perf_counter()
        found, told = concrete.placement(), predicted[function]
        seconds = time.perf_counter() - start
        expected = {row.node for row in told.on_host}
        more = [row for row in found.on_host if row.node not in expected]
        print(
            f"{name}.{function}: {len(found)} nodes, {len(found.on_host)} on the CPU "
            f"({len(expected)} predicted; {len(told.copies)} copies predicted), {seconds:.1f} s; "
            f"not predicted: {_counted(more)}",
            flush=True,
        )
        for row in more[:12]:
            print(f"    {row.node} {row.op}: {row.why}")
        # Of those that were not foreseen, only shapes may be on the host.
        kept &= {row.op for row in more} <= _OF_SHAPES
    return kept


def losses(name: str) -> bool:
    """Print the losses of a program's steps on both devices; whether they are the same."""
    found = {}
    for device in (CPU, GPU):
        tf.random.set_seed(1)
        start = time.perf_counter()
        with tf.device(device):
            program = tensorflow_programs.makers(tf)[name](programs.BATCHES[name])
            found[device] = np.array([float(program.train().numpy()) for _ in range(_STEPS)])
        print(f"{name} on {device}: {found[device]}, {time.perf_counter() - start:.1f} s")
    return bool(np.allclose(found[CPU], found[GPU], rtol=_TOLERANCE))


def main(names: list[str]) -> int:
    """Look at the named models, or at all."""
    failed = []
    for check, known in ((losses, programs.TITLES), (placements, MODELS)):
        for name in [n for n in known if not names or n in names]:
            try:
                good = check(name)
            except Exception:  # the others are looked at all the same
                traceback.print_exc()
                good = False
            if not good:
                failed.append(f"{check.__name__} of {name}")
    print("failed:", ", ".join(failed) or "nothing")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
