"""Make the archived bundles of this release; they stay in the repository for ever.

Run as ``python -m tests.archive.make`` when a version is released, and check in the folder that it
makes, ``tests/archive/format1-VERSION``. It refuses to touch a folder that is there. Each case has
a ``bundle`` and either a ``case.json``, in the form of ``loaders/conformance``, or an
``expected.json`` with what the object gave when it was saved.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import tfx as tf
from tests.source_tree import ROOT
from tfx.bundle.manifest import FORMAT_VERSION
from tfx.core.version import VERSION

ARCHIVE = Path(__file__).resolve().parent
CONFORMANCE = ROOT / "loaders" / "conformance"
CASES = (
    "control_flow",
    "dtypes",
    "narrow",
    "shapes",
    "storage",
    "strings",
    "structures",
    "training",
)


class Pair(NamedTuple):
    """A structure with names."""

    first: Any
    second: Any


class Layer(tf.Module):
    """A layer with a gradient of its own inside."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        self.w = tf.Variable(rng.normal(size=(width, width)).astype(np.float32), name="w")
        self.b = tf.Variable(np.zeros(width, np.float32), name="b", trainable=False)

    @tf.function
    def __call__(self, x: Any, training: bool = False, scale: float = 1.0) -> Any:
        y = clipped(x @ self.w + self.b) * scale
        return {"y": y, "twice": [y, y * 2.0]} if training else y


@tf.custom_gradient
def clipped(x: Any) -> Any:
    """The value itself, with a gradient of at most 1."""
    return tf.identity(x), lambda dy: tf.clip_by_value(dy, -1.0, 1.0)


class Model(tf.Module):
    """An object with something of each kind: attributes, functions with traces, state."""

    def __init__(self, words: Path) -> None:
        super().__init__()
        self.layers = [Layer(4, 1), Layer(4, 2)]
        self.shared = self.layers[0].w
        self.named = Pair(self.layers[1], {"a": 1, 2: (2.5, None, b"x")})
        self.table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        self.text = tf.Variable(["a", "bc", "\u4e16"], name="text")
        self.words = tf.saved_model.Asset(words)
        content = tf.lookup.KeyValueTensorInitializer(
            tf.constant(["cat", "dog"]), tf.constant([7, 9], tf.int64)
        )
        self.numbers = tf.lookup.StaticHashTable(content, -1)
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.optimizer = tf.optimizers.Adam(0.1)
        self.optimizer.build([layer.w for layer in self.layers])

    @tf.function(input_signature=[tf.TensorSpec(["n", 4], tf.float32, name="x")])
    def predict(self, x: Any) -> Any:
        for layer in self.layers:
            x = tf.nn.relu(layer(x))
        return {"y": x}

    @tf.function(input_signature=[tf.TensorSpec(["n", 4], tf.float32, name="x")])
    def train_step(self, x: Any) -> Any:
        weights = [layer.w for layer in self.layers]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.predict(x)["y"] - 1.0))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.steps.assign_add(1)
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec(["n"], tf.string, name="word")])
    def look(self, word: Any) -> Any:
        return {"number": self.numbers.lookup(word)}

    @tf.function
    def join(self, *parts: Any, by: Any = 2.0) -> Any:
        return Pair(tf.concat(parts, 0) * by, len(parts))


def batch() -> np.ndarray[Any, Any]:
    """What the object is called with."""
    return np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def save_object(folder: Path) -> None:
    """Save the object, and what it gives."""
    folder.mkdir()
    (folder / "words.txt").write_text("some words\n", encoding="utf-8", newline="\n")
    model = Model(folder / "words.txt")
    x = tf.constant(batch())
    layer = model.layers[0]
    layer(x), layer(x, training=True), layer(x[:1], False, 3.0)
    model.join(x, x), model.join(x, by=tf.constant(3.0))
    signatures = {
        "predict": model.predict, "train_step": model.train_step, "look": model.look
    }  # fmt: skip
    examples = {"look": {"word": ["cat", "bird"]}, "predict": {"x": batch()}}
    options = tf.saved_model.SaveOptions(examples=examples, metadata={"made": "for the archive"})
    tf.saved_model.save(model, folder / "bundle", signatures=signatures, options=options)
    (folder / "words.txt").unlink()
    with tf.GradientTape() as tape:
        y = layer(x, training=True)["twice"][1] * 100.0
    expected = {
        "layer": layer(x).numpy().tolist(),
        "gradient": tape.gradient(y, layer.w).numpy().tolist(),
        "scaled": layer(x[:1], False, 3.0).numpy().tolist(),
        "joined": model.join(x, x).first.numpy().tolist(),
        "predict": model.predict(x)["y"].numpy().tolist(),
        "losses": [float(model.train_step(x)["loss"]) for _ in range(5)],
        "after": model.predict(x)["y"].numpy().tolist(),
    }
    text = json.dumps(expected, indent=1) + "\n"
    (folder / "expected.json").write_text(text, encoding="utf-8", newline="\n")


def script(name: str) -> ModuleType:
    """A script of ``loaders/conformance``."""
    sys.path.insert(0, str(CONFORMANCE))
    try:
        spec = importlib.util.spec_from_file_location(
            f"conformance_{name}", CONFORMANCE / f"{name}.py"
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(CONFORMANCE))


def make(folder: Path) -> None:
    """Make the archive of this release in ``folder``.

    Raises:
        FileExistsError: the folder is there.
    """
    folder.mkdir(parents=True)
    try:
        making = script("make")
        for name in CASES:
            (folder / name).mkdir()
            case = making.Case(folder / name, (making.CASES[name].__doc__ or "").strip())
            making.CASES[name](case)
            case.finish()
        save_object(folder / "objects")
    except BaseException:
        shutil.rmtree(folder)
        raise


if __name__ == "__main__":
    make(ARCHIVE / f"format{FORMAT_VERSION}-{VERSION}")
