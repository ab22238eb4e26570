"""Gradients of ``Col2Im`` and ``MaxUnpool``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import linear_slopes, numbers, operator, probes
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply, apply_n
from tfx.framework.convert import constant

# columns, image, block, attributes
COLUMNS = [
    ((1, 2 * 6, 15), (5, 6), (3, 2), {}),
    ((2, 6, 16), (7, 6), (3, 2), {"pads": (1, 0, 2, 1), "strides": (2, 1), "dilations": (1, 3)}),
    ((1, 8, 18), (4, 4, 3), (2, 2, 2), {}),
    ((1, 4, 3), (4,), (2,), {}),
]


@pytest.mark.parametrize("case", COLUMNS, ids=range(len(COLUMNS)))
def test_col2im(case):
    shape, image, block, attrs = case
    x = numbers(1, *shape).astype(np.float32)
    others = [np.array(image), np.array(block)]
    matrix = linear_slopes("Col2Im", attrs, [x, *others])
    f = operator("Col2Im", attrs, *others)
    y = f(constant(x))
    seed = numbers(99, *y.shape).astype(np.float32)
    expected = (matrix @ seed.reshape(-1)).reshape(shape)
    found = probes(f, [x], (0,))
    np.testing.assert_allclose(found, [(expected * numbers(7, *shape)).sum()], rtol=1e-4)


def test_col2im_as_torch():
    f = operator("Col2Im", {}, np.array([5, 5]), np.array([3, 2]))
    found = probes(f, [numbers(1, 2, 18, 12).astype(np.float32)], (0,))
    np.testing.assert_allclose(found, [7.50387500203], rtol=1e-5)


def test_col2im_of_unknown_sizes():
    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = operator("Col2Im", {}, np.array([5, 5]), np.array([3, 2]))(x)
            z = y * y
        return tape.gradient(z, x)

    x = numbers(1, 2, 18, 12).astype(np.float32)
    np.testing.assert_allclose(run_traced(slope, x), slope(constant(x)).numpy(), rtol=1e-5)


def places_of_maxima(x):
    return apply_n("MaxPool", (x,), {"kernel_shape": (2, 2), "strides": (2, 2)}, 2)[1]


def test_max_unpool_as_torch():
    where = places_of_maxima(constant(numbers(1, 2, 3, 4, 4).astype(np.float32)))
    attrs = {"kernel_shape": (2, 2), "strides": (2, 2)}
    f = operator("MaxUnpool", attrs, where.numpy())
    found = probes(f, [numbers(5, 2, 3, 2, 2).astype(np.float32)], (0,))
    np.testing.assert_allclose(found, [-1.74412753365], rtol=1e-5)


def test_max_unpool_to_a_given_shape():
    attrs = {"kernel_shape": (2, 2), "strides": (2, 2)}
    where, shape = np.array([[[[5, 7], [13, 15]]]]), np.array([1, 1, 5, 5])
    x = numbers(5, 1, 1, 2, 2).astype(np.float32)
    with GradientTape() as tape:
        source = constant(x)
        tape.watch(source)
        y = apply("MaxUnpool", (source, constant(where), constant(shape)), attrs)
    seed = numbers(6, 1, 1, 5, 5).astype(np.float32)
    found = tape.gradient(y, source, output_gradients=constant(seed)).numpy()
    np.testing.assert_array_equal(found.reshape(-1), seed.reshape(-1)[where.reshape(-1)])
