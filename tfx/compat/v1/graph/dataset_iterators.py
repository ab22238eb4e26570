"""Iterators of datasets in graphs that are built first: one for all runs of all sessions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import FailedPreconditionError, OutOfRangeError
from tfx.data.dataset import Dataset
from tfx.data.iterators import Iterator, Live, element_call, element_results
from tfx.data.structure import Structure
from tfx.framework.context import current
from tfx.framework.tensor import Tensor, from_array


class GraphIterator:
    """An iterator whose ``get_next`` is an operation of a graph. Made by the functions below.

    Args:
        dataset: The dataset.
        ready: Whether it begins by itself, or when its initializer is run.
    """

    def __init__(self, dataset: Dataset, ready: bool) -> None:
        self._node = dataset._node
        self._structure: Structure = self._node.structure
        self._ready = ready
        self._live: Live | None = None

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._structure.spec

    @property
    def initializer(self) -> Tensor:
        """What a session runs to begin, and to begin again.

        Raises:
            ValueError: the iterator begins by itself.
        """
        if self._ready:
            raise ValueError("Iterator does not have an initializer: it begins by itself.")

        def run(_: Any) -> Any:
            self._live = Live(self._node)
            return [from_array(np.array(True))]

        found: Tensor = element_call("make_iterator", run)[0]
        return found

    def get_next(self, name: str | None = None) -> Any:
        """The next element: each run of a session takes another one.

        Args:
            name: Accepted for compatibility.

        Raises:
            OutOfRangeError: there is none (when it runs).
            FailedPreconditionError: the initializer was not run.
        """

        def run(_: Any) -> Any:
            if self._live is None and not self._ready:
                raise FailedPreconditionError(
                    "The iterator of the dataset has not been initialized: run its initializer."
                )
            live = self._live = self._live or Live(self._node)
            try:
                return element_results(live, live.next())
            except StopIteration:
                raise OutOfRangeError("End of sequence", op="IteratorGetNext") from None

        return element_call("iterator_get_next", run, self._structure)


def make_one_shot_iterator(dataset: Dataset) -> Any:
    """An iterator over a dataset that begins by itself.

    Args:
        dataset: The dataset.

    Returns:
        An iterator with ``get_next``; eagerly that of ``iter(dataset)``.

    Example:
        >>> import tfx as tf
        >>> v1 = tf.compat.v1
        >>> with tf.Graph().as_default(), v1.Session() as session:
        ...     element = v1.data.make_one_shot_iterator(tf.data.Dataset.range(5)).get_next()
        ...     [int(session.run(element)) for _ in range(2)]
        [0, 1]
    """
    return iter(dataset) if current().graph is None else GraphIterator(dataset, True)


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Any:
    """An iterator over a dataset that begins whenever its ``initializer`` is run.

    Args:
        dataset: The dataset.
        shared_name: Accepted for compatibility.

    Returns:
        An iterator with ``get_next`` and ``initializer``.

    Raises:
        RuntimeError: outside of a graph.

    Example:
        >>> import tfx as tf
        >>> v1 = tf.compat.v1
        >>> with tf.Graph().as_default(), v1.Session() as session:
        ...     iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(5))
        ...     element = iterator.get_next()
        ...     for _ in range(2):
        ...         _ = session.run(iterator.initializer)
        ...         print(int(session.run(element)))
        0
        0
    """
    if current().graph is None:
        raise RuntimeError(
            "make_initializable_iterator is for graphs; in eager code iterate over the dataset."
        )
    return GraphIterator(dataset, False)


def get_output_types(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The dtypes of the components of elements.

    Args:
        dataset_or_iterator: A dataset or an iterator.

    Returns:
        A structure of dtypes.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.data.get_output_types(tf.data.Dataset.range(1))
        tf.int64
    """
    structure = Structure(dataset_or_iterator.element_spec)
    return structure.pack([getattr(spec, "dtype", None) for spec in structure.specs])


def get_output_shapes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The shapes of the components of elements.

    Args:
        dataset_or_iterator: A dataset or an iterator.

    Returns:
        A structure of shapes.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.data.get_output_shapes(tf.data.Dataset.range(4).batch(2))
        TensorShape([None])
    """
    structure = Structure(dataset_or_iterator.element_spec)
    return structure.pack([spec.shape for spec in structure.specs])
