"""Train ResNet-50 on images of ImageNet's shape for the clock, or a small one on real digits.

With ``--quick`` it is the small one, for accuracy; without, the images are noise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import pictures, trainer
from tfx.model_zoo.digits import data as digits
from tfx.model_zoo.resnet50.model import ResNet


def clock(options: trainer.Options) -> None:
    """Measure the whole network."""
    rng, batch, classes = np.random.default_rng(options.seed), 8, 1000
    images = rng.normal(size=(4 * batch, 224, 224, 3)).astype(np.float32)
    labels = rng.integers(0, classes, len(images))
    model = ResNet(classes=classes)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(batch)
    training = trainer.Trainer(model, data, options)
    began = time.perf_counter()
    training.one_step()
    print(f"first step: {time.perf_counter() - began:.1f} s")
    seconds = []
    while int(training.step) < options.steps:
        began = time.perf_counter()
        loss = training.one_step()["loss"]
        seconds.append(time.perf_counter() - began)
        print(f"step {int(training.step)}  loss {loss:.4g}  {batch / seconds[-1]:.2f} images/s")
    training.finish(
        {"images_per_second": batch / float(np.median(seconds or [np.inf]))},
        {"serve": model.serve, "train_step": model.train_step},
    )


def learn(options: trainer.Options) -> None:
    """Train a small network on real digits, and judge."""
    images = digits.load(seed=options.seed)
    trainer.check_labels("labels", images.train_labels, classes=10)
    model = ResNet(8, 1, 10, depths=(1, 1, 1), width=16)
    data = tf.data.Dataset.from_tensor_slices((images.train_images[..., None], images.train_labels))
    data = data.shuffle(len(images.train_labels), seed=options.seed).repeat()
    training = trainer.Trainer(model, data.batch(32, drop_remainder=True), options)
    training.run()
    found = model.serve(images.test_images[..., None])["probabilities"].numpy().argmax(1)
    wrong = np.flatnonzero(found != images.test_labels)

    def picture(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        training.plot(left, "loss")
        shown = np.concatenate([wrong, np.flatnonzero(found == images.test_labels)])[:40]
        title = f"the {len(wrong)} of {len(found)} read wrong, then right ones"
        pictures.tiles(right, images.test_images[shown], columns=10, title=title)

    training.finish(
        {"held_out_accuracy": 1 - len(wrong) / len(found)},
        {"serve": model.serve, "train_step": model.train_step},
        picture,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Learn quickly, or measure."""
    options = trainer.arguments(argv, "resnet50", __doc__, steps=20, quick_steps=600)
    (learn if options.quick else clock)(options)
