"""Small programs as they were written for TensorFlow 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    """Programs call ``disable_eager_execution`` once, at their start."""
    tf.disable_eager_execution()
    yield
    tf.enable_eager_execution()
    tf.reset_default_graph()


def test_linear_regression_with_a_saver(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(64, 1)).astype(np.float32)
    labels = 3.0 * data - 2.0

    x = tf.placeholder(tf.float32, [None, 1], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.Variable(tf.truncated_normal([1, 1], stddev=0.1), name="w")
    b = tf.Variable(tf.zeros([1]), name="b")
    prediction = tf.add(tf.matmul(x, w), b, name="prediction")
    loss = tf.reduce_mean(tf.square(prediction - y))
    step = tf.train.get_or_create_global_step()
    rate = tf.placeholder_with_default(0.3, [])
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    saver = tf.train.Saver()
    prefix = str(tmp_path / "model")

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first = sess.run(loss, feed_dict={x: data, y: labels})
        for _ in range(60):
            _, last = sess.run([train_op, loss], feed_dict={x: data, y: labels})
        saver.save(sess, prefix, global_step=step)
        assert sess.run(step) == 60
    assert last < 1e-4 < first

    with tf.Session() as sess:
        saver.restore(sess, tf.train.latest_checkpoint(tmp_path))
        np.testing.assert_allclose(sess.run([w, b])[0], [[3.0]], atol=0.05)
        np.testing.assert_allclose(sess.run("prediction:0", {"x:0": [[1.0]]}), [[1.0]], atol=0.05)
        sess.run(train_op, {x: data, y: labels, rate: 0.0})
        assert sess.run(step) == 61


def dense(x, units, name, activation=None):
    with tf.variable_scope(name):
        w = tf.get_variable("kernel", [x.shape[-1], units])
        b = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        y = tf.nn.xw_plus_b(x, w, b)
        return y if activation is None else activation(y)


def network(x, training):
    with tf.variable_scope("net", regularizer=lambda w: 1e-4 * tf.nn.l2_loss(w)):
        hidden = dense(x, 16, "hidden", tf.nn.tanh)
        hidden = tf.nn.dropout(hidden, keep_prob=tf.where(training, 0.9, 1.0))
        return dense(hidden, 2, "logits")


def test_a_classifier_with_shared_variables() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 2)).astype(np.float32)
    classes = (points[:, 0] * points[:, 1] > 0).astype(np.int64)

    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.placeholder(tf.int64, [None])
    training = tf.placeholder_with_default(False, [])
    logits = network(x, training)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        again = network(x, tf.constant(False))
    tf.losses.sparse_softmax_cross_entropy(y, logits)
    loss = tf.losses.get_total_loss()
    train_op = tf.train.AdamOptimizer(0.03).minimize(loss)
    accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), y)))

    assert [v.name for v in tf.trainable_variables()] == [
        "net/hidden/kernel:0",
        "net/hidden/bias:0",
        "net/logits/kernel:0",
        "net/logits/bias:0",
    ]
    assert len(tf.losses.get_regularization_losses()) == 4
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(120):
            sess.run(train_op, {x: points, y: classes, training: True})
        assert sess.run(accuracy, {x: points, y: classes}) > 0.93
        one, two = sess.run([logits, again], {x: points})
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_a_counter_with_control_dependencies() -> None:
    counter = tf.get_variable(
        "counter", [], tf.int32, initializer=tf.zeros_initializer(), trainable=False
    )
    increment = tf.assign_add(counter, 1)
    with tf.control_dependencies([increment]):
        value = tf.identity(counter)
    reset = counter.assign(0)
    with tf.Session() as sess:
        sess.run(counter.initializer)
        assert [int(sess.run(value)) for _ in range(3)] == [1, 2, 3]
        sess.run(reset)
        assert sess.run(value) == 1


def test_a_moving_average_in_the_update_collection() -> None:
    x = tf.placeholder(tf.float32, [None])
    mean = tf.get_variable("mean", [], initializer=tf.zeros_initializer(), trainable=False)
    update = mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(x))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    w = tf.get_variable("w", initializer=1.0)
    loss = tf.reduce_sum(tf.square(w * (x - mean)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = tf.train.MomentumOptimizer(0.0, 0.9).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train_op, {x: [10.0, 20.0]})
        assert sess.run(mean) == pytest.approx(1.5)
        sess.run(loss, {x: [10.0, 20.0]})
        assert sess.run(mean) == pytest.approx(1.5)


def test_an_interactive_program() -> None:
    sess = tf.InteractiveSession()
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    b = tf.Variable(tf.ones_like(a))
    b.initializer.run()
    assert tf.matmul(a, b).eval().tolist() == [[3.0, 3.0], [7.0, 7.0]]
    sess.close()
