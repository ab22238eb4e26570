"""Microseconds a node to trace and to trace again, and the first call over ORT's own work."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnxruntime

import tfx as tf
from bench.calls import chain, ones
from bench.measure import Result

NODES = 1000


def run(nodes: int = NODES) -> list[Result]:
    """Tracing cost and first-call cost.

    Args:
        nodes: Length of the graph.
    """
    (x,) = ones(1)
    tf.function(lambda a: tf.tanh(a) + tf.sigmoid(a) * a)(x)  # load everything once
    traces, first, session = [], [], []
    for _ in range(5):
        function = tf.function(chain(nodes))
        started = time.perf_counter()
        concrete = function.get_concrete_function(x)
        traced = time.perf_counter()
        function(x)
        called = time.perf_counter()
        session.append(_plain_seconds(concrete, x))
        traces.append(traced - started)
        first.append(called - traced)
    return [
        Result("tracing a node", min(traces) / nodes * 1e6, 150.0, "us", 1.0, "150 us a node"),
        Result(
            "first call after tracing",
            min(first) * 1e3,
            min(session) * 1e3,
            "ms",
            2.0,
            "ORT's session creation and first run",
        ),
        *_again(nodes),
    ]


def _plain_seconds(concrete: Any, x: Any) -> float:
    """What ONNX Runtime alone takes for a session of this graph and one run."""
    model = concrete.as_onnx().SerializeToString()
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    before = time.perf_counter()
    plain = onnxruntime.InferenceSession(model, options)
    plain.run(None, {plain.get_inputs()[0].name: x.numpy()})
    return time.perf_counter() - before


def _again(nodes: int) -> list[Result]:
    """One function, called with a shape that it has not seen."""
    function = tf.function(chain(nodes))
    function.get_concrete_function(tf.TensorSpec([1, 2]))
    traces, calls, session = [], [], []
    for rows in range(2, 9):
        x = tf.constant(np.ones((rows, 2), np.float32))
        started = time.perf_counter()
        concrete = function.get_concrete_function(x)
        traced = time.perf_counter()
        function(x)
        calls.append(time.perf_counter() - started)
        traces.append(traced - started)
        session.append(_plain_seconds(concrete, x))
    name = f"retrace of a function of {nodes:,} operations"
    note = "ORT's session creation and first run"
    return [
        Result(name, min(traces) * 1e3, min(session) * 1e3, "ms", None, note),
        Result(f"{name}, and the call", min(calls) * 1e3, min(session) * 1e3, "ms", None, note),
    ]
