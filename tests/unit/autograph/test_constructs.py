"""Each construct of Python, traced on tensors, gives what the plain function gives eagerly."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import tfx as tf


def found_in(name):
    """The functions of a file beside this one."""
    spec = importlib.util.spec_from_file_location(
        f"autograph_{name}", Path(__file__).with_name(f"{name}.py")
    )
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FOUND


FUNCTIONS = [*found_in("constructs"), *found_in("scopes")]

V = np.array([1.0, 3.0, 2.0], np.float32)


def arrays(result):
    return [np.asarray(leaf) for leaf in tf.nest.flatten(result)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_traced_as_eagerly(function):
    traced = tf.function(function)
    for number in (0.5, 2.5, 7.0):
        x, v = tf.constant(number), tf.constant(V)
        expected = function(x, v)
        found = traced(x, v)
        pairs = zip(arrays(found), arrays(expected), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=f"{function}({number})")
    assert traced.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    "function",
    [f for f in FUNCTIONS if f.__name__ not in ("gradients", "nested_functions_of_tf")],
    ids=lambda f: f.__name__,
)
def test_converted_code_runs_eagerly(function):
    x, v = tf.constant(2.5), tf.constant(V)
    converted = tf.autograph.to_graph(function)
    for one, other in zip(arrays(converted(x, v)), arrays(function(x, v)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
