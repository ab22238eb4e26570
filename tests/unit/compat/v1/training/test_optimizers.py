"""Optimizers; the numbers and names are those of TensorFlow 2.21's ``compat.v1``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx
import tfx.compat.v1 as tf

train = tf.train
# Three steps on the problem below: w, b, names of the optimizer's own variables.
EXPECTED = {
    "gd": (train.GradientDescentOptimizer(0.1), [0.48222, -0.45298, 0.17782], 0.76033, []),
    "momentum": (
        train.MomentumOptimizer(0.1, 0.9),
        [-0.00364, 1.03216, -2.59404],
        1.11211,
        ["w/Momentum:0", "s/b/Momentum:0"],
    ),
    "nesterov": (
        train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        [-0.15266, 0.85424, -0.90631],
        1.16678,
        ["w/Momentum:0", "s/b/Momentum:0"],
    ),
    "adam": (
        train.AdamOptimizer(0.1),
        [0.70224, -1.70049, 2.70044],
        0.79354,
        [
            *("beta1_power:0", "beta2_power:0"),
            *("w/Adam:0", "w/Adam_1:0", "s/b/Adam:0", "s/b/Adam_1:0"),
        ],
    ),
    "adagrad": (
        train.AdagradOptimizer(0.1),
        [0.78445, -1.77517, 2.77473],
        0.70322,
        ["w/Adagrad:0", "s/b/Adagrad:0"],
    ),
    "adadelta": (
        train.AdadeltaOptimizer(1.0),
        [0.99864, -1.99864, 2.99864],
        0.50136,
        ["w/Adadelta:0", "w/Adadelta_1:0", "s/b/Adadelta:0", "s/b/Adadelta_1:0"],
    ),
    "rmsprop": (
        train.RMSPropOptimizer(0.1, momentum=0.5),
        [0.36655, -1.0242, 1.96635],
        0.99792,
        ["w/RMSProp:0", "w/RMSProp_1:0", "s/b/RMSProp:0", "s/b/RMSProp_1:0"],
    ),
    "centered": (
        train.RMSPropOptimizer(0.1, centered=True),
        [0.54533, -1.27988, 2.2335],
        0.84984,
        [
            *("w/RMSProp:0", "w/RMSProp_1:0", "w/RMSProp_2:0"),
            *("s/b/RMSProp:0", "s/b/RMSProp_1:0", "s/b/RMSProp_2:0"),
        ],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_three_steps(name: str) -> None:
    optimizer, w_expected, b_expected, slots = EXPECTED[name]
    with tf.Graph().as_default():
        w = tf.get_variable("w", initializer=[1.0, -2.0, 3.0])
        b = tf.get_variable("s/b", initializer=0.5)
        tf.get_variable("unused", initializer=1.0)
        loss = tf.reduce_sum(w * w * [1.0, 2.0, 3.0]) + tf.square(b - 1.0) * tf.reduce_sum(w)
        step = tf.train.get_or_create_global_step()
        op = optimizer.minimize(loss, global_step=step)
        assert op.name == optimizer.get_name()
        assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [op]
        assert [v.name for v in tf.global_variables()[4:]] == slots
        assert sorted(slots) == [v.name for v in optimizer.variables()]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                assert session.run(op) is None
            found, b_found, steps = session.run([w, b, step])
            assert tf.train.global_step(session, step) == steps == 3
    np.testing.assert_allclose(found, w_expected, atol=2e-5)
    assert b_found == pytest.approx(b_expected, abs=2e-5)


def test_gradients_are_computed_and_applied_apart() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        rate = tf.placeholder(tf.float32)
        optimizer = train.GradientDescentOptimizer(rate)
        pairs = optimizer.compute_gradients(tf.reduce_sum(v * v), [v])
        clipped = [(tf.clip_by_value(g, -1.0, 1.0), w) for g, w in pairs]
        op = optimizer.apply_gradients(clipped, name="clipped")
        session.run(v.initializer)
        session.run(op, {rate: 0.5})
        assert op.name == "clipped"
        assert session.run(v).tolist() == [0.5, 1.5]


def test_constraints_hold_after_a_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0], constraint=lambda x: tf.maximum(x, 0.9))
        op = train.GradientDescentOptimizer(0.25).minimize(tf.reduce_sum(v * v))
        session.run(v.initializer)
        session.run(op)
        np.testing.assert_allclose(session.run(v), [0.9, 1.0])


def test_in_eager_code_and_in_functions() -> None:
    results = []
    for wrap in (lambda f: f, tfx.function):
        v = tfx.Variable([1.0, 2.0])
        optimizer = train.AdamOptimizer(0.1)

        def step(v: Any = v, optimizer: Any = optimizer) -> None:
            optimizer.minimize(lambda: tfx.reduce_sum(v * v), var_list=[v])

        stepped = wrap(step)
        for _ in range(3):
            stepped()
        results.append(v.numpy())
        assert optimizer.get_slot(v, "m").shape == [2]
        assert optimizer.get_slot(v, "none") is None
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    w, m, u = np.array([1.0, 2.0]), 0.0, 0.0
    for t in range(1, 4):
        m, u = 0.9 * m + 0.1 * 2 * w, 0.999 * u + 0.001 * 4 * w * w
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(u) + 1e-8)
    np.testing.assert_allclose(results[0], w, rtol=1e-5)
    with pytest.raises(RuntimeError, match="should be a function"):
        train.AdamOptimizer().minimize(tfx.constant(1.0))


def test_what_is_refused() -> None:
    with tf.Graph().as_default():
        optimizer = train.GradientDescentOptimizer(0.1)
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="No variables to optimize"):
            optimizer.minimize(x)
        v = tf.Variable(1.0)
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            optimizer.minimize(x)
        with pytest.raises(ValueError, match="No variables provided"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="No gradients provided"):
            optimizer.apply_gradients([(None, v)])
        with pytest.raises(TypeError, match="Expected a variable"):
            optimizer.apply_gradients([(x, x)])
    with pytest.raises(ValueError, match="must be positive"):
        train.AdagradOptimizer(0.1, 0.0)


def test_the_global_step() -> None:
    with tf.Graph().as_default() as graph:
        assert train.get_global_step() is None
        step = train.create_global_step()
        assert train.get_or_create_global_step() is step
        assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)
        assert tf.global_variables() == [step]
        train.assert_global_step(step)
        with pytest.raises(ValueError, match="already exists"):
            train.create_global_step(graph)
        with pytest.raises(TypeError, match="scalar integer"):
            train.assert_global_step(tf.constant(1.0))
        tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, step)
        assert train.get_global_step() is None  # which of the two, nobody can say


def test_a_global_step_is_found_by_its_name_and_must_count() -> None:
    with tf.Graph().as_default():
        step = tf.Variable(0, name="global_step", dtype=tf.int64)
        assert train.get_global_step() is train.get_or_create_global_step() is step
    for shape, dtype in (([], tf.float32), ([3], tf.int64)):
        with tf.Graph().as_default():
            tf.placeholder(dtype, shape, name="global_step")
            for get in (train.get_global_step, train.create_global_step):
                with pytest.raises(TypeError, match="scalar integer"):
                    get()


@pytest.mark.parametrize("name", EXPECTED)
def test_rows_are_the_gradient_that_they_stand_for(name: str) -> None:
    values, places = [[1.0, -2.0], [0.5, 0.25], [3.0, 1.0]], [1, -1, 1]
    dense = np.zeros((4, 2), np.float32)
    np.add.at(dense, places, values)
    found = []
    for rows in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            optimizer = EXPECTED[name][0]
            v = tf.get_variable("v", initializer=tf.ones([4, 2]))
            slices = tf.IndexedSlices(tf.constant(values), tf.constant(places))
            op = optimizer.apply_gradients([(slices if rows else tf.constant(dense), v)])
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                session.run(op)
            found.append(session.run([v, *optimizer.variables()]))
    for one, other in zip(*found, strict=True):
        rows = [1, 3] if one.ndim else ()  # what is kept for the others stays as it is
        np.testing.assert_allclose(one[rows], other[rows], rtol=1e-6)
    assert (found[0][0][[1, 3]] != 1.0).all()
