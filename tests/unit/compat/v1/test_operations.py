"""Operations with TensorFlow 1's arguments, placeholders, switches, and small helpers."""

from __future__ import annotations

import logging as python_logging
from typing import Any

import numpy as np
import pytest

import tfx as tf2
import tfx.compat.v1 as tf

X = np.array([[1.0, -2.0, 3.0], [0.0, 5.0, -6.0]], np.float32)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "logsumexp", "all", "any"])
def test_reductions_and_their_older_arguments(name: str) -> None:
    x = X > 0 if name in ("all", "any") else X
    new = getattr(tf2, f"reduce_{name}")(x, axis=1, keepdims=True)
    old = getattr(tf, f"reduce_{name}")
    np.testing.assert_allclose(old(x, reduction_indices=1, keep_dims=True), new)
    np.testing.assert_allclose(old(x, 1, True), new)
    with pytest.raises(ValueError, match="both 'reduction_indices' and 'axis'"):
        old(x, 1, reduction_indices=1)
    with pytest.raises(ValueError, match="both 'keep_dims' and 'keepdims'"):
        old(x, 1, keepdims=True, keep_dims=True)


def test_arrays() -> None:
    assert tf.argmax(X, dimension=1).numpy().tolist() == [2, 1]
    assert tf.arg_max(X, 0).numpy().tolist() == [0, 1, 0]
    assert tf.argmin(X, 1, output_type=tf.int32).dtype is tf.int32
    assert tf.arg_min(X, 1).numpy().tolist() == [1, 2]
    assert tf.expand_dims(X, dim=0).shape == [1, 2, 3]
    assert tf.squeeze(tf.ones([1, 2, 1]), squeeze_dims=[0]).shape == [2, 1]
    with pytest.raises(ValueError, match="Must specify an axis"):
        tf.expand_dims(X)
    kinds = [tf.to_float, tf.to_double, tf.to_int32, tf.to_int64, tf.to_bfloat16]
    wanted = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bfloat16]
    assert [f([1]).dtype for f in kinds] == wanted
    assert tf.log(1.0).numpy() == 0.0
    assert sorted(tf.random_shuffle([1, 2, 3]).numpy().tolist()) == [1, 2, 3]
    assert tf.random.uniform([2], 5, 6).numpy().min() >= 5
    assert abs(tf.truncated_normal([100]).numpy()).max() <= 2


def test_constants() -> None:
    for shape in ([], ()):
        assert tf.constant(3.0, shape=shape).shape == ()
        assert tf.constant_initializer(3.0)(shape).shape == ()
    with tf.Graph().as_default():
        k = tf.get_variable("k", [], initializer=tf.constant_initializer(3.0))
        assert k.shape == ()
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), got \(2,\)"):
        tf.constant([1, 2], shape=[3], verify_shape=True)
    with tf.Graph().as_default() as graph:
        a, b = tf.constant(1.0, name="a"), tf.constant(1.0, name="a")
        assert [a.name, b.name] == ["a:0", "a_1:0"]
        assert graph.get_operation_by_name("a").type == "Const"
        assert tf.reshape(tf.ones([6]), tf.constant([2, 3])).shape == [2, 3]


def test_constants_of_another_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        filled = session.run(tf.constant([1, 2], shape=[2, 2]))
        assert filled.tolist() == [[1, 2], [2, 2]]
        empty = [tf.constant(0, tf.int32, [0]), tf.constant("", tf.string, [2, 0])]
        assert [(x.shape, x.dtype) for x in empty] == [([0], tf.int32), ([2, 0], tf.string)]
        assert tf.constant([1, 2], shape=[0]).dtype is tf.float32
        with pytest.raises(ValueError, match="Too many elements provided"):
            tf.constant([1, 2], shape=[1])
    # Eagerly they are TensorFlow 2's.
    assert tf.constant(7, shape=[0, 2]).dtype is tf.int32
    assert tf.constant(7, shape=[1, 2]).numpy().tolist() == [[7, 7]]
    with pytest.raises(TypeError, match="unsupported shape"):
        tf.constant([1, 2], shape=[2, 2])


def test_nothing_waits_for_a_variable_itself() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [2])
        assert session.run(tf.group(v.op, v.initializer)) is None
        with tf.control_dependencies([v.op]):
            assert session.run(tf.identity(v)).shape == (2,)


