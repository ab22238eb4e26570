"""Make hostile bundles: those that every loader must refuse, and more for the loaders in Python.

Run as ``python -m tests.hostile.make FOLDER``. The folder gets one folder for each case with the
bundle in it, and ``honest/bundle``, which they are made from. Nothing of them is in the repository.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tfx as tf
from tests.hostile.cases import CASES, FILES
from tests.source_tree import ROOT

_CONFORMANCE = ROOT / "loaders" / "conformance"


class Model(tf.Module):
    """A model whose functions have one form each, with something of every kind of object.

    Nobody writes ``kernel`` and ``head``, so every loader reads the file ``predict.onnx``.
    """

    def __init__(self, words: Path) -> None:
        super().__init__()
        self.kernel = tf.Variable(np.arange(12, dtype=np.float32).reshape(3, 4), name="kernel")
        self.head = tf.Variable(np.ones(4, np.float32), name="head")
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False, name="steps")
        self.words = tf.saved_model.Asset(words)
        self.pair = (self.kernel, [self.head, {"a": 1, 2: "b"}])

    @tf.function(input_signature=[tf.TensorSpec(["n", 3], tf.float32, name="x")])
    def predict(self, x: Any) -> Any:
        return {"y": tf.tensordot(tf.tanh(x @ self.kernel), self.head, 1)}

    @tf.function(input_signature=[tf.TensorSpec(["n", 3], tf.float32, name="x")])
    def train_step(self, x: Any) -> Any:
        self.steps.assign_add(1)
        return {"loss": tf.reduce_mean(self.predict(x)["y"])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def scale(self, x: Any, by: float = 2.0) -> Any:
        return x * by


def conformance() -> ModuleType:
    """The script that changes conformance bundles."""
    spec = importlib.util.spec_from_file_location("hostile", _CONFORMANCE / "hostile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_honest(folder: Path) -> Path:
    """Save the bundle that the others are made from, in ``folder``, and return where it is."""
    (folder / "words.txt").write_text("some words")
    model = Model(folder / "words.txt")
    signatures = {"predict": model.predict, "train_step": model.train_step}
    tf.saved_model.save(model, folder / "honest" / "bundle", signatures=signatures)
    return folder / "honest" / "bundle"


def make(folder: Path) -> list[str]:
    """Make all cases below ``folder``, and return their names."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    hostile = conformance()
    honest = save_honest(folder)
    hostile.make(honest, folder)
    for name, change in CASES.items():
        target = folder / name / "bundle"
        shutil.copytree(honest, target)
        victim = hostile.Victim(target)
        if name in FILES:
            change(victim)
        else:
            change(victim)
            victim.write()
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != "honest")


if __name__ == "__main__":
    print(*make(Path(sys.argv[1])), sep="\n")
