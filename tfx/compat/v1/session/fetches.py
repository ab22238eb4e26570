"""Fetches and feeds of ``Session.run`` as values of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph.graph import Graph
from tfx.core import dtypes, nest
from tfx.core.shapes import TensorShape
from tfx.framework.composite.indexed_slices import IndexedSlices, IndexedSlicesValue
from tfx.framework.convert import to_array
from tfx.framework.operation import Operation
from tfx.framework.tensor import EagerTensor, SymbolicTensor, from_array
from tfx.framework.variable import Variable
from tfx.graph.ir import Node, Value
from tfx.sparse_ops.sparse_tensor import SparseTensor, SparseTensorValue


class Fetches:
    """A nest of tensors, variables, operations and names.

    Args:
        graph: The session's graph.
        fetches: What was asked for.

    Attributes:
        values: The values to compute, each once.
        targets: The nodes to run besides.

    Raises:
        TypeError: something that cannot be fetched, None included.
        ValueError: a name that the graph does not have, or an element of another graph.
    """

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self._structure = fetches = nest.map_structure(_parts_of_composite, fetches)
        self.values: list[Value] = []
        self.targets: list[Node] = []
        self._places: list[int | None] = []
        known: dict[int, int] = {}
        for leaf in nest.flatten(fetches):
            element = _fetch(graph, leaf)
            if isinstance(element, Operation):
                self._places.append(None)
                if isinstance(element._item, Node):
                    self.targets.append(element._item)
                continue
            value = element._symbol
            place = known.setdefault(id(value), len(self.values))
            if place == len(self.values):
                self.values.append(value)
            self._places.append(place)

    def pack(self, results: Sequence[Any]) -> Any:
        """The structure with contents in it; None for an operation."""
        leaves = [None if place is None else results[place] for place in self._places]
        if not nest.is_nested(self._structure):
            return leaves[0]
        return nest.pack_sequence_as(self._structure, leaves)


def _parts_of_composite(fetch: Any) -> Any:
    if isinstance(fetch, SparseTensor):
        return SparseTensorValue(fetch.indices, fetch.values, fetch.dense_shape)
    if not isinstance(fetch, IndexedSlices):
        return fetch
    return IndexedSlicesValue(fetch.values, fetch.indices, fetch.dense_shape)


def _fetch(graph: Graph, fetch: Any) -> Any:
    if fetch is None:
        raise TypeError(
            f"Argument `fetch` = {fetch} has invalid type {type(fetch).__name__!r}. Cannot be None"
        )
    if isinstance(fetch, Variable):
        return _variable(graph, fetch)
    try:
        return _element(graph, fetch)
    except TypeError as e:
        raise TypeError(
            f"Argument `fetch` = {fetch!r} has invalid type {type(fetch).__name__!r} must be a "
            f"string or Tensor. ({e})"
        ) from None
    except (ValueError, KeyError) as e:
        raise ValueError(
            f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({e.args[0]})"
        ) from None


def _element(graph: Graph, obj: Any, *, allow_operation: bool = True) -> Any:
    """The tensor or operation that is meant; an eager tensor is the constant that it became."""
    if isinstance(obj, EagerTensor) and id(obj) in graph.captured_eager:
        return SymbolicTensor(graph.captured_eager[id(obj)][1], graph)
    return graph.as_graph_element(obj, allow_operation=allow_operation)


def _variable(graph: Graph, variable: Variable) -> SymbolicTensor:
    """One read for each variable: a plan that fetches it can be found again."""
    owner = getattr(variable, "graph", graph)
    if owner is not graph:
        raise ValueError(
            f"Argument `fetch` = {variable!r} cannot be interpreted as a Tensor. (It is a variable "
            "of another graph.)"
        )
    return graph.snapshot(variable)


def feeds_of(graph: Graph, feed_dict: Any) -> list[tuple[Value, EagerTensor]]:
    """Return the fed values of the graph with their contents.

    Raises:
        TypeError: a key that is not a tensor of the graph, or contents that do not fit its dtype.
        ValueError: contents that do not fit its shape.
    """
    if feed_dict is None:
        return []
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"feed_dict must be a dict from tensors to values; got {feed_dict!r}.")
    feeds: dict[int, tuple[Value, EagerTensor]] = {}
    for key, content in feed_dict.items():
        for one, part in _parts(key, content):
            value = _key(graph, one)
            feeds[id(value)] = (value, _content(one, value, part))
    return list(feeds.values())


def _parts(key: Any, content: Any) -> list[tuple[Any, Any]]:
    """A tuple of tensors may be fed with a tuple of contents, a sparse tensor with its parts."""
    if isinstance(key, SparseTensor):
        key = (key.indices, key.values, key.dense_shape)
        if isinstance(content, SparseTensor):
            content = (content.indices, content.values, content.dense_shape)
    if not isinstance(key, tuple):
        return [(key, content)]
    if not isinstance(content, tuple | list) or len(content) != len(key):
        raise TypeError(
            f"feed_dict gives {content!r} for the {len(key)} tensors {key!r}; expected one value "
            "for each."
        )
    return list(zip(key, content, strict=True))


def _key(graph: Graph, key: Any) -> Value:
    try:
        if isinstance(key, Variable):
            return graph.snapshot(key)._symbol
        element = _element(graph, key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as e:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {e.args[0]}") from None
    value: Value = element._symbol
    return value


def _content(key: Any, value: Value, content: Any) -> EagerTensor:
    dtype = dtypes.from_onnx(value.dtype)
    if isinstance(content, SymbolicTensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists or numpy ndarrays. For reference, the tensor object "
            f"was {content!r} which was passed to the argument `feed_dict` with key {key!r}."
        )
    if isinstance(content, EagerTensor) and content.dtype is dtype:
        tensor = content
    else:
        tensor = from_array(_array(content, dtype), owned=True)
    shape = TensorShape(value.shape)
    if not shape.is_compatible_with(tensor.shape):
        name = key if isinstance(key, str) else key.name
        raise ValueError(
            f"Cannot feed value of shape {tensor.shape} for Tensor {name}, which has shape {shape}"
        )
    return tensor


def _array(content: Any, dtype: dtypes.DType) -> np.ndarray[Any, Any]:
    """Convert a feed as NumPy does, which rounds 1.7 to the integer 1."""
    wanted = dtype.as_numpy_dtype
    if dtype is dtypes.string:
        return to_array(content, dtype)
    if isinstance(content, int) and dtype.is_integer and not dtype.min <= content <= dtype.max:
        raise TypeError(
            f"Type of feed value {content} with type {type(content)} is not compatible with Tensor "
            f"type {dtype.name}. Try explicitly setting the type of the feed tensor to a larger "
            "type (e.g. int64)."
        )
    return np.array(content, dtype=wanted, order="C")
