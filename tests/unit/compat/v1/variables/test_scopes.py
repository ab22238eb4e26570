"""``variable_scope`` and ``get_variable``; every expectation was compared with TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx
import tfx.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_and_name_scopes() -> None:
    with tf.variable_scope("s") as scope:
        v = tf.get_variable("v", [1])
        plain = tf.Variable(1.0)
        assert (scope.name, scope.original_name_scope) == ("s", "s/")
        assert [v.name, plain.name, (v + 1.0).name] == ["s/v:0", "s/Variable:0", "s/add:0"]
        with tf.variable_scope("t"):
            assert tf.get_variable("v", [1]).name == "s/t/v:0"
    with tf.variable_scope("s", reuse=True) as again:
        assert tf.get_variable("v") is v
        assert again.original_name_scope == "s_1/"
        assert (v + 1.0).name == "s_1/add:0"
    with tf.variable_scope(scope), tf.name_scope("n"):
        assert tf.get_variable_scope().name == "s"
        assert tf.get_variable("u", [1]).name == "s/u:0"
    with tf.name_scope("n"):
        assert tf.get_variable("w", [1]).name == "w:0"
    with tf.variable_scope("q", auxiliary_name_scope=False):
        assert tf.no_op().name == "NoOp"
        assert tf.get_variable("v", [1]).name == "q/v:0"


def test_default_names_are_unique() -> None:
    names = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer") as scope:
            names.append(scope.name)
            with tf.variable_scope(None, "inner") as inner:
                names.append(inner.name)
    assert names == ["layer", "layer/inner", "layer_1", "layer_1/inner"]


def test_reuse() -> None:
    with tf.variable_scope("s"):
        v = tf.get_variable("v", [1])
        with pytest.raises(
            ValueError, match=r"Variable s/v already exists, disallowed.*reuse=True"
        ):
            tf.get_variable("v", [1])
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable("v", [1]) is v
        with tf.variable_scope("inner"):
            assert tf.get_variable_scope().reuse
    with tf.variable_scope("s", reuse=True):
        with pytest.raises(ValueError, match="s/w does not exist, or was not created with"):
            tf.get_variable("w", [1])
        with pytest.raises(ValueError, match=r"specified shape \(2,\) and found shape \(1,\)"):
            tf.get_variable("v", [2])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32"):
            tf.get_variable("v", dtype=tf.int32)
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v", [1]) is v
        made = tf.get_variable("w", [1])
        assert tf.get_variable("w", [1]) is made
        with tf.variable_scope("deeper", reuse=False):
            assert tf.get_variable_scope().reuse is tf.AUTO_REUSE


def test_defaults_of_a_scope() -> None:
    start = tf.constant_initializer(3.0)
    with tf.variable_scope("s", initializer=start, dtype=tf.float64):
        a = tf.get_variable("a", [2])
        with tf.variable_scope("t", dtype=tf.float16):
            b = tf.get_variable("b", [1])
            c = tf.get_variable("c", [1], initializer=tf.ones_initializer(), dtype=tf.float32)
    assert [v.dtype for v in (a, b, c)] == [tf.float64, tf.float16, tf.float32]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([a, b, c])
    assert [x.tolist() for x in found] == [[3.0, 3.0], [3.0], [1.0]]


def test_initializers() -> None:
    kinds = {
        "glorot": tf.get_variable("glorot", [400, 200]),
        "ints": tf.get_variable("ints", [2], tf.int32),
        "truth": tf.get_variable("truth", [2], tf.bool),
        "text": tf.get_variable("text", [2], tf.string),
        "constant": tf.get_variable("constant", initializer=[1.0, 2.0]),
        "tensor": tf.get_variable("tensor", initializer=tf.ones([3])),
        "function": tf.get_variable("function", initializer=lambda: tf.fill([2], 7)),
        "kind": tf.get_variable("kind", [2], initializer=tf.ones_initializer),
        "plain": tf.get_variable(
            "plain", [2], initializer=lambda shape, dtype: tf.ones(shape, dtype)
        ),
        "partition": tf.get_variable(
            "partition", [1], initializer=lambda s, dtype=None, partition_info=None: tf.zeros(s)
        ),
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(kinds)
    limit = np.sqrt(6 / 600)
    assert abs(found["glorot"]).max() <= limit * 1.0001
    assert found["glorot"].std() == pytest.approx(limit / np.sqrt(3), rel=0.05)
    assert found["ints"].tolist() == [0, 0]
    assert found["truth"].tolist() == [False, False]
    assert found["text"].tolist() == [b"", b""]
    assert found["constant"].tolist() == [1.0, 2.0]
    assert found["function"].tolist() == [7, 7]
    assert found["kind"].tolist() == found["plain"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "did not get an initializer, so its `shape` argument must be specified"),
        ({"shape": [2], "initializer": [1.0, 2.0]}, ValueError, "constant, do not specify shape"),
        ({"shape": [None, 2]}, ValueError, "fully defined, but instead was"),
        ({"initializer": tf.zeros_initializer()}, ValueError, "needs a shape"),
        ({"initializer": 1.0, "dtype": tf.int32}, ValueError, "don't match"),
        ({"shape": [2], "partitioner": 3}, ValueError, "must be callable"),
    ],
)
def test_what_get_variable_refuses(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tf.get_variable("v", **options)


def test_what_variable_scope_refuses() -> None:
    with pytest.raises(TypeError, match="name_or_scope is required"):
        tf.variable_scope(None)
    with pytest.raises(ValueError, match="must be True or False or None"):
        tf.variable_scope("x", reuse="yes")
    with pytest.raises(TypeError, match="must be a string or VariableScope"):
        tf.variable_scope(3)
    with pytest.raises(ValueError, match="without a name_or_scope"):
        tf.variable_scope(None, "x", reuse=True)


def test_collections_and_trainable() -> None:
    a = tf.get_variable("a", [1])
    b = tf.get_variable("b", [1], trainable=False, collections=["mine"])
    c = tf.get_local_variable("c", [1])
    assert tf.global_variables() == [a]
    assert tf.trainable_variables() == [a]
    assert tf.get_collection("mine") == [b]
    assert tf.local_variables() == [c]
    with tf.variable_scope("s") as scope:
        d = tf.get_variable("d", [1])
        assert scope.global_variables() == scope.trainable_variables() == [d]
    assert tf.global_variables("s/") == [d]


def test_regularizers_are_collected() -> None:
    with tf.variable_scope("s", regularizer=lambda w: 0.5 * tf.reduce_sum(w * w)):
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        tf.get_variable("b", [1], regularizer=tf.no_regularizer)
    (loss,) = tf.losses.get_regularization_losses()
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("w", dtype=tf.float32)
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(loss) == 2.5
        assert session.run(tf.losses.get_regularization_loss()) == 2.5


def test_custom_getters() -> None:
    seen = []

    def outer(getter, name, *args, **kwargs):
        seen.append(("outer", name))
        return getter(name, *args, **kwargs)

    def inner(getter, name, shape, **kwargs):
        seen.append(("inner", name))
        return getter(name + "_x", shape, **kwargs) * 2.0

    with tf.variable_scope("s", custom_getter=outer), tf.variable_scope("t", custom_getter=inner):
        doubled = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    assert seen == [("inner", "s/t/v"), ("outer", "s/t/v_x")]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(doubled).tolist() == [2.0, 2.0]


def test_as_a_decorator() -> None:
    @tf.variable_scope("s", reuse=tf.AUTO_REUSE)
    def layer():
        return tf.get_variable("v", [1])

    assert layer() is layer()


def test_in_eager_code() -> None:
    with tfx.init_scope():
        with tf.variable_scope("s"):
            v = tf.get_variable("v", initializer=[1.0])
        assert isinstance(v, tfx.Variable)
        assert v.name == "s/v:0"
        assert float(v[0]) == 1.0
        with tf.variable_scope("s", reuse=True), pytest.raises(RuntimeError, match="eager"):
            tf.get_variable("v", [1])


def test_arguments_stand_in_tensorflows_order() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        ones = tf.ones_initializer()
        v = tf.get_variable("v", [2], tf.float32, ones, None, False, ["own"])
        local = tf.get_local_variable("l", [1], tf.int32, ones)
        session.run([v.initializer, local.initializer])
        assert session.run(v).tolist() == [1, 1]
        assert (tf.get_collection("own"), tf.trainable_variables()) == ([v], [])
        assert tf.local_variables() == [local]
        with tf.variable_op_scope([], "scope", None, ones):
            w = tf.get_variable("w", [1])
        session.run(w.initializer)
        assert session.run(w).tolist() == [1]
