"""Train diffusion on 8x8 digits, draw new ones, and have a classifier read them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import pictures, trainer
from tfx.model_zoo.diffusion.model import CLASSES, Diffusion
from tfx.model_zoo.digits import data as digits

BATCH = 128


def main(argv: Sequence[str] | None = None) -> None:
    """Train, draw, judge."""
    from sklearn.neighbors import KNeighborsClassifier

    options = trainer.arguments(argv, "diffusion", __doc__, steps=20000, quick_steps=3000)
    images = digits.load(seed=options.seed)
    trainer.check_labels("labels", images.train_labels, CLASSES)
    size = {"units": 192, "depth": 3} if options.quick else {}
    model = Diffusion(**size, seed=options.seed)
    data = tf.data.Dataset.from_tensor_slices((images.train_images, images.train_labels))
    data = data.shuffle(len(images.train_images), seed=options.seed).repeat().batch(BATCH)
    training = trainer.Trainer(model, data, options)
    training.run()

    wanted = np.repeat(np.arange(CLASSES), 40)
    model.sample(wanted)
    began = time.perf_counter()
    drawn = model.sample(wanted)["image"].numpy()
    print(f"{len(wanted) / (time.perf_counter() - began):.0f} images/s")
    reader = KNeighborsClassifier(3).fit(images.train_images.reshape(-1, 64), images.train_labels)
    read = reader.predict(drawn.reshape(-1, 64))
    real = reader.predict(images.test_images.reshape(-1, 64))

    def picture(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        training.plot(left, "loss")
        rows = drawn.reshape(CLASSES, 40, 8, 8)[:, :12].reshape(-1, 8, 8)
        pictures.tiles(right, rows, columns=12, title="drawn, a row for each digit")

    training.finish(
        {
            "loss": float(np.mean([row["loss"] for row in training.history[-5:]])),
            "drawn_read_as_asked": float(np.mean(read == wanted)),
            "real_read_right": float(np.mean(real == images.test_labels)),
        },
        {"sample": model.sample, "train_step": model.train_step},
        picture,
    )
