"""Run a function of tensors as a graph, the other way beside eager execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes, nest
from tfx.core.shapes import TensorShape
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.serialize import to_model
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy


def run_traced(f: Callable[..., Any], *args: Any, static: bool = False) -> Any:
    """Trace ``f`` with arguments of these dtypes and ranks, run the graph, return its arrays.

    Args:
        f: Takes tensors, returns a tensor or a structure of them.
        args: Arrays or values convertible to tensors.
        static: Give the trace the shapes of the arguments; otherwise every dimension is unknown.
    """
    arrays = [np.asarray(convert_to_tensor(a)) for a in args]
    graph = FuncGraph("f")
    with using(graph=graph):
        symbols = []
        for i, array in enumerate(arrays):
            unknown = tuple(f"a{i}.d{k}" for k in range(array.ndim))
            shape = array.shape if static else unknown
            symbols.append(graph.add_argument(f"a{i}", dtypes.as_dtype(array.dtype).onnx, shape))
        structure = f(*symbols)
        outputs = [convert_to_tensor(y) for y in nest.flatten(structure)]
        graph.graph.outputs = [graph.value_of(y) for y in outputs]
    names = [f"y{i}" for i in range(len(outputs))]
    session = Session(to_model(prepare(graph.graph), output_names=names).SerializeToString())
    feeds = {f"a{i}": from_numpy(array) for i, array in enumerate(arrays)}
    results = [to_numpy(v) for v in session.run(feeds)]
    for symbol, result in zip(outputs, results, strict=True):
        assert TensorShape(result.shape).is_compatible_with(symbol.shape)
        assert dtypes.as_dtype(result.dtype) is symbol.dtype
    return nest.pack_sequence_as(structure, results)
