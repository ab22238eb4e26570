"""The 1,797 images of scikit-learn's ``load_digits``, split once and for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Digits(NamedTuple):
    """Images ``[n, 8, 8]`` in [0, 1] and labels ``[n]`` for training and for judging."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load(held_out: int = 360, seed: int = 0) -> Digits:
    """The images in an order that the seed decides, the last ``held_out`` kept for judging."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = (digits.images[order] / 16.0).astype(np.float32)
    labels = digits.target[order].astype(np.int64)
    cut = len(labels) - held_out
    return Digits(images[:cut], labels[:cut], images[cut:], labels[cut:])
