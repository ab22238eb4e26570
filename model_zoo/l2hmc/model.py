"""The sampler: leapfrog steps that two small networks stretch and shift.

Every step can be undone exactly, and its change of volume is known; so a proposal is accepted with
the probability of Metropolis and Hastings, and the chain is right whatever the networks say. They
are trained for proposals that go far and are accepted.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

import tfx as tf
from tfx.model_zoo.layers import Dense

DIMENSIONS = 2


class Target(Protocol):
    """A density."""

    temperature: float

    def energy(self, x: tf.Tensor) -> tf.Tensor:
        """``[chains, 2]`` to ``[chains]``."""


class Network(tf.Module):
    """What stretches (S, Q) and shifts (T) one kind of update.

    Args:
        units: Of the two hidden layers.
        name: The module's.
    """

    def __init__(self, units: int, name: str) -> None:
        super().__init__(name)
        self.hidden = [Dense(2 * DIMENSIONS + 2, units, "hidden0"), Dense(units, units, "hidden1")]
        self.heads = Dense(units, 3 * DIMENSIONS, "heads")
        # Nearly zero: training begins with plain Hamiltonian Monte Carlo.
        self.heads.kernel.assign(0.01 * self.heads.kernel)
        self.scale = tf.Variable(tf.zeros([2, DIMENSIONS]), name="scale")

    def __call__(self, a: tf.Tensor, b: tf.Tensor, angle: float) -> tuple[tf.Tensor, ...]:
        """S, Q and T, from two vectors and the place in the trajectory."""
        place = tf.ones_like(a) * np.array([np.cos(angle), np.sin(angle)], np.float32)
        h = tf.concat([a, b, place], axis=1)
        for layer in self.hidden:
            h = tf.nn.relu(layer(h))
        s, q, t = tf.split(self.heads(h), 3, axis=1)
        scale = tf.exp(self.scale)
        return scale[0] * tf.tanh(s), scale[1] * tf.tanh(q), t


class Sampler(tf.Module):
    """Chains, the networks that move them, and what trains these.

    Args:
        target: Where to draw from.
        chains: How many are trained on at once.
        leapfrogs: Steps of a trajectory.
        units: Of the networks' hidden layers.
        step_size: What the learned one begins with.
        length: The distance that a good proposal goes.
        fresh: How many chains that have just begun are trained on besides, so that the sampler also
            finds its way to where the density is.
        seed: Of momenta, directions and decisions.
    """

    def __init__(
        self,
        target: Target,
        chains: int = 200,
        leapfrogs: int = 10,
        units: int = 10,
        step_size: float = 0.1,
        length: float = 0.1,
        fresh: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__("l2hmc")
        self._target, self._chains, self._fresh = target, chains, fresh
        self._leapfrogs, self._length = leapfrogs, length
        self.momentum = Network(units, "momentum")
        self.position = Network(units, "position")
        self.log_step = tf.Variable(np.float32(np.log(step_size)), name="log_step")
        self.random = tf.random.Generator.from_seed(seed)
        self.x = tf.Variable(self.random.normal([chains, DIMENSIONS]), trainable=False, name="x")
        self.temperature = tf.Variable(target.temperature, trainable=False, name="temperature")
        self.optimizer = tf.optimizers.Adam(1e-3)

    def energy(self, x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
        """Of position and momentum, ``[chains]``."""
        return self._target.energy(x) / self.temperature + 0.5 * tf.reduce_sum(v * v, axis=1)

    def slope(self, x: tf.Tensor) -> tf.Tensor:
        """The energy's gradient; the loss is differentiated through it once more."""
        with tf.GradientTape() as tape:
            tape.watch(x)
            energy = self._target.energy(x) / self.temperature
        slope: tf.Tensor = tape.gradient(energy, x)
        return slope

    def kick(
        self, x: tf.Tensor, v: tf.Tensor, angle: float, forward: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Change the momentum for half a step; returns it and the logarithm of the volume."""
        epsilon, slope = tf.exp(self.log_step), self.slope(x)
        s, q, t = self.momentum(x, slope, angle)
        s, push = 0.5 * epsilon * s, 0.5 * epsilon * (tf.exp(epsilon * q) * slope + t)
        if forward:
            return v * tf.exp(s) - push, tf.reduce_sum(s, axis=1)
        return (v + push) * tf.exp(-s), -tf.reduce_sum(s, axis=1)

    def drift(
        self, x: tf.Tensor, v: tf.Tensor, keep: np.ndarray, angle: float, forward: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Move the coordinates that are not kept; returns all and the logarithm of the volume."""
        epsilon = tf.exp(self.log_step)
        s, q, t = self.position(v, keep * x, angle)
        s, push = epsilon * s, epsilon * (tf.exp(epsilon * q) * v + t)
        moved = x * tf.exp(s) + push if forward else (x - push) * tf.exp(-s)
        volume = tf.reduce_sum((1 - keep) * s, axis=1)
        return keep * x + (1 - keep) * moved, volume if forward else -volume

    def trajectory(
        self, x: tf.Tensor, v: tf.Tensor, forward: bool
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Where it ends, and the probability to accept that."""
        begin, volume = self.energy(x, v), tf.zeros_like(x[:, 0])
        steps = range(self._leapfrogs)
        for step in steps if forward else reversed(steps):
            angle = 2 * np.pi * step / self._leapfrogs
            first = np.array([step % 2, 1 - step % 2], np.float32)
            v, a = self.kick(x, v, angle, forward)
            x, b = self.drift(x, v, first if forward else 1 - first, angle, forward)
            x, c = self.drift(x, v, 1 - first if forward else first, angle, forward)
            v, d = self.kick(x, v, angle, forward)
            volume = volume + a + b + c + d
        return x, v, tf.exp(tf.minimum(begin - self.energy(x, v) + volume, 0.0))

    def propose(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Proposals in a random direction of time, and the probabilities to accept them."""
        v = self.random.normal(tf.shape(x))
        ahead, _, p_ahead = self.trajectory(x, v, forward=True)
        back, _, p_back = self.trajectory(x, v, forward=False)
        forward = self.random.uniform(tf.shape(p_ahead)) < 0.5
        return tf.where(forward[:, None], ahead, back), tf.where(forward, p_ahead, p_back)

    def decide(self, x: tf.Tensor, proposal: tf.Tensor, accept: tf.Tensor) -> tf.Tensor:
        """The chains' next positions."""
        taken = self.random.uniform(tf.shape(accept)) < accept
        return tf.where(taken[:, None], proposal, x)

    @tf.function(input_signature=[tf.TensorSpec(["chains", DIMENSIONS], tf.float32, name="x")])
    def sample(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """Move chains once."""
        proposal, accept = self.propose(x)
        return {"x": self.decide(x, proposal, accept), "accept": accept}

    @tf.function(input_signature=[])
    def train_step(self) -> dict[str, tf.Tensor]:
        """Move the chains and as many fresh ones as wanted; learn from both."""
        x = tf.concat([self.x, self.random.normal([self._fresh, DIMENSIONS])], axis=0)
        with tf.GradientTape() as tape:
            proposal, accept = self.propose(x)
            distance = tf.reduce_sum(tf.square(proposal - x), axis=1) * accept + 1e-4
            loss = tf.reduce_mean(self._length / distance - distance / self._length)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        self.x.assign(self.decide(x, proposal, accept)[: self._chains])
        self.temperature.assign(tf.maximum(1.0, 0.9992 * self.temperature))
        return {"loss": loss, "accept": tf.reduce_mean(accept)}
