"""The densities to draw from, each by its energy: minus the logarithm, up to a constant."""

from __future__ import annotations

import numpy as np

import tfx as tf


class Gaussian:
    """Two variables with variances 100 and 0.1 along the diagonals."""

    temperature, step_size, fresh, units = 1.0, 0.1, 200, 10

    def __init__(self) -> None:
        covariance = np.array([[50.05, -49.95], [-49.95, 50.05]])
        self.factor = np.linalg.cholesky(covariance)
        self.precision = np.linalg.inv(covariance).astype(np.float32)

    def energy(self, x: tf.Tensor) -> tf.Tensor:
        """``[chains, 2]`` to ``[chains]``."""
        return 0.5 * tf.reduce_sum(tf.matmul(x, self.precision) * x, axis=1)

    def draw(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exactly, to begin chains where they shall be."""
        return (rng.normal(size=(number, 2)) @ self.factor.T).astype(np.float32)


class Mixture:
    """Two Gaussians of variance 0.1 around -2 and 2: HMC alone hardly ever changes between them."""

    # What training begins with: a warm mixture has no gap. Chains that have just begun, between the
    # centers, would only teach to fall.
    temperature, step_size, fresh, units = 10.0, 0.2, 0, 20
    centers = np.array([[-2.0, 0.0], [2.0, 0.0]], np.float32)
    variance = 0.1

    def energy(self, x: tf.Tensor) -> tf.Tensor:
        """``[chains, 2]`` to ``[chains]``."""
        offsets = tf.expand_dims(x, 1) - self.centers
        distances = tf.reduce_sum(tf.square(offsets), axis=2) / (2 * self.variance)
        return -tf.reduce_logsumexp(-distances, axis=1)

    def draw(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exactly, to begin chains where they shall be."""
        noise = rng.normal(size=(number, 2)) * np.sqrt(self.variance)
        return np.array(self.centers[rng.integers(0, 2, number)] + noise, np.float32)
