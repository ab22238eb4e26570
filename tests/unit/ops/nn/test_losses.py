"""Losses against SciPy in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.framework.convert import constant
from tfx.function.tracing.function import function
from tfx.ops.nn import losses as module
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_cross_entropy(axis, rng):
    logits = rng.standard_normal((2, 3, 4)) * 3
    labels = scipy.special.softmax(rng.standard_normal((2, 3, 4)), axis)

    def f(labels, logits):
        return module.softmax_cross_entropy_with_logits(labels, logits, axis)

    expected = -(labels * scipy.special.log_softmax(logits, axis)).sum(axis)
    assert_close(f(labels, logits), expected)
    assert_close(run_traced(f, labels, logits), expected)
    check_grads(lambda z: f(labels, z), [logits])
    check_grads(lambda p: f(p, logits), [labels])


def test_labels_that_are_no_probabilities():
    """The slope is softmax less labels, also of a row of zeros."""
    logits = constant([[1.0, 2.0], [3.0, 0.0]])
    labels = np.array([[2.0, 1.0], [0.0, 0.0]], np.float32)
    with GradientTape() as tape:
        tape.watch(logits)
        loss = module.softmax_cross_entropy_with_logits(labels, logits)
    softmax = scipy.special.softmax(logits.numpy(), -1)
    assert_close(loss, -(labels * np.log(softmax)).sum(-1))
    assert_close(tape.gradient(loss, logits), softmax - labels)


def test_no_classes():
    none = np.zeros((2, 0), np.float32)
    assert_close(module.softmax_cross_entropy_with_logits(none, none), [0, 0])
    late = function(module.softmax_cross_entropy_with_logits, [TensorSpec(None, "float32")] * 2)
    assert_close(late(none, none), [0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_dtypes(dtype):
    logits = np.array([[1.0, 2.0, -1.0]]).astype(dtype)
    exact = -scipy.special.log_softmax(logits.astype(np.float64))[:, 1].astype(dtype)
    dense = module.softmax_cross_entropy_with_logits(np.array([[0, 1, 0]], dtype), logits)
    sparse = module.sparse_softmax_cross_entropy_with_logits([1], logits)
    assert dense.dtype == sparse.dtype == dtype
    assert_close((dense, sparse), (exact, exact))


def test_huge_logits():
    logits = np.array([[1e4, -1e4]], np.float32)
    assert_close(module.softmax_cross_entropy_with_logits([[0.0, 1.0]], logits), [2e4])
    assert_close(module.sigmoid_cross_entropy_with_logits([[0.0, 1.0]], logits), [[1e4, 1e4]])


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_sparse_softmax_cross_entropy(shape, kind, rng):
    logits = rng.standard_normal((*shape, 5)) * 3
    labels = rng.integers(0, 5, shape).astype(kind)
    logs = scipy.special.log_softmax(logits, -1)
    expected = -np.take_along_axis(logs, labels[..., None].astype(np.int64), -1)[..., 0]

    def f(labels, logits):
        return module.sparse_softmax_cross_entropy_with_logits(labels, logits)

    assert_close(f(labels, logits), expected)
    assert_close(run_traced(f, labels, logits), expected)
    if expected.size:
        check_grads(lambda x: f(constant(labels), x), [logits])


@pytest.mark.parametrize("label", [-1, 2])
def test_labels_out_of_range(label):
    logits = np.zeros((1, 2), np.float32)
    with pytest.raises(InvalidArgumentError, match=f"label value of {label} which is outside"):
        module.sparse_softmax_cross_entropy_with_logits([label], logits)
    with pytest.raises(InvalidArgumentError):
        run_traced(module.sparse_softmax_cross_entropy_with_logits, [label], logits)


@pytest.mark.parametrize(
    ("labels", "logits", "message"),
    [([[1]], [[0.0, 1.0]], "must equal `logits.shape.rank - 1`"),
     ([1, 1, 1], [[0.0, 1.0]], "except for the last dimension"),
     (1, 0.0, "cannot be a scalar"), ([0.5], [[0.0, 1.0]], "integer labels"),
     ([1], [[0, 1]], "floating logits")],
)  # fmt: skip
def test_sparse_errors(labels, logits, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.sparse_softmax_cross_entropy_with_logits(labels, logits)


LOGITS = np.array([-30.0, -2.0, 0.0, 0.5, 40.0])
PROBABILITIES = np.array([0.3, 1.0, 1.0, 0.0, 0.9])


def test_sigmoid_cross_entropy():
    def f(labels, logits):
        return module.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    z, x = PROBABILITIES, LOGITS
    expected = z * np.logaddexp(0, -x) + (1 - z) * np.logaddexp(0, x)
    assert_close(f(z, x), expected)
    assert_close(f(z.astype(np.float32), x.astype(np.float32)), expected.astype(np.float32))
    assert_close(run_traced(f, z, x), expected)
    check_grads(f, [z[[0, 1, 3, 4]], x[[0, 1, 3, 4]]])


@pytest.mark.parametrize("weight", [2.0, np.array([0.5, 1.0, 2.0, 3.0, 4.0])])
def test_weighted_cross_entropy(weight):
    def f(labels, logits):
        return module.weighted_cross_entropy_with_logits(labels, logits, weight)

    z, x = PROBABILITIES, LOGITS
    expected = weight * z * np.logaddexp(0, -x) + (1 - z) * np.logaddexp(0, x)
    assert_close(f(z, x), expected)
    assert_close(run_traced(f, z, x), expected)


@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_slopes_at_zero_are_true(weight):
    x = constant(np.zeros(2))
    z = np.array([1.0, 0.25])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        plain = module.sigmoid_cross_entropy_with_logits(z, x)
        weighted = module.weighted_cross_entropy_with_logits(z, x, weight)
    assert_close(tape.gradient(plain, x), 0.5 - z)
    assert_close(tape.gradient(weighted, x), (1 - z) * 0.5 - weight * z * 0.5)


def test_small_losses_keep_their_precision():
    x = np.array([30.0, -30.0], np.float32)
    loss = module.sigmoid_cross_entropy_with_logits([1.0, 0.0], x)
    assert_close(loss, np.exp(-30.0) * np.ones(2, np.float32), rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    "f", [module.sigmoid_cross_entropy_with_logits, module.weighted_cross_entropy_with_logits]
)
def test_arguments_of_logistic_losses(f):
    extra = {} if f is module.sigmoid_cross_entropy_with_logits else {"pos_weight": 1.0}
    with pytest.raises(ValueError, match="must be provided"):
        f(labels=[1.0], **extra)
    with pytest.raises(ValueError, match="same shape"):
        f(labels=[1.0], logits=[1.0, 2.0], **extra)
    with pytest.raises(ValueError, match="pos_weight"):
        module.weighted_cross_entropy_with_logits([1.0], [1.0])


def test_l2_loss(rng):
    x = rng.standard_normal((2, 3))
    assert_close(module.l2_loss(x), (x**2).sum() / 2)
    check_grads(module.l2_loss, [x])
    with pytest.raises(InvalidArgumentError, match="floating"):
        module.l2_loss(constant([1, 2]))


@pytest.mark.parametrize("full", [False, True])
def test_log_poisson_loss(full):
    targets, x = np.array([0.0, 1.0, 3.0, 7.0]), np.array([0.1, -1.0, 2.0, 1.5])
    expected = np.exp(x) - targets * x
    if full:
        t = np.maximum(targets, 1.0)
        expected += np.where(targets > 1, t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t), 0.0)
    assert_close(module.log_poisson_loss(targets, x, full), expected)
    check_grads(lambda x: module.log_poisson_loss(constant(targets), x, full), [x])


def test_compute_average_loss(rng):
    losses, weights = rng.standard_normal(4), rng.uniform(0, 1, 4)
    assert_close(module.compute_average_loss(losses), losses.mean())
    assert_close(module.compute_average_loss(losses, weights), (losses * weights).mean())
    assert_close(module.compute_average_loss(losses, global_batch_size=8), losses.sum() / 8)
