"""Small models, and what the tests of this folder do with bundles again and again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from tests.source_tree import ROOT


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


class Dense(tf.Module):
    """A layer with two variables and a traced call."""

    def __init__(self, width_in: int, width_out: int, seed: int = 0) -> None:
        super().__init__()
        self.w = tf.Variable(numbers(width_in, width_out, seed=seed), name="w")
        self.b = tf.Variable(numbers(width_out, seed=seed + 1), name="b")

    @tf.function
    def __call__(self, x: Any, training: bool = False) -> Any:
        y = x @ self.w + self.b
        return {"y": y, "twice": y * 2.0} if training else y


class Trainer(tf.Module):
    """A model with a serving function and a train step that change and read the same variables."""

    def __init__(self, seed: int = 0, optimizer: Any = None) -> None:
        super().__init__()
        self.w = tf.Variable(numbers(4, 3, seed=seed), name="w")
        self.b = tf.Variable(np.zeros(3, np.float32), name="b")
        self.scale = tf.Variable(np.float32(0.5), trainable=False, name="scale")
        self.optimizer = optimizer or tf.optimizers.Adam(0.05)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def predict(self, x: Any) -> Any:
        return {"logits": (x @ self.w + self.b) * self.scale}

    @tf.function(
        input_signature=[tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([None, 3], tf.float32)]
    )
    def train_step(self, x: Any, y: Any) -> Any:
        variables = [self.w, self.b]
        with tf.GradientTape() as tape:
            error = (x @ self.w + self.b) * self.scale - y
            loss = tf.reduce_mean(error * error)
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss}

    @property
    def signatures(self) -> dict[str, Any]:
        return {"serving_default": self.predict, "train_step": self.train_step}


def batch(seed: int = 0, rows: int = 5) -> tuple[Any, Any]:
    return tf.constant(numbers(rows, 4, seed=seed)), tf.constant(numbers(rows, 3, seed=seed + 50))


def saved(obj: Any, folder: Path, **options: Any) -> Any:
    """Save an object and load it."""
    tf.saved_model.save(obj, folder, **options)
    return tf.saved_model.load(folder)


def saved_function(function: Any, folder: Path) -> Any:
    """Save a function as an attribute and load it."""
    module = tf.Module()
    module.f = function
    return saved(module, folder).f


def run_python(program: str, *args: object, env: dict[str, str] | None = None) -> str:
    """Run a program in a process of its own and return what it prints."""
    import os

    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, args)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


def file_bytes(folder: Path) -> dict[str, bytes]:
    """Content of every file of a bundle by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
