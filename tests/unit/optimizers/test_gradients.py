"""What is done to gradients: selection, densification, clipping."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfx as tf
from tfx.optimizers import gradients


def test_norm_clipping_shortens_long_gradients_only(rng: np.random.Generator) -> None:
    long, short = rng.normal(size=(4, 3)) * 10, np.array([0.1, -0.2])
    clipped = gradients.clipped_by_norm([tf.constant(long), tf.constant(short)], 2.0)
    np.testing.assert_allclose(clipped[0].numpy(), long * 2 / np.linalg.norm(long), rtol=1e-14)
    np.testing.assert_array_equal(clipped[1].numpy(), short)


def test_norm_clipping_of_zeros_is_zero() -> None:
    for clip in (gradients.clipped_by_norm, gradients.clipped_by_global_norm):
        np.testing.assert_array_equal(clip([tf.constant([0.0, 0.0])], 1.0)[0].numpy(), [0, 0])


def test_global_norm_over_several_dtypes(rng: np.random.Generator) -> None:
    parts = [rng.normal(size=3).astype(np.float32), rng.normal(size=(2, 2)) * 5]
    norm = np.sqrt(sum(np.sum(p.astype(np.float64) ** 2) for p in parts))
    clipped = gradients.clipped_by_global_norm([tf.constant(p) for p in parts], 0.5)
    for found, part in zip(clipped, parts, strict=True):
        assert found.numpy().dtype == part.dtype
        np.testing.assert_allclose(found.numpy(), part * 0.5 / norm, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_global_norm_that_is_not_finite_spoils_everything(bad: float) -> None:
    clipped = gradients.clipped_by_global_norm([tf.constant([bad]), tf.constant([1.0])], 1.0)
    assert all(np.isnan(g.numpy()).all() for g in clipped)


def test_value_clipping() -> None:
    (clipped,) = gradients.clipped_by_value([tf.constant([-3.0, 0.25, 2.0])], 0.5)
    np.testing.assert_array_equal(clipped.numpy(), [-0.5, 0.25, 0.5])


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_slices_become_dense_and_repeated_rows_add_up(index: type) -> None:
    v = tf.Variable(np.zeros((4, 2), np.float32))
    values = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    slices = tf.IndexedSlices(values, tf.constant(np.array([2, 0, 2], index)))
    dense = gradients.dense(slices, v)
    np.testing.assert_array_equal(dense.numpy(), [[3, 4], [0, 0], [6, 8], [0, 0]])


def test_a_gradient_of_another_shape_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'w:0' has shape \(3,\); expected the variable's, \(2,\)"
    ):
        gradients.dense(tf.constant([1.0, 2.0, 3.0]), tf.Variable([1.0, 2.0], name="w"))


def test_variables_without_gradient_are_named_once() -> None:
    a, b, c = (tf.Variable(1.0, name=n) for n in "abc")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            kept = gradients.present([(None, a), (tf.constant(1.0), b), (None, c)])
    assert [v.name for _, v in kept] == ["b:0"]
    assert [str(w.message) for w in caught] == [
        "Gradients do not exist for variables ['a:0', 'c:0'] when minimizing the loss."
    ]
    assert caught[0].filename == __file__


def test_no_gradients_at_all() -> None:
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: \['a:0'\]"):
        gradients.present([(None, tf.Variable(1.0, name="a"))])
    with pytest.raises(ValueError, match="No gradients provided"):
        tf.optimizers.SGD().apply_gradients([])
