"""The JavaScript loader: calls and training against bare sessions and against Python, size, start.

Needs Node.js and what ``make test-javascript`` builds; without them the rows are left out, and the
browser's without a Chromium.
"""

from __future__ import annotations

import gzip
import json
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


def run() -> list[Result]:
    """All rows; none where the loader is not built."""
    if not _MODULE.exists():
        print("the JavaScript loader is not built (make test-javascript); its rows are left out")
        return []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        losses, rate = _python(root)
        return [
            *_calls("Node", _node("calls", root)),
            *_training(losses, rate, _node("training", root)),
            *_browser(losses, _node("browser", root)),
            _size(),
            _opening(root / "large"),
        ]


def _node(what: str, folder: Path) -> Any:
    command = ["node", "bench/bench.js", what, str(folder)]
    done = subprocess.run(
        command, cwd=_LOADER, capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(done.stdout)


def _python(root: Path) -> tuple[list[float], float]:
    """Save the classifier, and train it here: the losses, and steps a second."""
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
    losses = [float(model.train_step(x, y)["loss"]) for x, y in batches]
    best = 0.0
    for _ in range(6):
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < 0.5:
            model.train_step(*batches[steps % _STEPS])
            steps += 1
        best = max(best, steps / (time.perf_counter() - start))
    return losses, best


def _calls(runtime: str, found: dict[str, float]) -> list[Result]:
    name = f"JavaScript: a call of digits, 32 images, in {runtime}"
    note = "the bare session"
    return [Result(name, found["ours"], found["bare"], "us", 1.15, note)]


def _training(losses: list[float], rate: float, found: dict[str, Any]) -> list[Result]:
    name = "JavaScript: training digits in Node, steps a second"
    return [
        Result(name, found["rate"], rate, "1/s", 0.8, "Python", at_least=True),
        _difference("Node", losses, found["losses"]),
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
