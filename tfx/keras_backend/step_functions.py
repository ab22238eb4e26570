"""The graph of a training step, traced once for batches of every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from keras.src import tree

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor


class StepFunction:
    """Calls a step with batches of data.

    The number of elements of a batch is left open in the graph, so that the last batch of an epoch,
    which may be smaller, needs no graph of its own.

    Args:
        step: Takes the data of a batch and returns a structure of tensors.
        eager: Run the step operation by operation, without a graph.

    Attributes:
        specs: The specs of the data that a graph was made for last; None before.
    """

    specs: Any = None

    def __init__(self, step: Callable[[Any], Any], eager: bool) -> None:
        self._step = step
        self._eager = eager
        self._traced = tf.function(step)
        self._functions: dict[Any, Any] = {}

    def __call__(self, batches: Sequence[Any]) -> Any:
        """Run the step for each of several batches; the last result."""
        return self.each(batches)[-1]

    def each(self, batches: Sequence[Any]) -> list[Any]:
        """Run the step for each of several batches; all results."""
        return [self._run(data) for data in batches]

    def _run(self, data: Any) -> Any:
        leaves = [_array(leaf) for leaf in tree.flatten(data)]
        data = tree.pack_sequence_as(data, leaves)
        if self._eager:
            return self._step(data)
        key = _key(data)
        function = self._functions.get(key)
        if function is None:
            self.specs = tree.map_structure(_spec, data)
            function = self._traced.get_concrete_function(self.specs)
            self._functions[key] = function
        return function(data)


def _key(data: Any) -> Any:
    """What tells data apart that needs graphs of their own."""
    if isinstance(data, tuple | list):
        return (type(data), *[_key(part) for part in data])
    if isinstance(data, dict):
        return (dict, *[(name, _key(part)) for name, part in data.items()])
    return None if data is None else (data.dtype, len(data.shape), *data.shape[1:])


def _array(leaf: Any) -> Any:
    if leaf is None:
        return None
    return convert_to_tensor(leaf) if not isinstance(leaf, np.ndarray) else leaf


def _spec(leaf: Any) -> Any:
    if leaf is None:
        return None
    shape = tuple(leaf.shape)
    return tf.TensorSpec((None, *shape[1:]) if shape else (), leaf.dtype)
