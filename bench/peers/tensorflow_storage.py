"""Checkpoints and bundles, written once for tfx and TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peers import storage


def state(tf: Any) -> tuple[Any, str, Callable[[], float]]:
    """A checkpoint object, a path, and the sum of some of its values.

    Args:
        tf: The framework.
    """
    module = tf.Module()
    module.parts = [tf.Variable(array) for array in storage.arrays()]
    checkpoint = tf.train.Checkpoint(module=module)
    return checkpoint, str(storage.folder() / "state"), lambda: float(module.parts[0].numpy().sum())


def wide(tf: Any) -> Path:
    """A bundle of many variables, each read by one of some signatures.

    Args:
        tf: The framework.
    """

    def summed(part: list[Any]) -> Any:
        def total(x: Any) -> Any:
            for w in part:
                x = x + w
            return {"y": x}

        return tf.function(total, input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])

    variables = [tf.Variable(array) for array in storage.small_arrays()]
    module = tf.Module()
    module.parts = [variables[i :: storage.SIGNATURES] for i in range(storage.SIGNATURES)]
    module.functions = [summed(part) for part in module.parts]
    signatures = {f"part{i}": f.get_concrete_function() for i, f in enumerate(module.functions)}
    path = storage.folder() / "wide"
    tf.saved_model.save(module, str(path), signatures=signatures)
    return path
