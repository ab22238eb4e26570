"""What is asked of a function of numbers that is made of nodes: it is saved, of any shape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from tfx.testing import assert_close


def check_saved(
    function: Callable[..., Any],
    folder: Path,
    x: tuple[float, ...] = (0.3, 1.0, 2.5, 8.0, 20.0),
    *,
    by_nodes: bool = True,
) -> None:
    """Save a function and its gradient, and compare what is loaded.

    Args:
        function: Of one tensor.
        folder: Where to save.
        x: Arguments; the values there are finite.
        by_nodes: Whether to differentiate what was loaded, too; of a thousand nodes it takes long.
    """

    class Both(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None, tf.float64)])
        def value(self, x: Any) -> Any:
            return function(x)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
        def slope(self, x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            return tape.gradient(y, x)

    both, given = Both(), tf.constant(x, tf.float64)
    tf.saved_model.save(both, str(folder / "saved"))
    loaded = tf.saved_model.load(str(folder / "saved"))
    assert_close(loaded.value(given), function(given))
    assert loaded.value(tf.zeros([0, 2], tf.float64)).shape == (0, 2)
    assert loaded.value(tf.constant(1.0, tf.float64)).shape == ()
    exact = both.slope(given)
    assert_close(loaded.slope(given), exact)
    if not by_nodes:
        return
    with tf.GradientTape() as tape:  # what is loaded has nodes alone, and their gradient
        tape.watch(given)
        y = loaded.value(given)
    np.testing.assert_allclose(tape.gradient(y, given), exact, rtol=1e-9, atol=1e-9)
