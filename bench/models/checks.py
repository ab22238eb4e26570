"""What is asked of an imported model, whatever its source: answers, gradients, a step, a bundle.

The measure. Source and tfx compute in float32 and add in different orders, so they are not equal
to the last bit, and where a network amplifies rounding neither is right. Both are compared with
the source's own float64: what tfx computes may differ from it by 1e-4 of the largest element, or
by four times what the source's own float32 differs from it, if that is more.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

import tfx

Array = NDArray[Any]

TOLERANCE = 1e-4
# How far from float64 compared with the source's float32, where float32 itself is not enough.
FACTOR = 4.0


def deviation(
    found: Sequence[Array], low: Sequence[Array], exact: Sequence[Array], *, floor: float = 0.0
) -> float:
    """How far apart, in units of what is allowed: at most 1 is equal.

    Args:
        found: What tfx computed.
        low: The same from the source in float32.
        exact: The same from the source in float64.
        floor: What is allowed in any case. A gradient that is zero but for rounding is measured by
            the largest one.
    """
    worst = 0.0
    for f, s, e in zip(found, low, exact, strict=True):
        if f.shape != e.shape:
            return float("inf")
        if not np.array_equal(np.isfinite(f), np.isfinite(e)):
            return float("inf")
        finite = np.isfinite(e)
        f, s, e = (np.asarray(a, np.float64)[finite] for a in (f, s, e))
        own = np.abs(s - e).max(initial=0.0)
        allowed = max(TOLERANCE * np.abs(e).max(initial=0.0), FACTOR * own, floor)
        difference = np.abs(f - e).max(initial=0.0)
        if difference:
            worst = max(worst, difference / max(allowed, 1e-300))
    return float(worst)


def least(calls: Mapping[str, Callable[[], Any]], seconds: float = 1.0) -> dict[str, float]:
    """Least milliseconds of each call, taken in turns."""
    best = {n: float("inf") for n in calls}
    for call in calls.values():
        call()
        call()
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 5:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
        rounds += 1
        if rounds >= 200:
            break
    return best


def plain_session(path: str | Path) -> ort.InferenceSession:
    """A session of stock ONNX Runtime."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Checked:
    """A model under test.

    Args:
        module: The imported model.
    """

    def __init__(self, module: Any) -> None:
        self.module = module

    def answers(self, arguments: Sequence[Array]) -> list[Array]:
        """All outputs."""
        return [np.asarray(t.numpy()) for t in flat(self.module(*map(tfx.constant, arguments)))]

    def _loss(self, arguments: Sequence[Any], weights: Sequence[Any]) -> Any:
        """The sum of all floating-point outputs, weighted."""
        floats = [t for t in flat(self.module(*arguments)) if t.dtype.is_floating]
        return tfx.add_n([tfx.reduce_sum(t * w) for t, w in zip(floats, weights, strict=True)])

    def gradients(
        self, arguments: Sequence[Array], weights: Sequence[Array], variables: Sequence[Any]
    ) -> list[Array]:
        """Gradients of the weighted sum of all outputs."""

        @tfx.function
        def compute(*tensors: Any) -> Any:
            count = len(arguments)
            with tfx.GradientTape() as tape:
                loss = self._loss(tensors[:count], tensors[count:])
            return tape.gradient(loss, list(variables))

        found: Any = compute(*map(tfx.constant, [*arguments, *weights]))
        # A gradient of a gather is IndexedSlices.
        dense: list[Any] = [tfx.convert_to_tensor(g) for g in found]
        return [np.asarray(g.numpy()) for g in dense]

    def save(
        self, folder: Path, arguments: Sequence[Array], shapes: Sequence[Any], variables: list[Any]
    ) -> None:
        """Save the model beside a signature that makes a step of SGD.

        Args:
            folder: Where to.
            arguments: Of this form are the model's.
            shapes: Of the weights of outputs, which the signature takes behind the arguments.
            variables: What is trained.
        """
        optimizer = tfx.optimizers.SGD(1e-3, momentum=0.9)
        optimizer.build(variables)
        count = len(arguments)
        specs = [tfx.TensorSpec(a.shape, a.dtype) for a in arguments]
        specs += [tfx.TensorSpec(s, tfx.float32) for s in shapes]

        @tfx.function(input_signature=specs)
        def step(*tensors: Any) -> Any:
            with tfx.GradientTape() as tape:
                loss = self._loss(tensors[:count], tensors[count:])
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        self.module.optimizer = optimizer
        signatures = {**self.module.signatures, "train_step": step}
        tfx.saved_model.save(self.module, str(folder), signatures=signatures)


def flat(value: Any) -> list[Any]:
    """Tensors of a result, in order."""
    if isinstance(value, Mapping):
        return [t for v in value.values() for t in flat(v)]
    if isinstance(value, list | tuple):
        return [t for v in value for t in flat(v)]
    return [value]


def temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for a bundle."""
    return tempfile.TemporaryDirectory(prefix="tfx-models-")


def differences(function: Callable[[Array], Any], x: Array, step: float = 1e-5) -> Array:
    """The gradient of a function of float64 by central differences."""
    found = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[i] += step
        behind[i] -= step
        found[i] = (float(function(ahead)) - float(function(behind))) / (2 * step)
    return found


def report_on(check: Callable[[str], Iterator[dict[str, Any]]]) -> None:
    """Run the checks of the model that the command line names; print what was found as JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    found: dict[str, Any] = {}
    try:
        for known in check(sys.argv[1]):
            found = known
    except Exception as e:  # whatever it is, it is what is reported
        found = {**found, "error": f"{type(e).__name__}: {e}"[:2000]}
        found["traceback"] = traceback.format_exc()[-3000:]
    print(json.dumps(found))
