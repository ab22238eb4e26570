"""Microseconds a call: eager operations and traced functions over ONNX Runtime's own call."""

from __future__ import annotations

import numpy as np
import onnxruntime

import tfx as tf
from bench.measure import Result, best_of


def _session(function, *args):
    """The function's graph in a session of our own making."""
    model = function.get_concrete_function(*args).as_onnx()
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def _raw_call(session, *tensors):
    raw = session._sess.run_with_ort_values
    names = [i.name for i in session.get_inputs()]
    outputs = [o.name for o in session.get_outputs()]
    values = [t._value for t in tensors]
    return lambda: raw(dict(zip(names, values, strict=True)), outputs, None)


def run() -> list[Result]:
    """The three ratios of calls."""
    x = tf.constant(np.ones((2, 2), np.float32))
    y = tf.constant(np.ones((2, 2), np.float32))
    add = tf.function(lambda a, b: a + b)
    add(x, y)
    raw = _raw_call(_session(add, x, y), x, y)
    eager, traced, reference = best_of([lambda: x + y, lambda: add(x, y), raw], number=20_000)
    note = "C-level run_with_ort_values"
    return [
        Result("eager 2x2 add", eager, reference, "us", 1.6, note),
        Result("traced 2x2 add", traced, reference, "us", 2.0, note),
        _long_graph(),
    ]


def _long_graph() -> Result:
    x = tf.constant(np.ones((2, 2), np.float32))

    @tf.function
    def chain(a):
        b = a
        for i in range(500):
            b = tf.tanh(b) + a if i % 2 else tf.sigmoid(b) * a
        return b

    chain(x)
    raw = _raw_call(_session(chain, x), x)
    ours, reference = best_of([lambda: chain(x), raw], number=300, repeats=25)
    note = "same graph, ORT alone"
    return Result("call of a 1,000-node graph", ours, reference, "us", 1.05, note)
