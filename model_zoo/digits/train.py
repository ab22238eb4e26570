"""Training: minibatches through the model's train step, with a progress bar."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import tfx as tf
from tfx.model_zoo.digits.data import Digits
from tfx.model_zoo.digits.model import DigitClassifier

BATCH = 32


def train(
    data: Digits, epochs: int = 8, seed: int = 0, console: Console | None = None
) -> DigitClassifier:
    """Train a classifier.

    Args:
        data: Images and labels.
        epochs: Passes over the training images.
        seed: Decides the initial weights and the order of the images.
        console: Where the progress bar goes.
    """
    tf.random.set_seed(seed)
    rng = np.random.default_rng(seed)
    model = DigitClassifier()
    steps = len(data.train_labels) // BATCH
    columns = (
        TextColumn("  training"),
        BarColumn(),
        TextColumn("epoch {task.fields[epoch]}/" + str(epochs)),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TextColumn("accuracy {task.fields[accuracy]:.1%}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console or Console()) as progress:
        task = progress.add_task("training", total=steps * epochs, epoch=0, loss=0.0, accuracy=0.0)
        for epoch in range(epochs):
            order = rng.permutation(len(data.train_labels))
            for step in range(steps):
                batch = order[step * BATCH : (step + 1) * BATCH]
                result = model.train_step(data.train_images[batch], data.train_labels[batch])
                progress.update(
                    task,
                    advance=1,
                    epoch=epoch + 1,
                    loss=float(result["loss"]),
                    accuracy=float(result["accuracy"]),
                )
    return model


def accuracy(model: DigitClassifier, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of images whose most likely digit is right."""
    return float(np.mean(model.predict(images)["digit"].numpy() == labels))
