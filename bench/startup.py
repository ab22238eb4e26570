"""Seconds from process start: importing, and the first prediction from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tfx as tf
from bench.measure import Result

PLAIN = """
import sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
print(session.run(None, {"image": numpy.load(sys.argv[2])})[0])
"""


def _seconds(commands: list[list[str]], repeats: int = 9) -> list[float]:
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "1"}
    # An installed package has its bytecode; compiling it anew is not what is measured.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    best = [float("inf")] * len(commands)
    for _ in range(repeats):
        for i, command in enumerate(commands):
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            best[i] = min(best[i], time.perf_counter() - started)
    return best


def run() -> list[Result]:
    """Import time and time to the first prediction."""
    python = sys.executable
    ours, reference = _seconds([[python, "-c", "import tfx"], [python, "-c", "import onnxruntime"]])
    results = [Result("import tfx", ours * 1e3, reference * 1e3, "ms", 1.3, "import onnxruntime")]
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Path(scratch, "digits")
        _digits(bundle)
        samples = Path(scratch, "samples.npy")
        np.save(samples, np.zeros((4, 8, 8), np.float32))
        ours, reference = _seconds(
            [
                [python, "-m", "tfx.cli", "load", str(bundle), "--input", f"image=@{samples}"],
                [python, "-c", PLAIN, str(bundle / "serving_default.onnx"), str(samples)],
            ]
        )
    results.append(
        Result(
            "process start to first prediction, tfx load",
            ours * 1e3,
            reference * 1e3,
            "ms",
            2.0,
            "bare onnxruntime script",
        )
    )
    return results


def _digits(bundle: Path) -> None:
    """The demo's model, untrained: its graph is what matters."""
    from tfx.model_zoo.digits.model import DigitClassifier

    model = DigitClassifier()
    tf.saved_model.save(model, bundle, signatures={"serving_default": model.predict})
