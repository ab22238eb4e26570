"""The samples of "Functions, not Sessions": the TensorFlow 1 side beside the TensorFlow 2 side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf
import tfx.compat.v1 as tf1

rng = np.random.default_rng(0)


def test_python_functions_as_graphs() -> None:
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf1.float32)
        y = tf1.square(x)
        z = tf1.add(x, y)
        sess = tf1.Session()
        z0 = sess.run([z], feed_dict={x: 2.0})
        z1 = sess.run([z], feed_dict={x: 2.0, y: 2.0})
    assert z0 == [6.0]
    assert z1 == [4.0]

    @tf.function
    def compute_z1(x, y):
        return tf.add(x, y)

    @tf.function
    def compute_z0(x):
        return compute_z1(x, tf.square(x))

    assert float(compute_z0(2.0)) == z0[0]
    assert float(compute_z1(2.0, 2.0)) == z1[0]


def test_referencing_state() -> None:
    given = rng.normal(size=(4, 10)).astype(np.float32)
    with tf1.Graph().as_default():
        W = tf1.Variable(tf1.glorot_uniform_initializer()((10, 10)))
        b = tf1.Variable(tf1.zeros(10))
        c = tf1.Variable(0)
        x = tf1.placeholder(tf1.float32)
        ctr = c.assign_add(1)
        with tf1.control_dependencies([ctr]):
            y = tf1.matmul(x, W) + b
        init = tf1.global_variables_initializer()
        with tf1.Session() as sess:
            sess.run(init)
            result, weights = sess.run([y, W], feed_dict={x: given})
            assert int(sess.run(c)) == 1
        # The memory of the variables was the session's.
        with tf1.Session() as sess, pytest.raises(tf1.errors.FailedPreconditionError):
            sess.run(c)
    W2 = tf.Variable(weights)
    b2 = tf.Variable(tf.zeros(10))
    c2 = tf.Variable(0)

    @tf.function
    def f(x):
        c2.assign_add(1)
        return tf.matmul(x, W2) + b2

    np.testing.assert_allclose(f(given), result, rtol=1e-5)
    np.testing.assert_allclose(result, given @ weights, rtol=1e-4, atol=1e-5)
    assert int(c2) == 1


def test_program_order() -> None:
    with tf1.Graph().as_default():
        v = tf1.Variable(1.0)
        init_op = tf1.global_variables_initializer()
        assign_op = v.assign(2.0)
        read = v.read_value()
        with tf1.Session() as sess:
            sess.run(init_op)
            assert sess.run(read) == 1.0  # the assignment is not needed, and does not run
            # Open in TensorFlow 1; here always the order in which the operations were made.
            assert sess.run([read, assign_op])[0] == 2.0
            assert sess.run(v) == 2.0
    v2 = tf.Variable(1.0)

    @tf.function
    def f():
        v2.assign(2.0)
        return v2.read_value()

    assert float(f()) == 2.0


def test_wrap_function_keeps_state_and_is_traced_once() -> None:
    traced = []

    def f(x, do_add):
        traced.append(do_add)
        v = tf.Variable(5.0)
        if do_add:
            v.assign_add(x)
        else:
            v.assign_sub(x)
        return v

    f_add = tf.compat.v1.wrap_function(f, tf.TensorSpec((), tf.float32), True)
    assert float(f_add(1.0)) == 6.0
    assert float(f_add(1.0)) == 7.0
    f_sub = tf.compat.v1.wrap_function(f, tf.TensorSpec((), tf.float32), False)
    assert float(f_sub(1.0)) == 4.0
    assert float(f_sub(1.0)) == 3.0
    assert float(f_add(1.0)) == 8.0
    assert traced == [True, False]


def test_wrap_function_owns_the_variables_of_get_variable() -> None:
    def f(x):
        W = tf.compat.v1.get_variable(name="weight", shape=[10, 10])
        b = tf.compat.v1.get_variable(
            name="bias", shape=[10], initializer=tf.compat.v1.zeros_initializer()
        )
        c = tf.Variable(0, dtype=tf.int32, name="counter")
        with tf.control_dependencies([c.assign_add(1)]):
            return tf.matmul(x, W) + b

    # The document has a placeholder here, which needs a graph.
    f = tf.compat.v1.wrap_function(f, tf.TensorSpec(None, tf.float32))
    assert len(f.variables) == 3
    assert [v.name for v in f.variables] == ["weight:0", "bias:0", "counter:0"]
    x = rng.normal(size=(3, 10)).astype(np.float32)
    np.testing.assert_allclose(f(x), x @ f.variables[0].numpy(), rtol=1e-4, atol=1e-5)
    f(x)
    assert int(f.variables[2]) == 2


def test_saving_parameters(tmp_path: Path) -> None:
    with tf1.Graph().as_default():
        W = tf1.get_variable("weights", shape=[10, 10])
        train_op = W.assign_add(tf1.ones_like(W))
        saver = tf1.train.Saver()
        init = tf1.global_variables_initializer()
        with tf1.Session() as sess:
            sess.run(init)
            before = sess.run(W)
            sess.run(train_op)
            path = saver.save(sess, f"{tmp_path}/checkpoint/")
        with tf1.Session() as sess:
            saver.restore(sess, f"{tmp_path}/checkpoint/")
            after = sess.run(W)
    np.testing.assert_allclose(after, before + 1.0)
    # The file is an ordinary checkpoint: the other side reads it by the variable's name.
    W2 = tf.Variable(tf.zeros((10, 10)))
    ckpt = tf.train.Checkpoint(weights=W2)
    ckpt.restore(path).assert_consumed()
    np.testing.assert_array_equal(W2.numpy(), after)


def test_exporting_graphs() -> None:
    with tf1.Graph().as_default() as graph:
        W = tf1.get_variable("weights", shape=[10, 10])
        x = tf1.placeholder(tf1.float32, shape=(None, 10), name="x")
        tf1.matmul(x, W, name="y")
        graph_def = graph.as_graph_def()
    assert [node.op_type for node in graph_def.node] == ["MatMul"]
    assert [i.name for i in graph_def.input] == ["x", "weights"]
    weights, given = np.eye(10, dtype=np.float32) * 2, np.ones((1, 10), np.float32)
    with tf1.Graph().as_default():
        w, x = tf1.constant(weights), tf1.placeholder(tf1.float32, (None, 10))
        (y,) = tf1.import_graph_def(
            graph_def, input_map={"x:0": x, "weights:0": w}, return_elements=["y:0"]
        )
        with tf1.Session() as sess:
            np.testing.assert_array_equal(sess.run(y, {x: given}), given * 2)


def test_exporting_models(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    given = rng.normal(size=(2, 10)).astype(np.float32)

    def save_model():
        W = tf1.get_variable("weights", shape=[10, 10])
        x = tf1.placeholder(tf1.float32, shape=(None, 10))
        y = tf1.matmul(x, W)
        with tf1.Session() as sess:
            sess.run(tf1.global_variables_initializer())
            tf1.saved_model.simple_save(sess, folder, inputs={"x": x}, outputs={"y": y})
            return sess.run(y, {x: given})

    def load_model():
        sess = tf1.Session()
        with sess.as_default():
            inputs, outputs = tf1.saved_model.simple_load(sess, folder)
        return inputs, outputs, sess

    with tf1.Graph().as_default():
        expected = save_model()
    with tf1.Graph().as_default():
        inputs, outputs, sess = load_model()
        found = sess.run(outputs["y"], {inputs["x"]: given})
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # It is the bundle that the other side saves and loads.
    loaded = tf.saved_model.load(folder)
    np.testing.assert_allclose(
        loaded.signatures["serving_default"](x=tf.constant(given))["y"], expected, rtol=1e-6
    )


def test_carving_out_a_subgraph() -> None:
    def build_graph():
        x = tf1.placeholder(tf1.float32)
        y = tf1.square(x)
        tf1.square(y)

    with tf1.Graph().as_default():
        build_graph()
        with tf1.Session() as sess:
            result = sess.run("Square_1:0", feed_dict={"Square:0": 2.0})
    assert result == 4.0

    def f(x):
        return tf.square(tf.square(x))

    wrapped = tf.compat.v1.wrap_function(f, tf.TensorSpec(None, tf.float32))
    f2 = wrapped.prune("Square:0", "Square_1:0")
    assert float(f2(2.0)) == 4.0
    concrete = tf.function(f).get_concrete_function(tf.TensorSpec(None, tf.float32))
    assert float(concrete.prune("Square:0", "Square_1:0")(tf.constant(2.0))) == 4.0


def test_extending_a_graph() -> None:
    def build_graph():
        x = tf1.placeholder(tf1.float32)
        return tf1.square(x)

    with tf1.Graph().as_default():
        y = build_graph()
        z = tf1.square(y)
        with tf1.Session() as sess:
            result = sess.run(z, feed_dict={"Placeholder:0": 2.0})
    assert result == 16.0

    @tf.function
    def f(x):
        return tf.square(x)

    @tf.function
    def g(x):
        return tf.square(f(x))

    assert float(g(2.0)) == 16.0


def test_static_local_state() -> None:
    def f(x):
        v = tf.Variable(1.0)
        v.assign_add(x)
        return v

    df = tf.compat.v1.wrap_function(f, tf.TensorSpec((), tf.float32))
    x = tf.constant(1.0)
    assert [float(df(x)), float(df(x))] == [2.0, 3.0]
    assert float(f(x)) == float(f(x)) == 2.0


def test_an_optimizer_of_the_defun_document() -> None:
    w = tf.Variable([[1.0], [2.0]])

    @tf.function
    def model(x):
        return tf.matmul(x, w)

    optimizer = tf.compat.v1.train.GradientDescentOptimizer(learning_rate=0.01)
    x = tf.constant([[2.0, 3.0]])
    with tf.GradientTape() as tape:
        outputs = model(x)
    gradient = tape.gradient(outputs, [w])
    optimizer.apply_gradients((grad, var) for grad, var in zip(gradient, [w], strict=True))
    np.testing.assert_allclose(w.numpy(), [[0.98], [1.97]], rtol=1e-6)
