"""Train a variational autoencoder on 8x8 digits, and draw new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import pictures, trainer
from tfx.model_zoo.digits import data as digits
from tfx.model_zoo.vae.model import Autoencoder

BATCH = 64


def main(argv: Sequence[str] | None = None) -> None:
    """Train, judge, draw."""
    options = trainer.arguments(argv, "vae", __doc__, steps=10000, quick_steps=2000)
    images = digits.load(seed=options.seed)
    model = Autoencoder(units=128 if options.quick else 256, seed=options.seed)
    data = tf.data.Dataset.from_tensor_slices(images.train_images)
    data = data.shuffle(len(images.train_images), seed=options.seed).repeat().batch(BATCH)
    training = trainer.Trainer(model, data, options)
    training.run()

    rng = np.random.default_rng(options.seed)
    held_out = images.test_images
    noise = tf.constant(rng.normal(size=(len(held_out), model.code)), tf.float32)
    found = model.losses(tf.constant(held_out), noise)
    pixels, divergence = (float(np.asarray(x)) for x in found)
    again = model.serve(model.encode(held_out)["code"])["image"]
    new = model.serve(rng.normal(size=(40, model.code)).astype(np.float32))["image"]

    def picture(figure: Any) -> None:
        curve, left, right = figure.subplots(1, 3)
        training.plot(curve, "loss", "pixels", "divergence")
        pairs = np.stack([held_out[:20], np.asarray(again)[:20]], axis=1).reshape(40, 8, 8)
        pictures.tiles(left, pairs, columns=8, title="held out, and what came back")
        pictures.tiles(right, np.asarray(new), columns=8, title="new digits")

    training.finish(
        {
            "held_out_bound": pixels + divergence,
            "held_out_pixels": pixels,
            "held_out_divergence": divergence,
        },
        {"serve": model.serve, "encode": model.encode, "train_step": model.train_step},
        picture,
    )
