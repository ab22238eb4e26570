"""Iterators of datasets in graphs that are built first: one for all runs of a session.

Each session has a position of its own. An iterator of a structure alone goes through the datasets
whose initializers are run; one of a handle is the iterator whose handle is fed.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.data.iterators import (
    Live,
    element_call,
    element_results,
)
from tfx.data.nodes import Node, bound, symbols
from tfx.data.structure import Structure, compatible, is_whole, kind_of
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor, Tensor, from_array
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.script_ops.session_resources import PerSession
from tfx.sparse_ops.sparse_tensor import SparseTensor
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec

_numbers = itertools.count()
_by_handle: weakref.WeakValueDictionary[bytes, GraphIterator] = weakref.WeakValueDictionary()


class _Position:
    """Where a session is in an iterator; None: it has not begun."""

    def __init__(self) -> None:
        self.live: Live | None = None


class GraphIterator:
    """An iterator whose ``get_next`` is an operation of a graph.

    Made by ``from_structure``, ``from_string_handle``, ``make_one_shot_iterator`` and
    ``make_initializable_iterator``.

    Args:
        structure: That of the elements.
        node: The pipeline; None: those of ``make_initializer``.
        ready: Whether it begins by itself, or when its initializer is run.
        handle: The handle of another iterator, which is the one to go through.
    """

    def __init__(
        self, structure: Structure, node: Node | None, ready: bool, handle: Tensor | None = None
    ) -> None:
        self._structure = structure
        self._node = node
        self._ready = ready
        self._given_handle = handle
        self._positions = PerSession(_Position)
        self._own_handle = b"iterator_%d" % next(_numbers)
        _by_handle[self._own_handle] = self
        self._initializer = None if node is None or ready else self._beginning(node)

    @classmethod
    def from_structure(
        cls,
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Self:
        """An iterator of datasets that are said later; see ``make_initializer``.

        Args:
            output_types: A structure of dtypes.
            output_shapes: Their shapes; None: any.
            shared_name: Accepted for compatibility.
            output_classes: Their classes; None: tensors.

        Example:
            >>> import tfx.compat.v1 as tf
            >>> with tf.Graph().as_default(), tf.Session() as session:
            ...     few, many = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9)
            ...     iterator = tf.data.Iterator.from_structure(few.output_types)
            ...     element = iterator.get_next()
            ...     for dataset in (few, many):
            ...         session.run(iterator.make_initializer(dataset))
            ...         print(session.run(element))
            0
            5
        """
        spec = _spec_of(output_types, output_shapes, output_classes)
        return cls(Structure(spec), None, False)

    @classmethod
    def from_string_handle(
        cls,
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Self:
        """The iterator whose ``string_handle`` a tensor holds when it runs.

        Args:
            string_handle: A scalar of strings, such as a placeholder.
            output_types: A structure of dtypes.
            output_shapes: Their shapes; None: any.
            output_classes: Their classes; None: tensors.
        """
        spec = _spec_of(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, dtypes.string)
        return cls(Structure(spec), None, True, handle)

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._structure.spec

    @property
    def output_types(self) -> Any:
        """The dtypes of the components."""
        return get_output_types(self)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components."""
        return get_output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """The classes of the components."""
        return get_output_classes(self)

    @property
    def initializer(self) -> Any:
        """The operation that a session runs to begin, and to begin again.

        Raises:
            ValueError: the iterator begins by itself, or has no dataset of its own.
        """
        if self._initializer is None:
            raise ValueError(
                "Iterator does not have an initializer: it begins by itself, or with "
                "make_initializer."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """The operation that a session runs to begin with a dataset.

        Args:
            dataset: A dataset of such elements.
            name: Accepted for compatibility.

        Raises:
            TypeError: elements of other dtypes or shapes.
        """
        if not compatible(dataset.element_spec, self._structure.spec):
            raise TypeError(
                f"Expected elements of {self._structure.spec!r} but got a dataset with elements of "
                f"{dataset.element_spec!r}."
            )
        return self._beginning(dataset._node)

    def _beginning(self, node: Node) -> Any:
        parameters = symbols(node)

        def run(given: Sequence[Any]) -> Any:
            self._positions.get().live = _live(node, given)
            return [from_array(np.array(True))]

        (done,) = element_call("make_iterator", run, inputs=parameters)
        return done.op if isinstance(done, SymbolicTensor) else done

    def string_handle(self, name: str | None = None) -> Tensor:
        """What ``from_string_handle`` knows the iterator by: a scalar of strings.

        Args:
            name: Accepted for compatibility.
        """

        def run(given: Sequence[Any]) -> Any:
            if self._ready:
                self._running(given)
            return [from_array(np.array(self._own_handle, object))]

        found: Tensor = element_call(
            "iterator_to_string_handle", run, _HANDLE, inputs=self._parameters()
        )
        return found

    def get_next(self, name: str | None = None) -> Any:
        """The next element: each run of a session takes another one.

        Args:
            name: Accepted for compatibility.

        Raises:
            OutOfRangeError: there is none (when it runs).
            FailedPreconditionError: the initializer was not run.
        """

        def run(given: Sequence[Any]) -> Any:
            live = self._running(given)
            try:
                return element_results(live, live.next())
            except StopIteration:
                raise OutOfRangeError("End of sequence", op="IteratorGetNext") from None

        inputs = self._parameters()
        return element_call("iterator_get_next", run, self._structure, inputs=inputs)

    def _parameters(self) -> list[Any]:
        if self._given_handle is not None:
            return [self._given_handle]
        return symbols(self._node) if self._ready and self._node is not None else []

    def _running(self, given: Sequence[Any]) -> Live:
        """The iterator as it runs in this session."""
        if self._given_handle is not None:
            return self._of_handle(bytes(given[0].numpy()))
        position = self._positions.get()
        if position.live is None and self._ready and self._node is not None:
            position.live = _live(self._node, given)
        if position.live is None:
            raise FailedPreconditionError(
                "The iterator of the dataset has not been initialized: run its initializer."
            )
        return position.live

    def _of_handle(self, handle: bytes) -> Live:
        other = _by_handle.get(handle)
        if other is None:
            raise InvalidArgumentError(f"{handle!r} is no handle of an iterator that exists.")
        if not compatible(other.element_spec, self._structure.spec):
            raise InvalidArgumentError(
                f"The iterator of the handle has elements of {other.element_spec!r}; expected "
                f"{self._structure.spec!r}."
            )
        return other._running(())


_HANDLE = Structure(TensorSpec([], dtypes.string))


def _live(node: Node, given: Sequence[Any]) -> Live:
    return Live(bound(node, iter(given)) if given else node)


def _spec_of(types: Any, shapes: Any, classes: Any) -> Any:
    """The spec of elements whose parts are described apart."""

    def part(of: Any, key: Any) -> Any:
        return None if of is None else of[key]

    if isinstance(types, Mapping):
        found = {k: _spec_of(t, part(shapes, k), part(classes, k)) for k, t in types.items()}
        same: Any = type(types)
        return same(found)
    if isinstance(types, tuple):
        items = [_spec_of(t, part(shapes, i), part(classes, i)) for i, t in enumerate(types)]
        return type(types)(*items) if hasattr(types, "_fields") else tuple(items)
    dtype, shape = dtypes.as_dtype(types), TensorShape(shapes)
    if classes is None or issubclass(classes, Tensor):
        return TensorSpec(shape, dtype)
    return _SPECS[classes](shape, dtype)


_SPECS: Mapping[Any, Callable[..., Any]] = {
    SparseTensor: SparseTensorSpec,
    RaggedTensor: RaggedTensorSpec,
}


def make_one_shot_iterator(dataset: Any) -> Any:
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
    if current().graph is None:
        return iter(dataset)
    return GraphIterator(Structure(dataset.element_spec), dataset._node, True)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Any:
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
    return GraphIterator(Structure(dataset.element_spec), dataset._node, False)


def _map_specs(function: Callable[[Any], Any], spec: Any) -> Any:
    """A structure with what a function makes of each spec; that of a sparse tensor is one."""
    kind = kind_of(spec)
    if kind is None or is_whole(spec):
        return function(spec)
    return kind.build(spec, [_map_specs(function, part) for part in kind.values(spec)])


def get_output_types(dataset_or_iterator: Any) -> Any:
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
    return _map_specs(lambda spec: getattr(spec, "dtype", None), dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
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
    return _map_specs(lambda spec: spec.shape, dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of the components of elements.

    Args:
        dataset_or_iterator: A dataset or an iterator.

    Returns:
        A structure of classes.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.data.get_output_classes(tf.data.Dataset.range(1)) is tf.Tensor
        True
    """
    return _map_specs(_class_of, dataset_or_iterator.element_spec)


def _class_of(spec: Any) -> type:
    found: type = (
        Tensor if isinstance(spec, TensorSpec) else getattr(spec, "value_type", type(spec))
    )
    return found
