"""The model: a network that chooses pushes; whole episodes and the training step are one graph."""

from __future__ import annotations

import tfx as tf
from tfx.model_zoo.layers import Perceptron
from tfx.model_zoo.policy_gradient import environment


class Policy(tf.Module):
    """States to the direction of the push.

    Args:
        carts: Episodes that are played at once.
        time: Their most steps.
        units: Of the hidden layer.
        learning_rate: Adam's.
        seed: Of beginnings and choices.
    """

    def __init__(
        self,
        carts: int = 32,
        time: int = 200,
        units: int = 32,
        learning_rate: float = 1e-2,
        seed: int = 0,
    ) -> None:
        super().__init__("policy")
        self._carts, self._time = carts, time
        self.network = Perceptron([4, units, 1], tf.tanh, "network")
        self.random = tf.random.Generator.from_seed(seed)
        self.optimizer = tf.optimizers.Adam(learning_rate)

    def logits(self, state: tf.Tensor) -> tf.Tensor:
        """``[..., 4]`` to ``[...]``: above 0 is to the right."""
        return tf.squeeze(self.network(state), axis=-1)

    def episodes(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Play: states ``[time, carts, 4]``, choices and who was still up ``[time, carts]``."""
        state = self.random.uniform([self._carts, 4], -0.05, 0.05)
        up = tf.ones([self._carts], tf.bool)
        states = tf.TensorArray(tf.float32, self._time, element_shape=[self._carts, 4])
        choices = tf.TensorArray(tf.bool, self._time, element_shape=[self._carts])
        ups = tf.TensorArray(tf.bool, self._time, element_shape=[self._carts])
        for i in tf.range(self._time):
            right = self.random.uniform([self._carts]) < tf.sigmoid(self.logits(state))
            states, choices = states.write(i, state), choices.write(i, right)
            ups = ups.write(i, up)
            state = environment.step(state, right)
            up = up & environment.stands(state)
        return states.stack(), choices.stack(), ups.stack()

    @tf.function(input_signature=[tf.TensorSpec(["carts", 4], tf.float32, name="state")])
    def serve(self, state: tf.Tensor) -> dict[str, tf.Tensor]:
        """The better direction."""
        return {"right": self.logits(state) > 0.0}

    @tf.function(input_signature=[])
    def train_step(self) -> dict[str, tf.Tensor]:
        """Play, and make more likely what was followed by long times upright."""
        states, choices, ups = self.episodes()
        up = tf.cast(ups, tf.float32)
        # Steps that were still to come, compared with what is usual at that time.
        gain = tf.cumsum(up, axis=0, reverse=True)
        number = tf.reduce_sum(up, axis=1, keepdims=True) + 1e-6
        usual = tf.reduce_sum(gain * up, axis=1, keepdims=True) / number
        advantage = (gain - usual) * up
        advantage = advantage / tf.sqrt(tf.reduce_mean(tf.square(advantage)) + 1.0)
        with tf.GradientTape() as tape:
            unlikely = tf.nn.sigmoid_cross_entropy_with_logits(
                labels=tf.cast(choices, tf.float32), logits=self.logits(states)
            )
            loss = tf.reduce_sum(unlikely * advantage) / tf.reduce_sum(up)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss, "length": tf.reduce_mean(tf.reduce_sum(up, axis=0))}
