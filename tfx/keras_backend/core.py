"""Tensors, scopes and specifications: the part of the backend that every other part needs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.name_scope import name_scope as base_name_scope
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import tfx as tf
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph
from tfx.keras_backend.control_flow import associative_scan as associative_scan
from tfx.keras_backend.control_flow import cond as cond
from tfx.keras_backend.control_flow import fori_loop as fori_loop
from tfx.keras_backend.control_flow import map as map
from tfx.keras_backend.control_flow import scan as scan
from tfx.keras_backend.control_flow import switch as switch
from tfx.keras_backend.control_flow import vectorized_map as vectorized_map
from tfx.keras_backend.control_flow import while_loop as while_loop
from tfx.keras_backend.conversion import cast as cast
from tfx.keras_backend.conversion import convert_to_numpy as convert_to_numpy
from tfx.keras_backend.conversion import convert_to_tensor as convert_to_tensor
from tfx.keras_backend.conversion import is_tensor as is_tensor
from tfx.keras_backend.conversion import shape as shape
from tfx.keras_backend.sparse import is_sparse
from tfx.keras_backend.updates import scatter as scatter
from tfx.keras_backend.updates import scatter_update as scatter_update
from tfx.keras_backend.updates import slice as slice
from tfx.keras_backend.updates import slice_update as slice_update
from tfx.keras_backend.variable import Variable as Variable

SUPPORTS_SPARSE_TENSORS = True
SUPPORTS_RAGGED_TENSORS = True
SUPPORTS_COMPLEX_DTYPES = True
IS_THREAD_SAFE = True


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of what a function returns for symbolic arguments; nothing is run."""
    # The arguments may be tensors of the graph around: a layer builds itself when it is called.
    scratch = FuncGraph("scratch_graph", parent=current().graph)
    with StatelessScope(), SymbolicScope(), scratch.as_default() as graph:

        def symbolic(x: Any) -> Any:
            if not isinstance(x, KerasTensor):
                return x
            dims = None if x.shape is None else tuple(x.shape)
            if not x.ragged and not x.sparse:
                return graph.add_argument(x.name or "x", tf.as_dtype(x.dtype).onnx, dims)
            return tf.nest.map_structure(
                lambda part: graph.add_argument("x", part.dtype.onnx, part.shape.symbolic),
                _composite_spec(x, dims),
                expand_composites=True,
            )

        args, kwargs = tree.map_structure(symbolic, (args, kwargs))
        found = fn(*args, **kwargs)
        return tree.map_structure(_spec, found)


def _composite_spec(x: Any, shape: Any) -> Any:
    if x.sparse:
        return tf.SparseTensorSpec(shape, x.dtype)
    return tf.RaggedTensorSpec(shape, x.dtype, x.ragged_rank)


def _spec(x: Any) -> Any:
    if isinstance(x, KerasVariable):
        return KerasTensor(tuple(x.shape), standardize_dtype(x.dtype))
    if not is_tensor(x):
        return x
    kind: dict[str, Any] = {"sparse": is_sparse(x)}
    if is_ragged(x):
        kind = {"ragged": True, "ragged_rank": x.ragged_rank}
    return KerasTensor(tuple(x.shape), standardize_dtype(x.dtype), **kind)


def stop_gradient(variable: Any) -> Any:
    """The same values, through which no gradient goes."""
    return tf.stop_gradient(convert_to_tensor(variable))


def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """The slices along an axis."""
    return list(tf.unstack(convert_to_tensor(x), num=num, axis=axis))


def random_seed_dtype() -> str:
    """The dtype of the state of a ``SeedGenerator``."""
    return "int32"


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that returns its results and the function of their gradients."""
    decorated = tf.custom_gradient(fun)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [x.value if isinstance(x, KerasVariable) else x for x in args]
        return decorated(*given, **kwargs)

    return call


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """Compute the function again in the backward pass instead of keeping what it computed."""
    recomputed: Callable[..., Any] = tf.recompute_grad(f)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return recomputed(*args, **kwargs)

    return call


class name_scope(base_name_scope):
    """A scope of Keras' paths that names the nodes of a graph, too."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._scope = tf.name_scope(name)

    def __enter__(self) -> Self:
        self._scope.__enter__()
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        super().__exit__(kind, value, traceback)
        self._scope.__exit__(kind, value, traceback)


def device_scope(device_name: str) -> Any:
    """A scope in which operations run on a device such as ``"cpu:0"``."""
    return tf.device(device_name)
