"""Microseconds a node to trace, and the first call over session creation alone."""

from __future__ import annotations

import time

import numpy as np
import onnxruntime

import tfx as tf
from bench.measure import Result

NODES = 1000


def _body(a):
    b = a
    for i in range(NODES // 2):
        b = tf.tanh(b) + a if i % 2 else tf.sigmoid(b) * a
    return b


def run() -> list[Result]:
    """Tracing cost and first-call cost."""
    x = tf.constant(np.ones((2, 2), np.float32))
    tf.function(lambda a: tf.tanh(a) + tf.sigmoid(a) * a)(x)  # load everything once
    trace_us, first, session = [], [], []
    for _ in range(5):
        function = tf.function(lambda a: _body(a))
        started = time.perf_counter()
        concrete = function.get_concrete_function(x)
        traced = time.perf_counter()
        function(x)
        called = time.perf_counter()
        model = concrete.as_onnx().SerializeToString()
        options = onnxruntime.SessionOptions()
        options.use_per_session_threads = False
        before = time.perf_counter()
        plain = onnxruntime.InferenceSession(model, options)
        plain.run(None, {plain.get_inputs()[0].name: x.numpy()})
        session.append(time.perf_counter() - before)
        trace_us.append((traced - started) / NODES * 1e6)
        first.append(called - traced)
    return [
        Result("tracing a node", min(trace_us), 150.0, "us", 1.0, "150 us a node"),
        Result(
            "first call after tracing",
            min(first) * 1e3,
            min(session) * 1e3,
            "ms",
            2.0,
            "ORT's session creation and first run",
        ),
    ]