def test_neural_networks() -> None:
    labels = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], np.float32)
    nn = tf.nn
    np.testing.assert_allclose(nn.softmax(X, dim=0), tf2.nn.softmax(X, axis=0))
    np.testing.assert_allclose(nn.log_softmax(X), tf2.nn.log_softmax(X))
    expected = tf2.nn.softmax_cross_entropy_with_logits(labels, X)
    with tf2.GradientTape() as tape:
        y = tf2.constant(labels)
        tape.watch(y)
        loss = nn.softmax_cross_entropy_with_logits(labels=y, logits=X)
    np.testing.assert_allclose(loss, expected)
    assert tape.gradient(loss, y) is None
    with tf2.GradientTape() as tape:
        tape.watch(y)
        loss = nn.softmax_cross_entropy_with_logits_v2(y, X, dim=1)
    assert tape.gradient(loss, y) is not None
    np.testing.assert_allclose(
        nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=X),
        tf2.nn.sparse_softmax_cross_entropy_with_logits([0, 1], X),
    )
    np.testing.assert_allclose(
        nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=X),
        tf2.nn.sigmoid_cross_entropy_with_logits(labels, X),
    )
    with pytest.raises(ValueError, match="with named arguments"):
        nn.sigmoid_cross_entropy_with_logits(labels, X)
    mean, variance = nn.moments(tf.constant(X), [0], keep_dims=True)
    np.testing.assert_allclose(mean, X.mean(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(variance, X.var(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(nn.l2_normalize(X, dim=1), tf2.nn.l2_normalize(X, 1))
    assert nn.dropout(X, keep_prob=1.0).numpy().tolist() == X.tolist()
    with pytest.raises(ValueError, match="provide a rate"):
        nn.dropout(X)
    w, b = np.ones((3, 2), np.float32), np.array([1.0, -1.0], np.float32)
    np.testing.assert_allclose(nn.relu_layer(X, w, b), np.maximum(X @ w + b, 0))
    image, kernel = np.ones((1, 4, 4, 1), np.float32), np.ones((2, 2, 1, 1), np.float32)
    assert nn.conv2d(image, kernel, [1, 1, 1, 1], "VALID").numpy().max() == 4.0
    assert nn.conv2d(image, filters=kernel, strides=1, padding="SAME").shape == [1, 4, 4, 1]
    assert nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID").shape == [1, 2, 2, 1]
    assert nn.avg_pool(image, 2, 2, "SAME").numpy().tolist() == np.ones((1, 2, 2, 1)).tolist()


def test_placeholders_with_defaults() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(tf.constant([1.0, 2.0]), [None], name="x")
        assert (x.name, x.shape.as_list()) == ("x:0", [None])
        assert session.run(x * 2.0).tolist() == [2.0, 4.0]
        assert session.run(x * 2.0, {x: [5.0]}).tolist() == [10.0]
        with pytest.raises(ValueError, match="does not fit"):
            tf.placeholder_with_default([1.0], [2])
    assert float(tf.placeholder_with_default(2.0, [])) == 2.0


def test_placeholders_with_defaults_in_functions_forget_dimensions() -> None:
    @tf2.function
    def product() -> Any:
        x = tf.placeholder_with_default(tf.constant(X), [None, 3])
        y = tf2.matmul(x, tf2.ones([3, 1]))
        assert (x.shape.as_list(), y.shape.as_list()) == ([None, 3], [None, 1])
        return y, tf2.shape(x)

    y, shape = product()
    np.testing.assert_allclose(y, X.sum(1, keepdims=True))
    assert shape.numpy().tolist() == [2, 3]


def test_dimensions_of_placeholders_are_followed() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.placeholder(tf.float32, [None, 3])
        flat = tf.reshape(x, [tf.shape(x)[0], 3, 1])
        assert flat.shape.as_list() == [None, 3, 1]
        assert (x + y).shape.as_list() == [None, 3]


def test_switches_change_nothing() -> None:
    for name in ("resource_variables", "tensor_equality", "control_flow_v2"):
        getattr(tf, f"disable_{name}")()
        getattr(tf, f"enable_{name}")()
    assert tf.resource_variables_enabled() and tf.control_flow_v2_enabled()


def test_eager_forms_of_graph_functions() -> None:
    v = tf.Variable(1.0)
    assert isinstance(v, tf2.Variable) and issubclass(tf2.Variable, tf.Variable)
    assert tf.no_op() is None and tf.group(v.assign_add(1.0)) is None
    assert float(tf.assign(v, 4.0)) == 4.0
    assert bool(tf.is_variable_initialized(v))
    with tf.control_dependencies([v]):
        assert [float(x) for x in tf.tuple([v, v])] == [4.0, 4.0]
    assert tf.variables_initializer([]) is None
    assert tf.tables_initializer() is None


def test_the_main_function_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    with pytest.raises(SystemExit) as stopped:
        tf.app.run(lambda argv: seen.append(argv), ["program", "x"])
    assert seen == [["program", "x"]] and stopped.value.code is None
    import __main__

    monkeypatch.setattr(__main__, "main", lambda argv: 3, raising=False)
    with pytest.raises(SystemExit) as stopped:
        tf.app.run()
    assert stopped.value.code == 3


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.INFO)
    with caplog.at_level(python_logging.INFO, "tfx"):
        tf.logging.info("step %d", 3)
        tf.logging.warn("careful")
        tf.logging.error("wrong")
        tf.logging.log(tf.logging.FATAL, "end")
    assert [r.getMessage() for r in caplog.records] == ["step 3", "careful", "wrong", "end"]
    tf.logging.set_verbosity(before)


def test_older_operations(capfd: pytest.CaptureFixture[str]) -> None:
    assert tf.div(7, 2).numpy() == 3
    assert tf.div(7.0, 2.0).numpy() == 3.5
    assert float(tf.global_norm([tf.constant([3.0]), tf.constant([4.0])])) == 5.0
    assert tf.lin_space(0.0, 1.0, 3).numpy().tolist() == [0.0, 0.5, 1.0]
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto()) as session:
        x = tf.placeholder(tf.float32)
        both = tf.py_func(lambda a: (a + 1, a * 2), [x], [tf.float32, tf.float32])
        assert session.run(both, {x: 3.0}) == [4.0, 6.0]
        shown = tf.Print(x, [x * 2.0], message="twice: ")
        assert session.run(shown, {x: 4.0}) == 4.0
        assert "twice: [8]" in capfd.readouterr().err
        with pytest.raises(ValueError, match="every time"):
            tf.Print(x, [x], first_n=2)


def test_loops_of_one_variable() -> None:
    def count(start: list[Any], **kwargs: Any) -> Any:
        return tf.while_loop(lambda i: i < 3, lambda i: i + 1, start, **kwargs)

    def check() -> None:
        assert isinstance(count([tf.constant(0)]), tf.Tensor)
        assert isinstance(count([tf.constant(0)], return_same_structure=True), list)

    check()
    with tf.Graph().as_default(), tf.Session() as session:
        check()
        assert session.run(count([tf.constant(0)])) == 3
        pair = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, 1), name="w")
        assert session.run(pair) == (3, 8)


