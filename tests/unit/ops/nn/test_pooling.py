"""Pools and their gradients against loops over the taps."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops import sliding
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.nn import pooling as module
from tfx.testing import assert_close, check_grads

KINDS = {"MAX": module.max_pool, "AVG": module.avg_pool}
# input shape, window, strides
CASES = [
    *(((2, 7, 8, 3), k, s) for k in (2, 3) for s in (1, 2, 3)),
    ((2, 7, 8, 3), [1, 2, 3, 1], [1, 3, 2, 1]),
    ((2, 9, 3), 3, 2),
    ((1, 5, 4, 6, 2), 2, 2),
    ((1, 5, 4, 6, 2), [3, 2, 3], 1),
]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_loops(case, kind, padding, rng):
    shape, ksize, strides = case
    x = rng.standard_normal(shape)

    def f(x):
        return KINDS[kind](x, ksize, strides, padding)

    expected = sliding.pool(kind, x, ksize, strides, padding)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    assert_close(run_traced(f, x, static=True), expected)


def separate(shape, rng):
    """Numbers far enough apart that no difference step changes which is the largest."""
    return rng.permutation(np.prod(shape)).reshape(shape) * 0.1


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES[::2], ids=str)
def test_gradients(case, kind, padding, rng):
    shape, ksize, strides = case
    x = separate(shape, rng)

    def f(x):
        return KINDS[kind](x, ksize, strides, padding)

    check_grads(f, [x])
    weights = rng.standard_normal(f(x).shape.as_list())

    def gradient(x):
        with GradientTape() as tape:
            tape.watch(x)
            loss = reduce_sum(f(x) * weights)
        return tape.gradient(loss, x)

    assert_close(run_traced(gradient, x), gradient(constant(x)))


def test_the_first_of_equal_values_gets_the_gradient():
    x = constant(np.zeros((1, 2, 2, 1)))
    with GradientTape() as tape:
        tape.watch(x)
        y = module.max_pool(x, 2, 2, "VALID")
    assert_close(tape.gradient(y, x), [[[[1.0], [0.0]], [[0.0], [0.0]]]])


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.int8, np.uint8, np.int16],
)
def test_dtypes_of_max_pool(dtype):
    x = np.arange(16).reshape(1, 4, 4, 1).astype(dtype)
    result = module.max_pool(x, 2, 2, "VALID")
    assert result.dtype == dtype
    assert_close(result, np.array([5, 7, 13, 15], dtype).reshape(1, 2, 2, 1))


def test_named_forms(rng):
    shapes = {"1d": (2, 9, 3), "2d": (2, 6, 7, 3), "3d": (1, 4, 4, 4, 2)}
    for suffix, shape in shapes.items():
        x = rng.standard_normal(shape)
        for name, kind in (("max_pool", "MAX"), ("avg_pool", "AVG")):
            f = getattr(module, name + suffix)
            expected = sliding.pool(kind, x, 2, 2, "SAME")
            assert_close(f(x, 2, 2, "SAME"), expected)
            first = f(np.moveaxis(x, -1, 1), 2, 2, "SAME", "NC" + "DHW"[5 - x.ndim :])
            assert_close(first, np.moveaxis(expected, -1, 1))


def test_pool_by_name_with_dilation(rng):
    x = rng.standard_normal((1, 9, 9, 2))
    expected = sliding.pool("MAX", x, 2, 1, "VALID", 2)
    assert_close(module.pool(x, [2, 2], "MAX", dilations=[2, 2]), expected)
    assert_close(module.pool(x, [3, 3], "AVG", 2, "SAME"), sliding.pool("AVG", x, 3, 2, "SAME"))
    with pytest.raises(ValueError, match="'MAX' or 'AVG'"):
        module.pool(x, [2, 2], "MIN")


@pytest.mark.parametrize("batch", [False, True])
def test_argmax_indexes_the_images(batch, rng):
    x = separate((2, 5, 6, 3), rng)
    y, where = module.max_pool_with_argmax(x, 2, 2, "SAME", include_batch_in_index=batch)
    assert where.dtype == np.int64
    flat = x.reshape(-1) if batch else x.reshape(2, -1)
    found = (
        flat[where.numpy()]
        if batch
        else np.take_along_axis(flat, where.numpy().reshape(2, -1), 1).reshape(y.shape.as_list())
    )
    assert_close(found, y)


@pytest.mark.parametrize(
    "attrs",
    [
        {"pads": (1, 1, 1, 1), "count_include_pad": 1},
        {"pads": (1, 0, 0, 1)},
        {"strides": (2, 2), "ceil_mode": 1},
        {"strides": (2, 2), "ceil_mode": 1, "pads": (1, 1, 0, 0), "count_include_pad": 1},
        {"auto_pad": "SAME_LOWER", "strides": (2, 2)},
    ],
)
def test_gradient_of_imported_average_pools(attrs, rng):
    x = rng.standard_normal((1, 2, 6, 6)).astype(np.float32)

    def f(x):
        return apply("AveragePool", (x,), {"kernel_shape": (3, 3), **attrs})

    tolerance = {"eps": 0.5, "rtol": 1e-3, "atol": 1e-3, "order": 1}
    check_grads(f, [x], **tolerance)


def test_gradient_of_the_global_average_pool(rng):
    check_grads(lambda x: apply("GlobalAveragePool", (x,)), [rng.standard_normal((2, 3, 4, 5))],
                eps=0.5, rtol=1e-3, atol=1e-3)  # fmt: skip


@pytest.mark.parametrize(
    ("x", "ksize", "message"),
    [((2, 3), 2, "rank 3, 4 or 5"), ((1, 1, 2, 1), 3, "would be negative"),
     ((1, 4, 4, 1), [1, 2, 2], "length 1, 2 or 4")],
)  # fmt: skip
def test_errors(x, ksize, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.max_pool(np.ones(x), ksize, 1, "VALID")


def test_an_average_of_integers_is_refused():
    with pytest.raises(InvalidArgumentError, match="floating"):
        module.avg_pool(np.ones((1, 2, 2, 1), np.int32), 2, 2, "VALID")
