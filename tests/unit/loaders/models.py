"""A small model with a function of every kind that examples are made for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf

WEIGHTS = np.array([[1, -2], [0.5, 3], [2, 1]], np.float32)


class Model(tf.Module):
    """Serving with open dimensions, a step that changes state, text, and random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(WEIGHTS)
        self.count = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec(["batch", 3], tf.float32, "x")])
    def serve(self, x: Any) -> Any:
        """Multiply."""
        return {"y": x @ self.w}

    @tf.function(input_signature=[tf.TensorSpec(["batch", 3], tf.float32, "x")])
    def step(self, x: Any) -> Any:
        """Change the weights."""
        self.w.assign_sub(0.5 * tf.transpose(x) @ (x @ self.w))
        self.count.assign_add(1.0)
        return {"count": self.count, "sum": tf.reduce_sum(self.w)}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.string, "words")])
    def text(self, words: Any) -> Any:
        """Compare."""
        return {"same": tf.equal(words, "one")}

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, "x")])
    def logs(self, x: Any) -> Any:
        """Finite for positive numbers alone."""
        return {"y": tf.math.log(x)}

    @property
    def signatures(self) -> dict[str, Any]:
        """All of them."""
        return {
            "serving_default": self.serve,
            "step": self.step,
            "text": self.text,
            "logs": self.logs,
        }


def save(folder: Path, **options: Any) -> Path:
    """Save the model."""
    model = Model()
    chosen = tf.saved_model.SaveOptions(**options)
    tf.saved_model.save(model, folder, signatures=model.signatures, options=chosen)
    return folder
