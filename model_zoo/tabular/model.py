"""The model: dense layers over standardized columns; mean and scale are a part of the graph."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.model_zoo.layers import Perceptron


class Table(tf.Module):
    """Rows of a table to the probabilities of classes.

    Args:
        rows: What is known, for the columns' means and scales.
        classes: How many there are.
        units: Of the hidden layers.
        keep: Share of the hidden units that a training step keeps.
        seed: Of the units that are dropped.
    """

    def __init__(
        self, rows: np.ndarray, classes: int, units: int = 64, keep: float = 0.7, seed: int = 0
    ) -> None:
        super().__init__("table")
        self.mean = tf.Variable(rows.mean(0), trainable=False, name="mean")
        self.scale = tf.Variable(rows.std(0) + 1e-6, trainable=False, name="scale")
        self.first = Perceptron([rows.shape[1], units], name="first")
        self.last = Perceptron([units, units, classes], name="last")
        self._keep = keep
        self.random = tf.random.Generator.from_seed(seed)
        self.optimizer = tf.optimizers.AdamW(1e-3, weight_decay=0.05)
        # Traced here, because the number of columns is the table's.
        features = tf.TensorSpec(["batch", rows.shape[1]], tf.float32, name="features")
        label = tf.TensorSpec(["batch"], tf.int64, name="label")
        self.serve = tf.function(self._serve, input_signature=[features])
        self.train_step = tf.function(self._train_step, input_signature=[features, label])

    def __call__(self, features: tf.Tensor, keep: tf.Tensor | float = 1.0) -> tf.Tensor:
        """Logits ``[batch, classes]``; ``keep`` multiplies the first layer's units."""
        hidden = self.first((features - self.mean) / self.scale)
        return self.last(tf.nn.relu(hidden) * keep)

    def _serve(self, features: tf.Tensor) -> dict[str, tf.Tensor]:
        """Probabilities of the classes."""
        return {"probabilities": tf.nn.softmax(self(features))}

    def _train_step(self, features: tf.Tensor, label: tf.Tensor) -> dict[str, tf.Tensor]:
        """One step of AdamW, with dropout."""
        shape = [tf.shape(features)[0], self.first.layers[0].bias.shape[0]]
        kept = tf.cast(self.random.uniform(shape) < self._keep, tf.float32) / self._keep
        with tf.GradientTape() as tape:
            logits = self(features, kept)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
            loss = tf.reduce_mean(losses)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss}
