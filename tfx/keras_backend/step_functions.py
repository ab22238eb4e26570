"""The graph of a training step, traced once for batches of every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.trainers.data_adapters import data_adapter_utils

import tfx as tf
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.composite.sparse import is_sparse
from tfx.keras_backend.conversion import convert_to_tensor


class StepFunction:
    """Calls a step with batches of data.

    The number of elements of a batch is left open in the graph, so that the last batch of an epoch,
    which may be smaller, needs no graph of its own. So is every other axis on which batches differ,
    once a second one comes, such as the length of padded texts. Several batches of one size are one
    call: a loop in the graph.

    Args:
        step: Takes the data of a batch and returns a structure of tensors.
        eager: Run the step operation by operation, without a graph.

    Attributes:
        specs: The specs of the data that a graph was made for last; None before.
        graph: That graph; None before, and where there is none.
    """

    specs: Any = None
    graph: Any = None

    def __init__(self, step: Callable[[Any], Any], eager: bool) -> None:
        self._step = step
        self._eager = eager
        self._traced = tf.function(step)
        self._functions: dict[Any, Any] = {}
        # Kind of data -> the specs that hold for all that was seen of it, and their function.
        self._general: dict[Any, tuple[Any, Any]] = {}
        self._loops: dict[Any, Any] = {}

    def __call__(self, batches: Sequence[Any]) -> Any:
        """Run the step for each of several batches; the last result."""
        if len(batches) == 1 or self._eager:
            return self.each(batches)[-1]
        batches = [_arrays(data) for data in batches]
        key = _key(batches[0])
        differ = any(
            _key(data) != key or _sizes(data) != _sizes(batches[0]) for data in batches[1:]
        )
        if differ or any(is_ragged(x) or is_sparse(x) for x in tree.flatten(batches[0])):
            return [self._run(data) for data in batches][-1]
        stacked = tree.map_structure(_stack, *batches)
        function = self._function(key, batches[0])
        loop = self._loops.get(function)
        if loop is None:
            loop = self._loops[function] = tf.function(self._loop(function))
        return loop(stacked)

    def each(self, batches: Sequence[Any]) -> list[Any]:
        """Run the step for each of several batches; all results."""
        return [self._run(_arrays(data)) for data in batches]

    def _run(self, data: Any) -> Any:
        return self._step(data) if self._eager else self._function(_key(data), data)(data)

    def _function(self, key: Any, data: Any) -> Any:
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._function_of_kind(data)
        return function

    def _function_of_kind(self, data: Any) -> Any:
        """A function that takes these data and all that were seen before of their kind."""
        kind = _key(data, _loosely)
        specs = tree.map_structure(_spec, data)
        known, function = self._general.get(kind, (None, None))
        if function is not None:
            specs = tree.map_structure(_common, known, specs)
        if function is None or specs != known:
            function = self._traced.get_concrete_function(specs)
            self._general[kind] = (specs, function)
            self.specs, self.graph = specs, function.graph
        return function

    def _loop(self, step: Any) -> Callable[[Any], Any]:
        """The function that goes through the batches that were stacked."""

        def run(stacked: Any) -> Any:
            count = next(x for x in tree.flatten(stacked) if x is not None).shape[0]

            def batch(i: Any) -> Any:
                return tree.map_structure(lambda x: None if x is None else tf.gather(x, i), stacked)

            def body(i: Any, result: Any) -> Any:
                return i + 1, step(batch(i))

            first = tree.map_structure(
                lambda y: tf.zeros([d or 0 for d in y.shape], y.dtype), step.structured_outputs
            )
            return tf.while_loop(lambda i, _: i < count, body, (0, first))[1]

        return run


def _arrays(data: Any) -> Any:
    """The data with arrays or tensors for leaves."""
    return tree.map_structure(_array, data)


def _array(leaf: Any) -> Any:
    if leaf is None or isinstance(leaf, np.ndarray):
        return leaf
    if data_adapter_utils.is_scipy_sparse(leaf):
        return _of_scipy(leaf)
    if data_adapter_utils.is_jax_sparse(leaf):
        return tf.sparse.reorder(data_adapter_utils.jax_sparse_to_tf_sparse(leaf))
    return convert_to_tensor(leaf)


def _of_scipy(matrix: Any) -> Any:
    """A matrix of SciPy, whose entries may stand in any order and in one place several times."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return data_adapter_utils.scipy_sparse_to_tf_sparse(rows)


def _stack(*leaves: Any) -> Any:
    return None if leaves[0] is None else np.stack([np.asarray(leaf) for leaf in leaves])


def _sizes(data: Any) -> list[int]:
    return [leaf.shape[0] for leaf in tree.flatten(data) if leaf is not None and len(leaf.shape)]


def _exactly(leaf: Any) -> Any:
    return (*_loosely(leaf), *leaf.shape[1:])


def _loosely(leaf: Any) -> Any:
    if is_ragged(leaf):
        return (leaf.dtype, len(leaf.shape), leaf.ragged_rank, leaf.row_splits.dtype)
    if is_sparse(leaf):
        return (leaf.dtype, len(leaf.shape), "sparse")
    return (leaf.dtype, len(leaf.shape))


def _key(data: Any, of: Callable[[Any], Any] = _exactly) -> Any:
    """What tells data apart that are not of one shape, or not of one kind."""
    if isinstance(data, tuple | list):
        return (type(data), *[_key(part, of) for part in data])
    if isinstance(data, dict):
        return (dict, *[(name, _key(part, of)) for name, part in data.items()])
    return None if data is None else of(data)


def _spec(leaf: Any) -> Any:
    if leaf is None:
        return None
    shape = tuple(leaf.shape)
    shape = (None, *shape[1:]) if shape else ()
    if is_ragged(leaf):
        return tf.RaggedTensorSpec(shape, leaf.dtype, leaf.ragged_rank, leaf.row_splits.dtype)
    return (tf.SparseTensorSpec if is_sparse(leaf) else tf.TensorSpec)(shape, leaf.dtype)


def _common(a: Any, b: Any) -> Any:
    return a if a is None else a.most_specific_common_supertype([b])
