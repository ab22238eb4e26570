"""Conformance cases of mixed precision: half trained in Python, they go on training elsewhere.

Values inside of the graphs are float16 or bfloat16; what goes in and out, variables included, is
float32. One step in the middle overflows, is skipped, and halves the scale of the loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, spec

import tfx as tf


class Dense(tf.Module):
    """A layer that computes in the dtype of its policy."""

    def __init__(self, units_in: int, units_out: int, policy: tf.mixed_precision.Policy) -> None:
        super().__init__()
        self.dtype_policy = policy
        rng = np.random.default_rng(units_in)
        weights = rng.standard_normal((units_in, units_out)) / np.sqrt(units_in)
        self.w = tf.Variable(weights.astype(np.float32), name="w")
        self.b = tf.Variable(tf.zeros([units_out]), name="b")

    @tf.mixed_precision.autocast
    def __call__(self, x: Any) -> Any:
        """``[batch, units_in]`` to ``[batch, units_out]``."""
        return x @ self.w + self.b


class Network(tf.Module):
    """Two layers with Adam and a dynamic loss scale."""

    def __init__(self, policy: str) -> None:
        super().__init__()
        with tf.mixed_precision.policy_scope(policy) as chosen:
            self.first, self.second = Dense(6, 16, chosen), Dense(16, 3, chosen)
        self.optimizer = tf.mixed_precision.LossScaleOptimizer(
            tf.optimizers.Adam(0.01), initial_scale=1024.0, dynamic_growth_steps=3
        )
        self.train_step = tf.function(
            self._train_step,
            input_signature=[spec(["n", 6], "float32", "x"), spec(["n"], "int64", "labels")],
        )
        self.serve = tf.function(self._serve, input_signature=[spec(["n", 6], "float32", "x")])

    def _serve(self, x: Any) -> Any:
        hidden = tf.nn.relu(self.first(x))
        return {"logits": tf.cast(self.second(hidden), tf.float32)}

    def _train_step(self, x: Any, labels: Any) -> Any:
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels, self._serve(x)["logits"]
            )
            loss = tf.reduce_mean(losses)
            scaled = self.optimizer.get_scaled_loss(loss)
        grads = self.optimizer.get_unscaled_gradients(tape.gradient(scaled, variables))
        self.optimizer.apply_gradients(zip(grads, variables, strict=True))
        return {"loss": loss, "loss_scale": self.optimizer.loss_scale}


def _train(case: Case, policy: str, tolerance: float) -> None:
    case.tolerate(tolerance, tolerance)
    rng = np.random.default_rng(3)
    model = Network(policy)
    batches = []
    for number in range(8):
        x = rng.standard_normal((5 + number % 2, 6)).astype(np.float32)
        # Too large for float16, and for the squares in the gradient of either.
        x = np.full_like(x, 3e38) if number == 5 else x
        batches.append({"x": x, "labels": rng.integers(0, 3, len(x))})
    for batch in batches[:2]:
        model.train_step(**batch)
    case.save(model, {"train_step": model.train_step, "serve": model.serve})
    for number, batch in enumerate(batches[2:]):
        case.call("train_step", batch, model.train_step(**batch))
        if number == 2:
            case.save_again()
    given = {"x": batches[0]["x"]}
    case.call("serve", given, model.serve(**given))
    case.variables({"optimizer/loss_scale/current_loss_scale": model.optimizer.loss_scale})


def mixed_float16(case: Case) -> None:
    """Trained in float16 with float32 variables and a dynamic scale."""
    _train(case, "mixed_float16", 1e-3)


def mixed_bfloat16(case: Case) -> None:
    """The same in bfloat16."""
    _train(case, "mixed_bfloat16", 1e-2)


CASES = {"mixed_float16": mixed_float16, "mixed_bfloat16": mixed_bfloat16}
