"""Functions of elements where Keras' own tests do not look: unknown sizes, slopes, odd values."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

keras = tf.keras
knp = keras.src.backend.numpy
size = keras.src.backend.shape

X = np.array([[-1.7, -0.6, 0.3], [0.9, 1.8, 2.4]], "float32")

CASES = {
    "add": lambda x: knp.add(x, 2),
    "arctan2": lambda x: knp.arctan2(x, x[:1]),
    "clip": lambda x: knp.clip(x, -1, x[:, :1] + 2),
    "divide_no_nan": lambda x: knp.divide_no_nan(x, knp.floor(x)),
    "fmax": lambda x: knp.fmax(x, 0.5),
    "full_like": lambda x: knp.full_like(x, 3) * x,
    "geomspace": lambda x: knp.geomspace(knp.square(x), 9.0, 4),
    "hypot": lambda x: knp.hypot(x, 0.0),
    "linspace": lambda x: knp.linspace(x, 4, 3, axis=-1),
    "logaddexp": lambda x: knp.logaddexp(x, -np.inf),
    "nan_to_num": lambda x: knp.nan_to_num(x / 0.5),
    "ones": lambda x: knp.ones((size(x)[0], 3)) * x,
    "power": lambda x: knp.power(x, 2) + knp.power(knp.abs(x), 0.5),
    "select": lambda x: knp.select([x > 1, x > 0], [x, 2 * x], 0.0),
    "sinc": lambda x: knp.sinc(x - x[:1]),
    "triangle": lambda x: knp.tri(size(x)[0], size(x)[1], k=1) * x,
    "where": lambda x: knp.where(x, x, 1),
    "window": lambda x: knp.hanning(size(x)[1]) * x,
}


@pytest.mark.parametrize("name", CASES)
def test_traced_with_unknown_sizes_as_eager_with_finite_gradients(name):
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def traced(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = CASES[name](x)
        return y, tape.gradient(y, x)

    found, slope = traced(tf.constant(X))
    assert np.allclose(found, CASES[name](tf.constant(X)), rtol=1e-5, atol=1e-6)
    assert np.isfinite(slope.numpy()).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_numbers_of_python_do_not_widen(dtype):
    x = knp.ones((2,), dtype)
    for found in (knp.add(x, 1), knp.multiply(2.0, x), knp.maximum(x, True), knp.divide(x, 3)):
        assert found.dtype == dtype


def test_tensors_of_one_dtype_are_combined_without_a_cast():
    @tf.function
    def traced(x, y):
        return knp.add(knp.multiply(x, y), knp.exp(y))

    graph = traced.get_concrete_function(tf.constant(X), tf.constant(X)).graph
    assert "Cast" not in [operation.type for operation in graph.get_operations()]


def test_a_float_given_to_integers_follows_floatx():
    one = tf.constant([1])
    assert knp.exp(one).dtype == "float32"
    keras.config.set_floatx("float16")
    try:
        assert knp.exp(one).dtype == knp.divide(one, 2).dtype == "float16"
    finally:
        keras.config.set_floatx("float32")


def test_parts_of_complex_numbers():
    z = np.array([1 + 2j, -3 - 0.5j, 2 + 0j], "complex64")
    for name in ("real", "imag", "conj", "angle", "isreal"):
        assert np.allclose(getattr(knp, name)(tf.constant(z)), getattr(np, name)(z))
