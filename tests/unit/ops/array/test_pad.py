"""``pad`` against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import INTEGERS
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.array.pad import pad
from tfx.testing import assert_close, check_grads

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) + 1
MODES = ["CONSTANT", "REFLECT", "SYMMETRIC"]
PADDINGS = [[[0, 0], [1, 2], [3, 0]], [[1, 1], [0, 0], [0, 3]], [[0, 0]] * 3]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("paddings", PADDINGS, ids=str)
def test_modes(paddings, mode):
    expected = np.pad(X, paddings, mode.lower())
    check(lambda x: pad(x, paddings, mode), [X], expected)
    check(lambda x, p: pad(x, p, mode), [X, np.array(paddings, np.int32)], expected)
    check_grads(lambda x: pad(x, paddings, mode) ** 2.0, [X])


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_unknown_shape(mode):
    def f(x, p):
        with GradientTape() as tape:
            tape.watch(x)
            y = pad(x, p, mode)
            y = y * y
        return tape.gradient(y, x)

    paddings = np.array(PADDINGS[0])
    copies = np.pad(
        np.arange(24).reshape(2, 3, 4),
        paddings,
        mode.lower(),
        **({"constant_values": 24} if mode == "CONSTANT" else {}),
    )
    counts = np.bincount(copies.reshape(-1), minlength=25)[:24].reshape(X.shape)
    check(f, [X, paddings], (2 * X * counts).astype(np.float32))


def test_symmetric_up_to_the_whole_length():
    check(
        lambda x: pad(x, [[2, 2], [3, 3], [4, 4]], "symmetric"),
        [X],
        np.pad(X, [[2, 2], [3, 3], [4, 4]], "symmetric"),
    )


def test_constant_values():
    check(
        lambda x: pad(x, [[1, 0]], constant_values=7),
        [X[0, 0]],
        np.pad(X[0, 0], [1, 0], constant_values=7),
    )
    check_grads(
        lambda x, c: pad(x, [[1, 2], [0, 1]], constant_values=c) ** 2.0, [X[0], np.array(3.0)]
    )


def test_edge_mode_of_imported_graphs():
    pads = constant([1, 0, 0, 2], "int64")
    check_grads(lambda x: apply("Pad", (x, pads), {"mode": "edge"}) ** 2.0, [X[0]])
    pads, axes = constant([1, 2], "int64"), constant([-1], "int64")
    for mode in ("constant", "reflect", "edge", "wrap"):
        check_grads(lambda x, m=mode: apply("Pad", (x, pads, None, axes), {"mode": m}) ** 2.0, [X])


def test_nothing_and_scalars():
    assert_close(pad(np.zeros((0, 2), np.float32), [[1, 1], [0, 0]]), np.zeros((2, 2)))
    assert_close(pad(3.0, np.zeros((0, 2), np.int32)), 3.0)


DTYPES = ["float16", "bfloat16", "float64", *INTEGERS, "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_dtypes(mode, dtype):
    x = constant(X % 2 == 0 if dtype == "bool" else X, dtype)
    paddings = PADDINGS[0]
    assert_close(pad(x, paddings, mode), np.pad(np.asarray(x), paddings, mode.lower()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 1]],), "The first dimension of paddings must be the rank of inputs"),
        (([1, 1],), "The first dimension of paddings must be the rank of inputs"),
        (([[1, 1], [-1, 0]],), "Paddings must be non-negative: -1 0"),
        (([[2, 1], [1, 0]], "REFLECT"), "paddings must be less than the dimension size: 2, 1"),
        (([[3, 1], [1, 0]], "SYMMETRIC"), "paddings must be no greater than the dimension size"),
        (([[1.0, 1.0], [1.0, 1.0]],), "Value for attr 'Tpaddings' of float32"),
    ],
)
def test_bad_paddings(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        pad([[1, 2, 3], [4, 5, 6]], *arguments)


def test_other_errors():
    with pytest.raises(ValueError, match="`mode` expected to be one of"):
        pad([1], [[1, 1]], "EDGE")
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5"):
        pad([1], [[1, 1]], constant_values=1.5)


@pytest.mark.parametrize("traced", [False, True])
def test_floating_tensors_in_lists_of_integers_are_cast(traced):
    """As TensorFlow 2.21 does for operations whose integers have a default dtype."""

    def f(one):
        zero = one - 1.0
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        return (
            tf.pad(x, [[one + 0.9, 0], [0, 0]]),
            tf.one_hot([one, 0], 3),
            tf.dynamic_partition(x, [zero, one], 2)[1],
            tf.math.invert_permutation([one, zero]),
            tf.unravel_index([one, 3], [2, 2]),
        )

    found = (tf.function(f) if traced else f)(tf.constant(1.0))
    expected = [
        [[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
        [[3.0, 4.0]],
        [1, 0],
        [[0, 1], [1, 1]],
    ]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.pad(tf.ones([2]), [[1.0, 0.0]]),
        lambda: tf.pad(tf.ones([2]), tf.constant([[1.0, 0.0]])),
        lambda: tf.one_hot([1.0, 0.0], 3),
        lambda: tf.one_hot(tf.constant([1.0]), 3),
    ],
    ids=["list", "tensor", "list of indices", "tensor of indices"],
)
def test_floats_and_floating_tensors_alone_are_not_cast(call):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the list of allowed"):
        call()


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("known", [True, False])
def test_what_mirrored_borders_get_goes_to_what_they_mirror(mode, known):
    pads = [[2, 3], [0, 1], [3, 0]]
    x = tf.constant(np.random.default_rng(0).normal(size=(4, 2, 5)).astype(np.float32))
    numbers = np.pad(np.arange(40).reshape(4, 2, 5), pads, mode.lower())
    weights = np.random.default_rng(1).normal(size=numbers.shape).astype(np.float32)

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.pad(x, pads, mode) * weights)
        return tape.gradient(y, x)

    expected = np.bincount(numbers.ravel(), weights.ravel(), 40).reshape(4, 2, 5)
    spec = None if known else [tf.TensorSpec([None] * 3)]
    for function in [slope] * known + [tf.function(slope, input_signature=spec)]:
        np.testing.assert_allclose(function(x), expected, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("paddings", [[[1, 0], [2, 1]], [[0, 0], [0, 2]], [[0, 0]] * 2], ids=str)
def test_strings(paddings, mode):
    words = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    border = {"constant_values": ""} if mode == "CONSTANT" else {}
    expected = np.pad(words, paddings, mode.lower(), **border)
    signature = [tf.TensorSpec([None, None], tf.string), tf.TensorSpec([2, 2], tf.int32)]
    open_sizes = tf.function(lambda x, p: pad(x, p, mode), input_signature=signature)
    for found in (pad(words, paddings, mode), open_sizes(words, paddings)):
        assert np.char.decode(found.numpy().astype(bytes)).tolist() == expected.tolist()


def test_strings_of_a_border():
    assert pad(["a"], [[1, 2]], constant_values="x").numpy().tolist() == [b"x", b"a", b"x", b"x"]
    assert tf.pad(tf.zeros([0], tf.string), [[1, 0]]).numpy().tolist() == [b""]
