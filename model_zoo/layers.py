"""The layers that more than one model of the zoo has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import tfx as tf


class Dense(tf.Module):
    """Fully connected layer."""

    def __init__(self, units_in: int, units_out: int, name: str) -> None:
        super().__init__(name)
        shape = [units_in, units_out]
        self.kernel = tf.Variable(tf.initializers.GlorotUniform()(shape), name="kernel")
        self.bias = tf.Variable(tf.zeros([units_out]), name="bias")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """``[..., units_in]`` to ``[..., units_out]``."""
        return tf.matmul(x, self.kernel) + self.bias


class Perceptron(tf.Module):
    """Dense layers with an activation between them.

    Args:
        units: Of the input, of each layer.
        activation: Between two layers.
        name: The module's.
    """

    def __init__(
        self,
        units: Sequence[int],
        activation: Callable[[tf.Tensor], tf.Tensor] = tf.nn.relu,
        name: str = "perceptron",
    ) -> None:
        super().__init__(name)
        pairs = itertools.pairwise(units)
        self.layers = [Dense(a, b, f"dense{i}") for i, (a, b) in enumerate(pairs)]
        self.activation = activation

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """``[..., units[0]]`` to ``[..., units[-1]]``."""
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)
