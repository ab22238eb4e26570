"""``eig`` and ``eigvals`` against what defines them: ``a v = v e``, and known matrices."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

KINDS = {"float32": "complex64", "float64": "complex128", "complex128": "complex128"}


def _matrices(kind):
    rng = np.random.default_rng(3)
    found = rng.normal(size=(2, 3, 5, 5))
    return (found + 1j * rng.normal(size=found.shape) if "complex" in kind else found).astype(kind)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_they_solve_the_equation(kind, traced):
    a = _matrices(kind)
    both = tf.function(tf.linalg.eig) if traced else tf.linalg.eig
    alone = tf.function(tf.eigvals) if traced else tf.eigvals
    e, v = both(tf.constant(a))
    assert e.dtype == v.dtype == KINDS[kind]
    values, vectors = e.numpy(), v.numpy()
    error = np.abs(a @ vectors - vectors * values[..., None, :]).max()
    assert error < 40 * np.finfo(kind).eps * np.abs(a).max() * 5
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, rtol=1e-6)
    np.testing.assert_allclose(
        np.sort_complex(alone(tf.constant(a)).numpy()), np.sort_complex(values), rtol=1e-4
    )
    # The trace is the sum, the determinant the product of them.
    np.testing.assert_allclose(values.sum(-1), np.trace(a, axis1=-2, axis2=-1), rtol=1e-4)
    np.testing.assert_allclose(values.prod(-1), np.linalg.det(a), rtol=1e-3)


def test_the_spectral_radius_of_a_reservoir():
    """What most programs want of it: the largest magnitude, in a function too."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def scaled(w):
        return w / tf.reduce_max(tf.abs(tf.linalg.eigvals(w)))

    turn = np.array([[0.0, 3.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    np.testing.assert_allclose(scaled(tf.constant(turn)), turn / 3, rtol=1e-6)
    e = tf.linalg.eigvals(turn)
    assert sorted(tf.math.imag(e).numpy().round(5).tolist()) == [-3.0, 0.0, 3.0]
    assert sorted(tf.math.real(e).numpy().round(5).tolist()) == [0.0, 0.0, 1.0]


def test_static_shapes():
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4])])
    def f(a):
        e, v = tf.linalg.eig(a)
        seen.extend([e.shape.as_list(), v.shape.as_list(), tf.linalg.eigvals(a).shape.as_list()])
        return e

    f.get_concrete_function()
    assert seen == [[None, 4], [None, 4, 4], [None, 4]]


def test_what_is_refused(tmp_path):
    for wrong in ([[1.0, 2.0]], [1.0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be square"):
            tf.linalg.eig(wrong)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="float32, float64, complex64 or complex128"
    ):
        tf.linalg.eigvals([[1, 2], [3, 4]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be finite"):
        tf.linalg.eigvals([[np.nan, 1.0], [0.0, 1.0]])
    module = tf.Module()
    module.f = tf.function(
        lambda a: tf.abs(tf.linalg.eigvals(a)), input_signature=[tf.TensorSpec([2, 2])]
    )
    with pytest.raises(tf.errors.OpError, match=r"linalg\.eigvals"):
        tf.saved_model.save(module, str(tmp_path / "bundle"))


def test_magnitudes_of_complex_numbers():
    z = np.array([3 + 4j, -1j, 0, 1e200 + 1e200j])
    np.testing.assert_allclose(tf.abs(z), np.abs(z), rtol=1e-15)
    assert tf.abs(tf.constant(z[:2], tf.complex64)).dtype == tf.float32
    np.testing.assert_allclose(tf.function(tf.math.abs)(tf.constant(z)), np.abs(z), rtol=1e-15)
