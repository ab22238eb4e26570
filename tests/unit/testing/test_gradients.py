"""check_grads passes right gradients of every order and fails wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tfx.framework.convert import constant
from tfx.ops.math.arithmetic import add, multiply
from tfx.ops.math.cast import cast, stop_gradient
from tfx.ops.math.elementwise import abs, exp, square
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.math.trigonometry import sin
from tfx.testing import check_grads


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (sin, [0.3]),
        (sin, [[[0.3, -1.0], [2.0, 0.0]]]),
        (sin, [constant([0.3])]),
        (multiply, [[0.5, 2.0], np.array([[1.0], [2.0]], np.float32)]),
        (lambda d: multiply(d["a"], exp(d["b"])), [{"a": constant(0.5), "b": constant([1.0])}]),
        (lambda x, n: multiply(x, cast(n, "float64")), [0.5, 3]),
        (lambda x: [sin(x), {"y": exp(x)}], [0.5]),
        (lambda x: (sin(x), cast(x, "int32")), [0.5]),
        (lambda x: reduce_sum(x), [np.zeros((0, 2))]),
    ],
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_gradients(f, args, order):
    check_grads(f, args, order=order)


def test_a_missing_part_is_found():
    with pytest.raises(AssertionError, match=r"order 1 by floating argument 0: .* by the tape"):
        check_grads(lambda x: multiply(x, stop_gradient(x)), [[1.0, 2.0]])


def test_the_argument_is_named():
    with pytest.raises(AssertionError, match="order 1 by floating argument 1"):
        check_grads(lambda n, x, y: add(x, stop_gradient(y)), [3, 1.0, 2.0])


def test_a_missing_second_order_is_found():
    def f(x):
        # x**2 with the right value and gradient, but a gradient that is a constant.
        return add(multiply(x, stop_gradient(multiply(x, 2.0))), stop_gradient(-square(x)))

    check_grads(f, [1.5], order=1)
    with pytest.raises(AssertionError, match="order 2 by floating argument 0"):
        check_grads(f, [1.5])


def test_one_wrong_element_of_many_is_found(rng):
    x = rng.standard_normal(1000)
    keep = np.ones(1000)
    keep[617] = 1.001
    wrong = constant(keep)
    with pytest.raises(AssertionError, match="order 1"):
        check_grads(lambda v: add(multiply(v, wrong), stop_gradient(multiply(v, 1.0 - wrong))), [x])


def test_kinks_are_not_smooth():
    with pytest.raises(AssertionError, match="order 1"):
        check_grads(abs, [1e-5])


@pytest.mark.parametrize(
    ("f", "args", "options", "message"),
    [
        (sin, [1.0], {"order": 0}, "order must be at least 1; got 0"),
        (sin, [1], {}, "needs a floating argument"),
        (lambda x: cast(x, "int32"), [1.0], {}, "needs a function with a floating result"),
    ],
)
def test_bad_arguments(f, args, options, message):
    with pytest.raises(ValueError, match=message):
        check_grads(f, args, **options)


def test_forward_mode():
    check_grads(lambda x, y: multiply(sin(x), exp(y)), [[0.3, 1.0], 0.5], modes=("fwd", "rev"))
    with pytest.raises(AssertionError, match=r"order 1 by floating argument 0: .* forward mode"):
        check_grads(lambda x: multiply(x, stop_gradient(x)), [[1.0, 2.0]], modes=("fwd",))
    with pytest.raises(ValueError, match=r"'fwd' and 'rev'; got \('forward',\)"):
        check_grads(sin, [0.3], modes=("forward",))
