"""The model: a network that tells the noise in a noisy image, and the way back from pure noise."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.model_zoo.layers import Dense

SIDE = 8
PIXELS = SIDE * SIDE
CLASSES = 10


class Diffusion(tf.Module):
    """Digits, by their class.

    Args:
        units: Of the hidden layers.
        depth: Hidden layers, each added to what came in.
        steps: From an image to noise, and back.
        learning_rate: Adam's.
        seed: Of the noise.
    """

    def __init__(
        self,
        units: int = 384,
        depth: int = 4,
        steps: int = 100,
        learning_rate: float = 1e-3,
        seed: int = 0,
    ) -> None:
        super().__init__("diffusion")
        # How much of the image is left in each step: the cosine schedule.
        angles = (np.arange(steps) + 1) / (steps + 1) * np.pi / 2
        self._left = (np.cos(angles) ** 2).astype(np.float32)
        self._steps = steps
        normal = tf.initializers.RandomNormal(stddev=1.0)
        self.classes = tf.Variable(normal([CLASSES, units]), name="classes")
        self.times = tf.Variable(normal([steps, units]), name="times")
        self.first = Dense(PIXELS, units, "first")
        self.hidden = [Dense(units, units, f"hidden{i}") for i in range(depth)]
        self.last = Dense(units, PIXELS, "last")
        self.random = tf.random.Generator.from_seed(seed)
        self.optimizer = tf.optimizers.Adam(learning_rate)

    def noise_in(self, x: tf.Tensor, time: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
        """Tell the noise in ``[batch, 64]`` at the given steps."""
        given = tf.gather(self.times, time) + tf.gather(self.classes, label)
        h = self.first(x)
        for layer in self.hidden:
            h = h + tf.nn.silu(layer(h + given))
        return self.last(h)

    @tf.function(
        input_signature=[
            tf.TensorSpec(["batch", SIDE, SIDE], tf.float32, name="image"),
            tf.TensorSpec(["batch"], tf.int64, name="label"),
        ]
    )
    def train_step(self, image: tf.Tensor, label: tf.Tensor) -> dict[str, tf.Tensor]:
        """Add noise, tell it, learn from the difference."""
        clean = 2.0 * tf.reshape(image, [-1, PIXELS]) - 1.0
        noise = self.random.normal(tf.shape(clean))
        time = self.random.uniform([tf.shape(clean)[0]], 0, self._steps, tf.int64)
        left = tf.gather(self._left, time)[:, None]
        noisy = tf.sqrt(left) * clean + tf.sqrt(1.0 - left) * noise
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.noise_in(noisy, time, label) - noise))
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec(["batch"], tf.int64, name="label")])
    def sample(self, label: tf.Tensor) -> dict[str, tf.Tensor]:
        """Draw an image for each label: the whole way back is one loop of the graph."""
        number = tf.shape(label)[0]
        x = self.random.normal([number, PIXELS])
        left = tf.constant(self._left)
        before = tf.concat([[1.0], self._left[:-1]], axis=0)
        for i in tf.range(self._steps):
            step = self._steps - 1 - i
            here, there = left[step], before[step]
            noise = self.noise_in(x, tf.fill([number], step), label)
            clean = (x - tf.sqrt(1.0 - here) * noise) / tf.sqrt(here)
            clean = tf.clip_by_value(clean, -1.0, 1.0)
            ratio = here / there
            mean = tf.sqrt(there) * (1.0 - ratio) * clean + tf.sqrt(ratio) * (1.0 - there) * x
            spread = tf.sqrt((1.0 - there) / (1.0 - here) * (1.0 - ratio))
            x = mean / (1.0 - here) + spread * self.random.normal([number, PIXELS])
        return {"image": tf.reshape(tf.clip_by_value((x + 1.0) / 2.0, 0.0, 1.0), [-1, SIDE, SIDE])}
