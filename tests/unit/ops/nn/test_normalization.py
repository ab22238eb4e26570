"""Moments and normalization against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.nn import normalization as module
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [[0], [0, 1], [-1], [0, 1, 2]])
def test_moments(axes, keepdims, rng):
    x = rng.standard_normal((2, 3, 4))

    def f(x):
        return module.moments(x, axes, keepdims=keepdims)

    expected = x.mean(tuple(axes), keepdims=keepdims), x.var(tuple(axes), keepdims=keepdims)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    check_grads(f, [x])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_small_floats_are_computed_in_float32(dtype):
    x = np.full((1000,), 256.0).astype(dtype)
    mean, variance = module.moments(x, [0])
    assert mean.dtype == dtype
    assert_close((mean, variance), (dtype(256.0), dtype(0.0)))


def test_weighted_moments(rng):
    x, weights = rng.standard_normal((3, 4)), rng.uniform(0.5, 2.0, (3, 1))
    full = np.broadcast_to(weights, x.shape)
    mean = np.average(x, 0, full)
    variance = np.average((x - mean) ** 2, 0, full)
    assert_close(module.weighted_moments(x, [0], weights), (mean, variance))
    kept = module.weighted_moments(x, [0], weights, keepdims=True)
    assert_close(kept, (mean[None], variance[None]))
    check_grads(lambda x, w: module.weighted_moments(x, [0], w), [x, weights])


@pytest.mark.parametrize("shift", [None, 0.5])
def test_sufficient_statistics_give_the_moments(shift, rng):
    x = rng.standard_normal((3, 4))
    statistics = module.sufficient_statistics(x, [0], shift)
    assert_close(module.normalize_moments(*statistics), (x.mean(0), x.var(0)))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
def test_batch_normalization(scaled, shifted, rng):
    x, mean = rng.standard_normal((2, 5, 3)), rng.standard_normal(3)
    variance, scale, offset = rng.uniform(0.5, 2.0, (3, 3))
    args = [x, mean, variance, *([offset] if shifted else []), *([scale] if scaled else [])]

    def f(x, mean, variance, *rest):
        rest = list(rest)
        beta = rest.pop(0) if shifted else None
        return module.batch_normalization(x, mean, variance, beta, rest[0] if rest else None, 1e-3)

    expected = (x - mean) / np.sqrt(variance + 1e-3)
    expected = expected * (scale if scaled else 1.0) + (offset if shifted else 0.0)
    assert_close(f(*args), expected)
    assert_close(run_traced(f, *args), expected)
    check_grads(f, args)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_fused_batch_norm(data_format, rng):
    x = (
        rng.standard_normal((2, 3, 4, 5))
        if data_format == "NHWC"
        else (rng.standard_normal((2, 5, 3, 4)))
    )
    scale, offset = rng.standard_normal((2, 5))
    images = x if data_format == "NHWC" else np.moveaxis(x, 1, -1)
    mean, variance = images.mean((0, 1, 2)), images.var((0, 1, 2))
    expected = (images - mean) / np.sqrt(variance + 1e-3) * scale + offset
    expected = expected if data_format == "NHWC" else np.moveaxis(expected, -1, 1)
    count = images[..., 0].size
    y, new_mean, new_variance = module.fused_batch_norm(x, scale, offset, data_format=data_format)
    assert_close((y, new_mean, new_variance), (expected, mean, variance * count / (count - 1)))
    same, _, _ = module.fused_batch_norm(
        x, scale, offset, mean, variance, data_format=data_format, is_training=False
    )
    assert_close(same, expected)
    _, running, _ = module.fused_batch_norm(
        x, scale, offset, np.zeros(5), np.ones(5), data_format=data_format,
        exponential_avg_factor=0.25,
    )  # fmt: skip
    assert_close(running, 0.25 * mean)


def test_local_response_normalization(rng):
    x = rng.standard_normal((2, 3, 3, 7))
    sums = np.stack([(x[..., max(0, c - 2) : c + 3] ** 2).sum(-1) for c in range(7)], -1)

    def f(x):
        return module.lrn(x, depth_radius=2, bias=1.5, alpha=0.3, beta=0.75)

    assert_close(f(x), x / (1.5 + 0.3 * sums) ** 0.75)
    check_grads(f, [x])
    with pytest.raises(ValueError, match="4-D"):
        module.lrn(x[0])


def test_integers_are_refused():
    with pytest.raises(InvalidArgumentError, match="floating"):
        module.batch_normalization(constant([1, 2]), 0.0, 1.0, None, None, 0.0)


def test_moments_of_integers_and_of_complex_numbers():
    mean, variance = module.moments(constant([[3, -4], [1, 2]]), [0])
    assert (mean.numpy().tolist(), variance.numpy().tolist()) == ([2, -1], [1, 9])
    z = np.array([[3 + 4j, 1], [2j, 1 - 1j]])
    mean, variance = module.moments(z, [0])
    assert_close(mean, z.mean(0))
    assert_close(variance, z.var(0).astype(complex))
    with pytest.raises(InvalidArgumentError, match="moments"):
        module.moments(np.array([1], np.int8), [0])
