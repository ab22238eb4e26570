"""Teach a cart to keep its pole upright, and see for how long it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import trainer
from tfx.model_zoo.policy_gradient import environment
from tfx.model_zoo.policy_gradient.model import Policy

CARTS, LONGEST = 100, 500


def play(model: Policy, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose the better direction always: lengths ``[CARTS]``, angles ``[LONGEST, CARTS]``."""
    rng = np.random.default_rng(seed)
    state = tf.constant(rng.uniform(-0.05, 0.05, (CARTS, 4)).astype(np.float32))
    up, lengths, angles = np.ones(CARTS, bool), np.zeros(CARTS), np.zeros((LONGEST, CARTS))
    for i in range(LONGEST):
        lengths += up
        angles[i] = np.asarray(state)[:, 2]
        state = environment.step(state, model.serve(state)["right"])
        up &= np.asarray(environment.stands(state))
    return lengths, angles


def main(argv: Sequence[str] | None = None) -> None:
    """Train and play."""
    options = trainer.arguments(argv, "policy_gradient", __doc__, steps=600, quick_steps=200)
    model = Policy(seed=options.seed)
    training = trainer.Trainer(model, None, options)
    training.run()
    lengths, angles = play(model, options.seed)

    def picture(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        training.plot(left, "length")
        right.plot(np.arange(LONGEST) * environment.TIME_STEP, np.rad2deg(angles[:, :5]))
        right.set_xlabel("seconds")
        right.set_ylabel("angle of the pole, degrees")

    training.finish(
        {
            "mean_length": float(lengths.mean()),
            "still_up_at_the_end": float(np.mean(lengths == LONGEST)),
        },
        {"serve": model.serve, "train_step": model.train_step},
        picture,
    )
