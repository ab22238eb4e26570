"""Binary operators: values against NumPy, dtype rules, broadcasting, errors, gradients."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.testing import check_grads

FLOATS = [np.float16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SHAPES = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((1,), (0,))]

SMOOTH = {
    "add": (tf.add, np.add),
    "subtract": (tf.subtract, np.subtract),
    "multiply": (tf.multiply, np.multiply),
    "divide": (tf.divide, np.divide),
    "maximum": (tf.maximum, np.maximum),
    "minimum": (tf.minimum, np.minimum),
    "floormod": (tf.math.floormod, np.mod),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("name", SMOOTH)
def test_floats(name, left, right, dtype, rng):
    ours, reference = SMOOTH[name]
    x = rng.uniform(-3, 3, left).astype(dtype)
    y = (rng.uniform(0.5, 2, right) * rng.choice([-1, 1], right)).astype(dtype)
    result = ours(tf.constant(x), tf.constant(y))
    expected = reference(x, y)
    assert result.dtype == dtype
    assert result.shape == expected.shape
    np.testing.assert_allclose(
        result.numpy(),
        expected,
        rtol=4 * np.finfo(dtype).eps,
        atol=1e-3 if dtype is np.float16 else 1e-6,
    )


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("ours", "reference"),
    [
        (tf.add, np.add),
        (tf.multiply, np.multiply),
        (tf.maximum, np.maximum),
        (tf.minimum, np.minimum),
        (tf.math.floordiv, np.floor_divide),
        (tf.math.floormod, np.mod),
    ],
)
def test_integers_over_their_range(ours, reference, dtype, rng):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 200, dtype, endpoint=True)
    y = rng.integers(info.min, info.max, 200, dtype, endpoint=True)
    y[y == 0] = 1
    with np.errstate(over="ignore"):
        expected = reference(x, y)
    np.testing.assert_array_equal(ours(tf.constant(x), tf.constant(y)).numpy(), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_division_that_does_not_fit_wraps(dtype):
    lowest = np.iinfo(dtype).min
    quotient = tf.constant([lowest], dtype) // tf.constant([-1], dtype)
    assert quotient.numpy().tolist() == [lowest]
    traced = tf.function(operator.floordiv)
    assert traced(tf.constant([lowest], dtype), tf.constant([-1], dtype)).numpy() == [lowest]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.int8, np.float32),
        (np.uint16, np.float32),
        (np.int32, np.float64),
        (np.uint64, np.float64),
    ],
)
def test_true_division_of_integers(dtype, expected):
    result = tf.constant([7], dtype) / tf.constant([2], dtype)
    assert result.dtype == expected
    assert result.numpy().tolist() == [3.5]


@pytest.mark.parametrize("op", [operator.floordiv, operator.mod, operator.truediv])
def test_integer_division_by_zero(op):
    if op is operator.truediv:
        assert np.isinf(op(tf.constant([1]), tf.constant([0])).numpy()).all()
        return
    with pytest.raises(InvalidArgumentError, match=r"[Ii]nteger .*by zero"):
        op(tf.constant([1, 2]), tf.constant([1, 0]))
    traced = tf.function(op)
    with pytest.raises(InvalidArgumentError, match=r"[Ii]nteger .*by zero"):
        traced(tf.constant([1, 2]), tf.constant([1, 0]))


def test_power():
    x = np.array([0.5, 2.0, 3.0])
    np.testing.assert_allclose(tf.pow(tf.constant(x), 2.5).numpy(), x**2.5)
    assert (tf.constant([2, 3]) ** 3).numpy().tolist() == [8, 27]
    assert (2 ** tf.constant([2, 3])).numpy().tolist() == [4, 8]


def test_python_and_numpy_operands_follow_the_tensor():
    half = tf.constant([1.0], tf.float16)
    for result in (half + 1, 1.5 * half, half - np.float64(2.0), np.array([2.0]) / half):
        assert result.dtype == tf.float16
    assert (tf.constant([1], tf.int64) + 1).dtype == tf.int64


@pytest.mark.parametrize("name", ["add", "mul", "matmul", "pow", "floordiv"])
def test_classes_that_compute_with_tensors_are_asked(name):
    def reflected(self, other):
        return name, other

    known = type("Known", (), {f"__r{name}__": reflected})()
    other = type("Other", (), {})()
    compute = getattr(operator, name)
    x = tf.constant([1.0])
    assert compute(x, known)[0] == name and compute(x, known)[1] is x
    with pytest.raises(ValueError, match="Other"):
        compute(x, other)


def test_dtypes_do_not_mix():
    with pytest.raises(DTypeMismatchError, match="int32 tensor"):
        tf.constant([1.0]) + tf.constant([1])
    with pytest.raises(TypeError, match=r"Cannot convert 2.5 to EagerTensor of dtype int32"):
        tf.constant([1]) + 2.5
    with pytest.raises(InvalidArgumentError):
        tf.add(tf.constant(1.0), tf.constant(1.0, tf.float64))


def test_shapes_that_do_not_broadcast_name_the_line():
    with pytest.raises(
        InvalidArgumentError, match=r"float32\[2\], float32\[3\].*test_arithmetic.py"
    ):
        tf.add([1.0, 2.0], [1.0, 2.0, 3.0])


def test_strings_are_concatenated():
    result = tf.constant(["a", "b"]) + tf.constant("c")
    assert result.numpy().tolist() == [b"ac", b"bc"]
    assert tf.add("x", ["y"]).numpy().tolist() == [b"xy"]


def test_sum_of_several():
    assert tf.add_n([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy().tolist() == [4, 6]
    with pytest.raises(ValueError, match="at least one"):
        tf.add_n([])
    with pytest.raises(ValueError, match=r"one shape and dtype"):
        tf.add_n([tf.constant([1.0, 2.0]), tf.constant([1.0])])


@pytest.mark.parametrize(
    ("left", "right"), [((), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((3,), ())]
)
@pytest.mark.parametrize("name", [*SMOOTH, "pow"])
def test_gradients(name, left, right, rng):
    ours = SMOOTH[name][0] if name in SMOOTH else tf.pow
    low = 0.6 if name == "pow" else -2.0
    x = rng.uniform(low, 2, left)
    y = rng.uniform(0.7, 1.9, right)
    order = 1 if name in ("maximum", "minimum", "floormod") else 2
    check_grads(ours, (tf.constant(x), tf.constant(y)), order=order)


def test_gradient_of_a_tie_goes_to_the_first():
    x, y = tf.constant([1.0]), tf.constant([1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = tf.maximum(x, y)
    assert tape.gradient(z, x).numpy().tolist() == [1.0]
    assert tape.gradient(z, y).numpy().tolist() == [0.0]


def test_gradient_of_power_at_zero_is_finite():
    x = tf.constant([0.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x ** tf.constant([0.0, 2.0])
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 0.0]


def test_gradients_with_unknown_shapes(rng):
    spec = tf.TensorSpec([None, None], tf.float64)

    @tf.function(input_signature=[spec, spec])
    def gradients(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = x * y
        return tape.gradient(z, [x, y])

    x, y = rng.uniform(size=(2, 1)), rng.uniform(size=(1, 3))
    dx, dy = gradients(x, y)
    np.testing.assert_allclose(dx.numpy(), np.broadcast_to(y.sum(), (2, 1)))
    np.testing.assert_allclose(dy.numpy(), np.broadcast_to(x.sum(), (1, 3)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_add_n_gives_the_same_numbers_traced_and_eagerly(dtype, count):
    rng = np.random.default_rng(count)
    arrays = [(rng.standard_normal((3, 4)) * 100).astype(dtype) for _ in range(count)]
    tensors = [tf.constant(a) for a in arrays]
    expected = arrays[0]
    for a in arrays[1:]:
        expected = expected + a  # in this order
    traced = tf.function(lambda given: tf.add_n(given))
    np.testing.assert_array_equal(tf.add_n(tensors).numpy(), expected)
    np.testing.assert_array_equal(traced(tensors).numpy(), expected)


def test_add_n_of_a_traced_function_has_gradients():
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    traced = tf.function(lambda a, b: tf.add_n([a, b, a * b, a]))
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        total = traced(x, y)
    dx, dy = tape.gradient(total, [x, y])
    np.testing.assert_array_equal(dx.numpy(), [5.0, 6.0])
    np.testing.assert_array_equal(dy.numpy(), [2.0, 3.0])


def test_add_n_of_a_trace_refuses_other_shapes():
    with pytest.raises(tf.errors.InvalidArgumentError, match="one shape"):
        tf.function(lambda a, b: tf.add_n([a, a, b]))(tf.zeros([2]), tf.zeros([3]))


def test_add_n_of_a_tensor_adds_its_rows():
    assert tf.add_n(tf.constant([[1, 2], [3, 4]])).numpy().tolist() == [4, 6]
    assert tf.add_n(tf.constant(x) for x in (1, 2)).numpy() == 3
