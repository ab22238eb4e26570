"""The model: a sum over pairs of atoms of what a network says of their distance."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.model_zoo.forces.data import ATOMS
from tfx.model_zoo.layers import Perceptron


class Energy(tf.Module):
    """Positions of atoms to an energy, that does not change if all are moved, turned or exchanged.

    Args:
        units: Of the hidden layers.
        learning_rate: Adam's.
    """

    def __init__(self, units: int = 64, learning_rate: float = 5e-4) -> None:
        super().__init__("energy")
        self._first, self._second = np.triu_indices(ATOMS, 1)
        # Smooth: forces are derivatives, and training takes those of the forces.
        self.pair = Perceptron([2, units, units, 1], tf.tanh, "pair")
        self.optimizer = tf.optimizers.Adam(learning_rate)

    def __call__(self, positions: tf.Tensor) -> tf.Tensor:
        """``[batch, atoms, 3]`` to ``[batch]``."""
        a, b = (tf.gather(positions, i, axis=1) for i in (self._first, self._second))
        square = tf.reduce_sum(tf.square(a - b), axis=2, keepdims=True)
        features = tf.concat([tf.sqrt(square), 1.0 / tf.pow(square, 3.0)], axis=2)
        return tf.reduce_sum(self.pair(features), axis=[1, 2])

    def energy_and_forces(self, positions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The energy, and minus its gradient."""
        with tf.GradientTape() as tape:
            tape.watch(positions)
            energy = self(positions)
        return energy, -tape.gradient(energy, positions)

    @tf.function(input_signature=[tf.TensorSpec(["batch", ATOMS, 3], tf.float32, name="positions")])
    def serve(self, positions: tf.Tensor) -> dict[str, tf.Tensor]:
        """Energies and forces: the gradient is a part of the exported graph."""
        energy, forces = self.energy_and_forces(positions)
        return {"energy": energy, "forces": forces}

    @tf.function(
        input_signature=[
            tf.TensorSpec(["batch", ATOMS, 3], tf.float32, name="positions"),
            tf.TensorSpec(["batch"], tf.float32, name="energy"),
            tf.TensorSpec(["batch", ATOMS, 3], tf.float32, name="forces"),
        ]
    )
    def train_step(
        self, positions: tf.Tensor, energy: tf.Tensor, forces: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Learn from energies and forces; the latter need a second derivative."""
        with tf.GradientTape() as tape:
            found_energy, found_forces = self.energy_and_forces(positions)
            of_energy = tf.reduce_mean(tf.square(found_energy - energy))
            of_forces = tf.reduce_mean(tf.square(found_forces - forces))
            loss = of_energy + of_forces
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss, "of_energy": of_energy, "of_forces": of_forces}
