"""The JavaScript loader: calls and training against bare sessions and against Python, size, start.

Needs Node.js and what ``make test-javascript`` builds; without them the rows are left out, and the
browser's without a Chromium.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from bench.measure import Result
from tfx.model_zoo.digits import data, train

_LOADER = Path(__file__).parents[1] / "loaders" / "javascript"
_MODULE = _LOADER / "dist" / "tfx-web.js"
_STEPS = 100
_BATCH = 32
_ROUNDS = 16
_ROUND = 0.3


def run() -> list[Result]:
    """All rows; none where the loader is not built."""
    if not (_MODULE.exists() and shutil.which("node")):
        print("the JavaScript loader is not built (make test-javascript); its rows are left out")
        return []
    tf.config.optimizer.set_jit(False)  # the operators that the bundle has, as other runtimes
    try:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            model, batches, losses = _python(root)
            return [
                *_calls("Node", _node("calls", root)),
                *_training(model, batches, losses, root),
                *_browser(losses, _node("browser", root)),
                _size(),
                _opening(root / "large"),
            ]
    finally:
        tf.config.optimizer.set_jit("autoclustering")


def _node(what: str, folder: Path) -> Any:
    command = ["node", "bench/bench.js", what, str(folder)]
    done = subprocess.run(
        command, cwd=_LOADER, capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(done.stdout)


def _python(root: Path) -> tuple[Any, list[Any], list[float]]:
    """Save the classifier, and train it here: it, the batches and the losses."""
    digits = data.load()
    model = train.train(digits, epochs=1)
    signatures = {"serving_default": model.predict, "train_step": model.train_step}
    tf.saved_model.save(model, root / "bundle", signatures=signatures)
    rng = np.random.default_rng(0)
    picked = [rng.integers(0, len(digits.train_labels), _BATCH) for _ in range(_STEPS)]
    batches = [(digits.train_images[i], digits.train_labels[i]) for i in picked]
    records = [
        {"image": x.reshape(-1).tolist(), "label": y.tolist(), "shape": list(x.shape)}
        for x, y in batches
    ]
    (root / "batches.json").write_text(json.dumps(records))
    return model, batches, [float(model.train_step(x, y)["loss"]) for x, y in batches]


def _calls(runtime: str, found: dict[str, float]) -> list[Result]:
    name = f"JavaScript: a call of digits, 32 images, in {runtime}"
    return [Result(name, found["ours"], found["bare"], "us", 1.15, "the bare session")]


def _training(model: Any, batches: list[Any], losses: list[float], root: Path) -> list[Result]:
    """Node and Python train in turns, so that what else the machine does meets both."""
    command = ["node", "bench/bench.js", "training", str(root)]
    ours, theirs = [], []
    with subprocess.Popen(
        command, cwd=_LOADER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        found = json.loads(node.stdout.readline())
        for _ in range(_ROUNDS):
            start, steps = time.perf_counter(), 0
            while time.perf_counter() - start < _ROUND:
                model.train_step(*batches[steps % _STEPS])
                steps += 1
            theirs.append(steps / (time.perf_counter() - start))
            node.stdin.write(f"{_ROUND * 1000}\n")
            node.stdin.flush()
            ours.append(float(node.stdout.readline()))
        node.stdin.close()
    # The median of the rounds' ratios, on the scale of Python's best round.
    rate = max(theirs)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    name = "JavaScript: training digits in Node, steps a second"
    return [
        Result(name, ratio * rate, rate, "1/s", 0.8, "Python without fused kernels", at_least=True),
        _difference("Node", losses, found),
    ]


def _difference(where: str, losses: list[float], found: list[float]) -> Result:
    worst = float(np.abs(np.array(losses) - np.array(found)).max())
    name = f"JavaScript: largest difference of {_STEPS} losses, {where} and Python"
    return Result(name, worst * 1e6, 10.0, "1e-6", 1.0, "what is allowed")


def _browser(losses: list[float], found: dict[str, Any] | None) -> list[Result]:
    if found is None:
        print("no Chromium: the rows of the browser are left out")
        return []
    return [*_calls("Chromium", found), _difference("Chromium", losses, found["losses"])]


def _size() -> Result:
    size = len(gzip.compress(_MODULE.read_bytes(), 9)) / 1000
    name = "JavaScript: the web entry without the runtime, gzipped"
    return Result(name, size, 30.0, "kB", 1.0, "what is allowed")


def _opening(folder: Path) -> Result:
    class Large(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = [tf.Variable(np.ones((2048, 32768), np.float32)) for _ in range(4)]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="i")])
        def look(self, i: tf.Tensor) -> dict[str, tf.Tensor]:
            return {f"y{n}": tf.gather(table, i) for n, table in enumerate(self.tables)}

    large = Large()
    tf.saved_model.save(large, folder, signatures={"look": large.look})
    seconds = _node("open", folder)["seconds"]
    name = "JavaScript: opening a bundle of 1 GiB in Node"
    return Result(name, seconds * 1000, 300.0, "ms", 1.0, "what is allowed")
