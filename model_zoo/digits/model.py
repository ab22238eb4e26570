"""The model: two convolutions, one hidden layer, and the functions that a bundle offers."""

from __future__ import annotations

import tfx as tf
from tfx.model_zoo.layers import Dense

CLASSES = 10
SIDE = 8


class Conv(tf.Module):
    """3x3 convolution with ReLU."""

    def __init__(self, channels_in: int, channels_out: int, name: str) -> None:
        super().__init__(name)
        shape = [3, 3, channels_in, channels_out]
        self.kernel = tf.Variable(tf.initializers.HeNormal()(shape), name="kernel")
        self.bias = tf.Variable(tf.zeros([channels_out]), name="bias")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """``[batch, height, width, channels_in]`` to the same with ``channels_out``."""
        y = tf.nn.conv2d(x, self.kernel, strides=1, padding="SAME")
        return tf.nn.relu(tf.nn.bias_add(y, self.bias))


class DigitClassifier(tf.Module):
    """Images of 8x8 grey levels in [0, 1] to probabilities of the ten digits.

    Args:
        learning_rate: Adam's.
    """

    def __init__(self, learning_rate: float = 3e-3) -> None:
        super().__init__("digits")
        self.conv1 = Conv(1, 16, "conv1")
        self.conv2 = Conv(16, 32, "conv2")
        self.hidden = Dense(4 * 4 * 32, 64, "hidden")
        self.logits = Dense(64, CLASSES, "logits")
        self.optimizer = tf.optimizers.Adam(learning_rate)

    def __call__(self, image: tf.Tensor) -> tf.Tensor:
        """Logits ``[batch, 10]``."""
        x = tf.expand_dims(image, -1)
        x = self.conv2(self.conv1(x))
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")
        x = tf.reshape(x, [-1, 4 * 4 * 32])
        return self.logits(tf.nn.relu(self.hidden(x)))

    @tf.function(input_signature=[tf.TensorSpec(["batch", SIDE, SIDE], tf.float32, name="image")])
    def predict(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """Probabilities and the most likely digit of each image."""
        logits = self(image)
        return {"digit": tf.argmax(logits, axis=-1), "probabilities": tf.nn.softmax(logits)}

    @tf.function(
        input_signature=[
            tf.TensorSpec(["batch", SIDE, SIDE], tf.float32, name="image"),
            tf.TensorSpec(["batch"], tf.int64, name="label"),
        ]
    )
    def train_step(self, image: tf.Tensor, label: tf.Tensor) -> dict[str, tf.Tensor]:
        """One Adam step; returns the batch's mean loss and accuracy before it."""
        with tf.GradientTape() as tape:
            logits = self(image)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
            loss = tf.reduce_mean(losses)
        layers = (self.conv1, self.conv2, self.hidden, self.logits)
        variables = [v for layer in layers for v in layer.variables]
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        hits = tf.equal(tf.argmax(logits, axis=-1), label)
        return {"accuracy": tf.reduce_mean(tf.cast(hits, tf.float32)), "loss": loss}
