"""What all networks that write have in common: the loss, and the functions that a bundle offers."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tfx.model_zoo.text import VOCABULARY

TEXTS = [tf.TensorSpec(["batch", "time"], tf.int64, name="tokens")]
BEGINNING = [
    tf.TensorSpec(["prompt"], tf.int64, name="prompt"),
    tf.TensorSpec([], tf.int32, name="length"),
    tf.TensorSpec([], tf.float32, name="temperature"),
]


class LanguageModel(tf.Module):
    """Characters to the next one; a subclass says how, and has an optimizer.

    Args:
        name: The module's.
        seed: Of what is drawn while generating.
    """

    optimizer: Any

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name)
        self.random = tf.random.Generator.from_seed(seed)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        """``[batch, time]`` to logits of each next character."""
        raise AssertionError(f"{type(self).__name__} does not say what it computes")

    def loss(self, tokens: tf.Tensor) -> tf.Tensor:
        """Nats a character."""
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tokens[:, 1:], logits=self(tokens[:, :-1])
        )
        return tf.reduce_mean(losses)

    def draw(self, logits: tf.Tensor, temperature: tf.Tensor) -> tf.Tensor:
        """A character by its logits: the largest with Gumbel noise is a draw from the softmax."""
        noise = -tf.math.log(-tf.math.log(self.random.uniform([VOCABULARY], 1e-7, 1.0)))
        return tf.argmax(logits / temperature + noise)

    @tf.function(input_signature=TEXTS)
    def serve(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """Logits of each next character."""
        return {"logits": self(tokens)}

    @tf.function(input_signature=TEXTS)
    def judge(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """The loss, without training."""
        return {"loss": self.loss(tokens)}

    @tf.function(input_signature=TEXTS)
    def train_step(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """One step of the optimizer; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss = self.loss(tokens)
        variables = self.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss}
