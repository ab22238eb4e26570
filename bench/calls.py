"""Microseconds a call: eager operations and traced functions over ONNX Runtime's own call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime

import tfx as tf
from bench.measure import Result, best_of
from tfx.core import nest

NOTE = "C-level run_with_ort_values"


def raw_call(function: Any, *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """ONNX Runtime's own call of a function's graph, in a session of our making.

    Args:
        function: The traced function.
        *args: Arguments to call it with; its variables are fed as they are now.
        **kwargs: The same by name.
    """
    function(*args, **kwargs)
    concrete = function.get_concrete_function(*args, **kwargs)
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    model = concrete.as_onnx().SerializeToString()
    session = onnxruntime.InferenceSession(model, options)
    tensors = [x for x in nest.flatten([args, kwargs]) if isinstance(x, tf.Tensor)]
    values = [
        (tensors[i] if variable is None else variable.value())._raw
        for _, i, variable in concrete.bindings()
    ]
    raw = session._sess.run_with_ort_values
    names = [i.name for i in session.get_inputs()]
    outputs = [o.name for o in session.get_outputs()]
    # Quicker than None, which makes ONNX Runtime build options for each call.
    quickest = onnxruntime.RunOptions()
    return lambda: raw(dict(zip(names, values, strict=True)), outputs, quickest)


def ones(count: int) -> list[Any]:
    """Small tensors, each an object of its own."""
    return [tf.constant(np.ones((2, 2), np.float32)) for _ in range(count)]


def chain(nodes: int) -> Callable[[Any], Any]:
    """A Python function of that many operations."""

    def body(a: Any) -> Any:
        b = a
        for i in range(nodes // 2):
            b = tf.tanh(b) + a if i % 2 else tf.sigmoid(b) * a
        return b

    return body


def run(effort: float = 1.0) -> list[Result]:
    """The three ratios of calls.

    Args:
        effort: Less than 1 makes fewer calls.
    """
    x, y = ones(2)
    add = tf.function(lambda a, b: a + b)
    add(x, y)
    calls = [lambda: x + y, lambda: add(x, y), raw_call(add, x, y)]
    eager, traced, reference = best_of(calls, number=max(1, int(20_000 * effort)))
    return [
        Result("eager 2x2 add", eager, reference, "us", 1.6, NOTE),
        Result("traced 2x2 add", traced, reference, "us", 2.0, NOTE),
        _long_graph(effort),
    ]


def _long_graph(effort: float) -> Result:
    (x,) = ones(1)
    long = tf.function(chain(1000))
    long(x)
    calls = [lambda: long(x), raw_call(long, x)]
    ours, reference = best_of(calls, number=max(1, int(300 * effort)), repeats=25)
    note = "same graph, ORT alone"
    return Result("call of a 1,000-node graph", ours, reference, "us", 1.05, note)
