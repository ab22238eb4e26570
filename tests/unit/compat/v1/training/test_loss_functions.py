"""Losses; the numbers are those of TensorFlow 2.21's ``compat.v1``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.compat.v1 as tf

losses = tf.losses


def test_values_and_collections() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        y, p = tf.constant([[1.0, 0.0], [0.0, 1.0]]), tf.constant([[0.7, 0.2], [0.4, 0.9]])
        w = tf.constant([[1.0], [0.0]])
        kinds = losses.Reduction
        found = [
            losses.mean_squared_error(y, p),
            losses.mean_squared_error(y, p, w),
            losses.absolute_difference(y, p),
            losses.log_loss(y, p),
            losses.softmax_cross_entropy(y, p),
            losses.softmax_cross_entropy(y, p, label_smoothing=0.1),
            losses.sparse_softmax_cross_entropy([0, 1], p),
            losses.sigmoid_cross_entropy(y, p),
            losses.sigmoid_cross_entropy(y, p, label_smoothing=0.2),
            losses.get_total_loss(),
            losses.mean_squared_error(y, p, reduction=kinds.SUM),
            losses.mean_squared_error(y, p, w, reduction=kinds.MEAN),
            losses.mean_squared_error(y, p, w, reduction=kinds.SUM_OVER_BATCH_SIZE),
            losses.mean_squared_error(y, p, 0.0, loss_collection=None),
        ]
        assert len(losses.get_losses()) == 12
        expected = [0.075, 0.065, 0.25, 0.299, 0.47408, 0.49908, 0.47408, 0.61387, 0.63887]
        expected += [3.38898, 0.3, 0.065, 0.0325, 0.0]
        np.testing.assert_allclose(session.run(found), expected, atol=1e-5)
        single = session.run(losses.mean_squared_error(y, p, reduction=kinds.NONE))
        np.testing.assert_allclose(single, [[0.09, 0.04], [0.16, 0.01]], atol=1e-6)


def test_total_of_what_was_added() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="no losses"):
            losses.get_total_loss()
        losses.add_loss(tf.constant(2.0))
        tf.get_variable("w", initializer=3.0, regularizer=lambda w: w * w)
        session.run(tf.global_variables_initializer())
        assert session.run(losses.get_total_loss()) == 11.0
        assert session.run(losses.get_total_loss(add_regularization_losses=False)) == 2.0


def test_what_is_refused() -> None:
    x = tf.ones([2, 3])
    with pytest.raises(ValueError, match="incompatible"):
        losses.mean_squared_error(x, tf.ones([3, 2]))
    with pytest.raises(ValueError, match="must not be None"):
        losses.mean_squared_error(None, x)
    with pytest.raises(ValueError, match="Invalid Reduction Key"):
        losses.mean_squared_error(x, x, reduction="mean")
    with pytest.raises(ValueError, match="can not be broadcast"):
        losses.mean_squared_error(x, x, tf.ones([3]))
