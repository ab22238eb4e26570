"""Graphs of functions with complex numbers inside: what is left of the views as pairs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tfx.graph.ir import HOST, Graph
from tfx.graph.passes.join_pairs import join_pairs
from tfx.testing import assert_close

X = np.array([1.0, -2.0, 3.0], "f")
SPEC = tf.TensorSpec([None])


def _kinds(graph: Graph) -> list[str]:
    """The host calls of a graph, of its bodies and of what it calls."""
    found = [node.attrs["call"].kind for node in graph.nodes if node.op == HOST]
    for node in graph.nodes:
        for body in node.bodies():
            found += _kinds(body)
    return found


def _joined(f: Any, *specs: Any) -> Graph:
    return join_pairs(f.get_concrete_function(*specs).graph.graph)


@tf.function
def choose(x: Any) -> Any:
    z = tf.complex(x, x)
    y = z * 1j if tf.reduce_sum(x) > 0 else tf.zeros_like(z)
    return tf.math.real(y)


@tf.function
def inside(x: Any) -> Any:
    z = tf.complex(x, x)
    y = tf.abs(z * z) if tf.reduce_sum(x) > 0 else x
    return y


@tf.function
def repeat(x: Any) -> Any:
    z = tf.complex(x, x)
    for _ in tf.range(3):
        z = z * (1 + 0.5j)
    return tf.abs(z)


@tf.function
def nested(x: Any) -> Any:
    z = tf.complex(x, x)
    for i in tf.range(4):
        z = z * 1j if i % 2 == 0 else z + tf.complex(x, 0.0)
    return tf.math.imag(z)


@tf.function
def collect(x: Any) -> Any:
    rows = tf.TensorArray(tf.complex64, 3)
    for i in tf.range(3):
        rows = rows.write(i, tf.complex(x, x * tf.cast(i, x.dtype)))
    return tf.abs(rows.stack())


@tf.function
def scan(x: Any) -> Any:
    return tf.math.real(tf.scan(lambda a, b: a * b, tf.complex(x, x)))


@tf.function
def _squared(z: Any) -> Any:
    return z * z


@tf.function
def call(x: Any) -> Any:
    return tf.math.real(_squared(tf.complex(x, 2 * x))) + tf.math.imag(_squared(tf.complex(x, x)))


@tf.function
def call_in_a_loop(x: Any) -> Any:
    z = tf.complex(x, x)
    for _ in tf.range(2):
        z = _squared(z)
    return tf.math.imag(z)


Z = X + 1j * X
EXPECTED = {
    "choose": (choose, -X),
    "inside": (inside, 2 * X**2),
    "repeat": (repeat, np.abs(Z * (1 + 0.5j) ** 3)),
    "nested": (nested, ((Z * 1j + X) * 1j + X).imag),
    "collect": (collect, np.abs(X + 1j * X * np.arange(3)[:, None])),
    "scan": (scan, np.cumprod(Z).real),
    "call": (call, ((X + 2j * X) ** 2).real + (Z**2).imag),
    "call_in_a_loop": (call_in_a_loop, (Z**4).imag),
}


def _slope(f: Any) -> Any:
    @tf.function(input_signature=[SPEC])
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return slope


@pytest.mark.parametrize("name", EXPECTED)
def test_nothing_of_python_is_left(name: str, tmp_path: Path) -> None:
    f, expected = EXPECTED[name]
    assert _kinds(f.get_concrete_function(SPEC).graph.graph)
    assert not _kinds(_joined(f, SPEC))
    assert_close(f(X), expected.astype("f"), atol=1e-5)
    signatures = {
        "f": tf.function(lambda x: f(x), input_signature=[SPEC]),
        "slope": _slope(f),
    }
    tf.saved_model.save(tf.Module(), tmp_path / "m", signatures=signatures)
    for each in signatures:
        session = onnxruntime.InferenceSession(tmp_path / "m" / f"{each}.onnx")
        assert_close(session.run(None, {"x": X})[0], signatures[each](X))
    for i in range(3):
        d = np.zeros(3, "f")
        d[i] = 0.01
        difference = np.sum(f(X + d).numpy().astype("d") - f(X - d).numpy().astype("d")) / 0.02
        assert_close(signatures["slope"](X)[i], difference, rtol=2e-2, atol=2e-2)


def test_what_is_complex_at_an_end_is_seen_once() -> None:
    spec = tf.TensorSpec([None], tf.complex64)
    f = tf.function(lambda a, b: (a * b + tf.exp(a), tf.abs(a)))
    kinds = _kinds(_joined(f, spec, spec))
    assert sorted(kinds) == ["complex_numbers", "complex_parts", "complex_parts"]
    same = tf.function(lambda a: (a, a, tf.constant(1j)))
    z = tf.constant([1j, 2], tf.complex64)
    assert [x.numpy().tolist() for x in same(z)] == [[1j, 2], [1j, 2], 1j]


def test_loops_over_complex_arguments() -> None:
    @tf.function
    def f(c: Any) -> Any:
        z = tf.zeros_like(c)
        while tf.reduce_max(tf.abs(z)) < 100.0:
            z = z * z + c
        return z

    c = np.array([0.5 + 1j, 0.1])
    z = np.zeros_like(c)
    while np.abs(z).max() < 100:
        z = z * z + c
    assert_close(f(tf.constant(c)), z)
    body = _joined(f, tf.TensorSpec([2], tf.complex128))
    inner = [kind for node in body.nodes for b in node.bodies() for kind in _kinds(b)]
    assert not inner


def test_results_of_python_code() -> None:
    @tf.function
    def f(x: Any) -> Any:
        z = tf.numpy_function(lambda a: a * 1j, [x], tf.complex64)
        z.set_shape([3])
        if tf.reduce_sum(x) > 0:
            z = z * z
        return tf.math.real(z)

    assert_close(f(X), -(X**2))


def test_who_else_looks_at_graphs(tmp_path: Path) -> None:
    """Pickles, sessions of TensorFlow 1, datasets, predicted placement and loaded functions."""
    f = tf.function(lambda x: tf.abs(tf.signal.rfft(x) * 2j), input_signature=[SPEC])
    expected = 2 * np.abs(np.fft.rfft(X))
    concrete = pickle.loads(pickle.dumps(f.get_concrete_function()))
    assert_close(concrete(X), expected, atol=1e-5)
    assert "Rfft" in str(f.placement("/GPU:0"))
    rows = tf.data.Dataset.from_tensors(X).repeat(4).map(lambda x: tf.signal.rfft(x)).batch(4)
    assert_close(next(iter(rows)), np.stack([np.fft.rfft(X)] * 4), atol=1e-5)
    with tf.compat.v1.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None])
        z = tf.signal.rfft(x)
        slope = tf.compat.v1.gradients(tf.abs(z) ** 2, x)[0]
        with tf.compat.v1.Session() as session:
            spectrum, found = session.run([z, slope], {x: X})
    assert_close(spectrum, np.fft.rfft(X), atol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(given := tf.constant(X))
        y = tf.abs(tf.signal.rfft(given)) ** 2
    assert_close(found, tape.gradient(y, given), atol=1e-4)
    tf.saved_model.save(tf.Module(), tmp_path / "m", signatures=f)
    loaded = tf.saved_model.load(tmp_path / "m").signatures["serving_default"]
    with tf.GradientTape() as tape:
        tape.watch(given)
        (y,) = loaded(x=given).values()
    assert_close(y, expected, atol=1e-5)
    assert_close(tape.gradient(y, given), _slope(f)(X), atol=1e-4)


def test_complex_variables_in_functions_that_write_others() -> None:
    v, w = tf.Variable([1j, 2]), tf.Variable([1.0])

    @tf.function
    def f(z: Any) -> Any:
        v.assign(v * z)
        w.assign_add([1.0])
        return tf.abs(v)

    z = tf.constant([2j, 1], tf.complex128)
    assert_close(f(z), [2.0, 2.0])
    assert v.numpy().tolist() == [-2, 2]
    assert w.numpy().tolist() == [2.0]


def test_gradients_of_their_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    @tf.custom_gradient
    def own(z: Any) -> Any:
        return z * z, lambda dy: 100 * dy

    f = tf.function(lambda x: tf.math.real(own(tf.complex(x, x))), input_signature=[SPEC])
    for given in (f, f.python_function):
        with tf.GradientTape() as tape:
            tape.watch(x := tf.constant(X))
            y = given(x)
        assert_close(tape.gradient(y, x), np.full(3, 100.0))
    tf.saved_model.save(tf.Module(), tmp_path / "m", signatures=f)
    assert "saved without the gradients of its own" in caplog.text


def test_graphs_without_complex_numbers_stay() -> None:
    graph = tf.function(lambda x: x * 2.0).get_concrete_function(SPEC).graph.graph
    assert join_pairs(graph) is graph