def test_branches_of_one_result() -> None:
    def choose(**kwargs: Any) -> Any:
        return tf.cond(tf.constant(True), lambda: [1], fn2=lambda: [2], **kwargs)

    assert (choose(), choose(strict=True)) == (1, [1])
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.cond(tf.constant(True), lambda: [tf.constant(1)], lambda: [tf.constant(2)])
        assert session.run(result) == [1]
        with pytest.raises(TypeError, match="'fn1'"):
            tf.cond(tf.constant(True), lambda: 1, lambda: 2, fn1=lambda: 1)


def test_templates_share_their_variables() -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        def layer(x: Any, units: int) -> Any:
            return tf.matmul(x, tf.get_variable("w", [x.shape[1], units]))

        dense = tf.make_template("dense", layer, units=2)
        other = tf.make_template("dense", layer, create_scope_now_=True, units=2)
        x = tf.ones([1, 3])
        a, b = dense(x), dense(x)
        other(x)
        assert [v.name for v in tf.global_variables()] == ["dense_1/w:0", "dense/w:0"]
        assert dense.variables == dense.trainable_variables == [tf.global_variables()[0]]
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(a), session.run(b))


def test_multinomial_has_the_dtype_that_is_asked_for() -> None:
    logits = [[-100.0, 0.0], [0.0, -100.0]]
    for multinomial in (tf.multinomial, tf.random.multinomial):
        drawn = multinomial(logits, 3, output_dtype=tf2.int32)
        assert (drawn.dtype, drawn.numpy().tolist()) == (tf2.int32, [[1, 1, 1], [0, 0, 0]])
        assert multinomial(logits, 3).dtype is tf2.int64
        assert multinomial(logits, 3, 1, "n", tf2.int32).dtype is tf2.int32
    for count in ([5], -1):
        with pytest.raises(tf2.errors.InvalidArgumentError, match="num_samples"):
            multinomial(logits, count)
