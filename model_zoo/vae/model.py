"""The model: an image to a distribution over a few numbers, and numbers to an image."""

from __future__ import annotations

import tfx as tf
from tfx.model_zoo.layers import Perceptron

SIDE = 8
PIXELS = SIDE * SIDE


class Autoencoder(tf.Module):
    """Images of grey levels in [0, 1], to a code and back.

    Args:
        code: Numbers in the code.
        units: Of the hidden layers.
        learning_rate: Adam's.
        seed: Of the noise.
    """

    def __init__(
        self, code: int = 8, units: int = 256, learning_rate: float = 1e-3, seed: int = 0
    ) -> None:
        super().__init__("vae")
        self.code = code
        self.encoder = Perceptron([PIXELS, units, units, 2 * code], name="encoder")
        self.decoder = Perceptron([code, units, units, PIXELS], name="decoder")
        self.random = tf.random.Generator.from_seed(seed)
        self.optimizer = tf.optimizers.Adam(learning_rate)

    def distribution(self, image: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Means and logarithms of the variances of the codes."""
        mean, log_variance = tf.split(self.encoder(tf.reshape(image, [-1, PIXELS])), 2, axis=1)
        return mean, log_variance

    def losses(self, image: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Nats an image: of the pixels, and of the code against a standard normal."""
        mean, log_variance = self.distribution(image)
        logits = self.decoder(mean + tf.exp(0.5 * log_variance) * noise)
        pixels = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.reshape(image, [-1, PIXELS]), logits=logits
        )
        divergence = 0.5 * (tf.square(mean) + tf.exp(log_variance) - 1.0 - log_variance)
        of_pixels, of_code = (tf.reduce_sum(x, axis=1) for x in (pixels, divergence))
        return tf.reduce_mean(of_pixels), tf.reduce_mean(of_code)

    @tf.function(input_signature=[tf.TensorSpec(["batch", SIDE, SIDE], tf.float32, name="image")])
    def encode(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """The middle of an image's codes."""
        return {"code": self.distribution(image)[0]}

    @tf.function(input_signature=[tf.TensorSpec(["batch", None], tf.float32, name="code")])
    def serve(self, code: tf.Tensor) -> dict[str, tf.Tensor]:
        """The images of codes; those of standard normal ones are new digits."""
        return {"image": tf.reshape(tf.sigmoid(self.decoder(code)), [-1, SIDE, SIDE])}

    @tf.function(input_signature=[tf.TensorSpec(["batch", SIDE, SIDE], tf.float32, name="image")])
    def train_step(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """One step of Adam on the evidence's lower bound."""
        noise = self.random.normal([tf.shape(image)[0], self.code])
        with tf.GradientTape() as tape:
            pixels, divergence = self.losses(image, noise)
            loss = pixels + divergence
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss, "pixels": pixels, "divergence": divergence}
