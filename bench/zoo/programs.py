"""What is measured, the same in all frameworks: names, sizes, and the data of each program.

NumPy alone: every peer's process reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """One framework's model.

    Attributes:
        train: Takes one step, returns the loss.
        infer: Returns the results for one batch.
        wait: Given a result, returns when it is there.
        parameters: How many weights are trained; all frameworks must have as many.
    """

    train: Callable[[], Any]
    infer: Callable[[], Any]
    wait: Callable[[Any], object]
    parameters: int


Maker = Callable[[int], Program]
"""Makes a program for a number of examples in a batch."""

# Examples in a batch.
BATCHES = {"mlp": 128, "convnet": 128, "resnet50": 8, "char_lstm": 32, "decoder": 32, "vae": 128}
# The same on a GPU.
ON_GPU = BATCHES | {"resnet50": 64}
# The same where memory is measured: so many that what a framework keeps beside does not count.
LARGE = {"mlp": 8192, "convnet": 512, "resnet50": 16, "char_lstm": 64, "decoder": 64, "vae": 8192}
TITLES = {
    "mlp": "MLP 784-512-512-10, Adam",
    "convnet": "two convolutions 5x5 and two dense layers on 28x28, SGD",
    "resnet50": "ResNet-50, 224x224, SGD with momentum",
    "char_lstm": "character LSTM, 512 units, 128 steps, Adam",
    "decoder": "decoder, 6 blocks of width 192, 128 tokens, AdamW",
    "vae": "variational autoencoder of 8x8 digits, Adam",
}
MLP_WIDTHS = (784, 512, 512, 10)
# Channels of two convolutions, units of the hidden layer.
CONVNET = (32, 64, 512)
VOCABULARY = 128
LSTM_UNITS, LSTM_WIDTH, TEXT = 512, 64, 128
DECODER_WIDTH, HEADS, DEPTH = 192, 6, 6
VAE_CODE, VAE_UNITS, PIXELS = 8, 256, 64
CLIP = 1.0


def images(batch: int, *shape: int, classes: int = 10) -> tuple[Any, Any]:
    """Numbers of a normal distribution, and labels."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((batch, *shape), np.float32), rng.integers(0, classes, batch)


def texts(batch: int) -> Any:
    """Tokens, one more than a text has."""
    return np.random.default_rng(0).integers(0, VOCABULARY, (batch, TEXT + 1))


def digits(batch: int) -> Any:
    """Grey levels ``[batch, 8, 8]``."""
    return np.random.default_rng(0).random((batch, 8, 8), np.float32)


def codes(batch: int) -> Any:
    """Codes of the autoencoder."""
    return np.random.default_rng(0).standard_normal((batch, VAE_CODE), np.float32)
