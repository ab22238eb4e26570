"""``Dimension`` and the switch that makes shapes give it; what comes out is TensorFlow 2.21's."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Iterator

import pytest

import tfx as tf

v1 = tf.compat.v1
D = v1.Dimension
THREE, OPEN = D(3), D(None)


@pytest.fixture
def old_shapes() -> Iterator[None]:
    v1.disable_v2_tensorshape()
    yield
    v1.enable_v2_tensorshape()


@pytest.mark.usefixtures("old_shapes")
def test_shapes_give_dimensions() -> None:
    shape = tf.TensorShape([2, None, 3])
    assert [repr(d) for d in shape] == ["Dimension(2)", "Dimension(None)", "Dimension(3)"]
    assert [type(shape[i]) for i in range(3)] == [D] * 3
    assert (shape[0].value, shape[1].value, shape[-1].value) == (2, None, 3)
    assert repr(shape.dims) == "[Dimension(2), Dimension(None), Dimension(3)]"
    assert repr(shape[1:]) == "TensorShape([Dimension(None), Dimension(3)])"
    assert (str(shape), shape.as_list()) == ("(2, ?, 3)", [2, None, 3])
    unknown = tf.TensorShape(None)
    assert repr(unknown[0]) == "Dimension(None)" and unknown.dims is None
    assert repr(unknown[1:3]) == "TensorShape([Dimension(None), Dimension(None)])"
    with pytest.raises(ValueError, match="unknown rank"):
        list(unknown)


def test_switches_of_all_old_behavior() -> None:
    v1.disable_v2_behavior()
    try:
        x = v1.placeholder(tf.float32, [None, 3])
        assert (x.shape[0].value, x.get_shape()[1].value) == (None, 3)
        assert tf.matmul(x, tf.ones([x.shape[1], 2])).shape[1] == D(2)
    finally:
        v1.enable_v2_behavior()
        v1.reset_default_graph()
    assert tf.executing_eagerly() and type(tf.zeros([2]).shape[0]) is int


@pytest.mark.usefixtures("old_shapes")
def test_operations_and_traces_go_on_as_before() -> None:
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x):
        seen.extend(map(repr, x.shape))
        _, columns = x.shape
        flat = tf.reshape(x, [-1, columns * 1])
        return tf.matmul(flat, tf.ones([columns, 2])) + tf.zeros([2])

    with tf.GradientTape() as tape:
        w = tf.Variable(tf.ones([3, 4]))
        y = tf.nn.softmax(tf.matmul(tf.ones([2, 3]), w))
    assert tape.gradient(y, w).shape == [3, 4]
    assert f(tf.ones([2, 3])).numpy().tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert seen == ["Dimension(None)", "Dimension(3)"]


def test_the_switch_goes_back() -> None:
    v1.disable_v2_tensorshape()
    v1.enable_v2_tensorshape()
    assert list(tf.TensorShape([2, None])) == [2, None]
    assert repr(tf.TensorShape([2, None])) == "TensorShape([2, None])"


@pytest.mark.parametrize(
    ("compute", "text"),
    [
        (lambda: THREE + OPEN, "Dimension(None)"),
        (lambda: THREE + 2, "Dimension(5)"),
        (lambda: 2 + THREE, "Dimension(5)"),
        (lambda: 5 - THREE, "Dimension(2)"),
        (lambda: THREE * 2, "Dimension(6)"),
        (lambda: THREE // 2, "Dimension(1)"),
        (lambda: 7 // THREE, "Dimension(2)"),
        (lambda: 7 % THREE, "Dimension(1)"),
        (lambda: THREE + None, "Dimension(None)"),
        (lambda: THREE == 3, "True"),
        (lambda: THREE == OPEN, "None"),
        (lambda: THREE != OPEN, "None"),
        (lambda: OPEN == OPEN, "None"),
        (lambda: THREE != 3, "False"),
        (lambda: THREE < 4, "True"),
        (lambda: THREE <= OPEN, "None"),
        (lambda: THREE == "3", "False"),
        (lambda: int(THREE), "3"),
        (lambda: bool(OPEN), "False"),
        (lambda: list(range(THREE)), "[0, 1, 2]"),
        (lambda: THREE.merge_with(OPEN), "Dimension(3)"),
        (lambda: OPEN.merge_with(4), "Dimension(4)"),
        (lambda: THREE.is_compatible_with(4), "False"),
        (lambda: D(THREE), "Dimension(3)"),
        (lambda: pickle.loads(pickle.dumps(THREE)), "Dimension(3)"),
        (lambda: copy.deepcopy(OPEN), "Dimension(None)"),
    ],
    ids=range(26),
)
def test_dimensions(compute, text) -> None:
    assert repr(compute()) == text


@pytest.mark.parametrize(
    ("compute", "error"),
    [
        (lambda: D(-1), ValueError),
        (lambda: D("3"), TypeError),
        (lambda: D(3.0), TypeError),
        (lambda: int(OPEN), TypeError),
        (lambda: THREE.merge_with(4), ValueError),
        (lambda: THREE.assert_is_compatible_with(4), ValueError),
        (lambda: operator.truediv(THREE, 2), TypeError),
        (lambda: 2 / THREE, TypeError),
        (lambda: tf.convert_to_tensor(OPEN), ValueError),
        (lambda: tf.compat.dimension_at_index(tf.TensorShape([2]), 5), IndexError),
    ],
    ids=range(10),
)
def test_what_dimensions_refuse(compute, error) -> None:
    with pytest.raises(error):
        compute()


def test_dimensions_as_sizes() -> None:
    assert tf.TensorShape([THREE, None, OPEN]).as_list() == [3, None, None]
    assert tf.TensorSpec([THREE]).shape == [3]
    assert tf.zeros([THREE, 2]).shape == [3, 2]
    assert tf.reshape(tf.ones([6]), [THREE, -1]).shape == [3, 2]
    assert tf.broadcast_to(1.0, [THREE, D(2)]).shape == [3, 2]
    assert tf.constant([THREE, 2]).numpy().tolist() == [3, 2]
    assert tf.convert_to_tensor(THREE).dtype is tf.int32


def test_values_of_dimensions_of_both_forms() -> None:
    for module in (tf.compat, v1):
        assert [module.dimension_value(d) for d in (3, None, THREE, OPEN)] == [3, None, 3, None]
        assert repr(module.dimension_at_index(tf.TensorShape([2, None]), 0)) == "Dimension(2)"
        assert repr(module.dimension_at_index(tf.TensorShape(None), 7)) == "Dimension(None)"
