"""What the tests of decompositions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf


def check_both(f: Callable[..., Any], *arrays: Any, order: int = 2, staged: int = 1) -> None:
    """Derivatives by differences, eagerly and in a function, whose values must agree.

    Args:
        f: Function of tensors.
        arrays: Where.
        order: Up to which order eagerly.
        staged: Up to which order in a function.
    """
    points = [tf.constant(np.asarray(x, np.float64)) for x in arrays]
    traced = tf.function(f, autograph=False)
    pairs = zip(tf.nest.flatten(f(*points)), tf.nest.flatten(traced(*points)), strict=True)
    for eager, found in pairs:
        np.testing.assert_allclose(found, eager, rtol=1e-12, atol=1e-12)
    tf.testing.check_grads(f, points, order=order)
    tf.testing.check_grads(traced, points, order=staged)


def symmetric(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``f`` of the symmetric part, by which differences of any direction are right."""
    return lambda x: f((x + tf.linalg.matrix_transpose(x)) * 0.5)
