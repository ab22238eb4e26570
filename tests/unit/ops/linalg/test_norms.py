"""Norms against NumPy's, and clipping to them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import constant
from tfx.linalg_ops import norms
from tfx.ops.linalg import norms as module
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, [1]])
@pytest.mark.parametrize("order", ["euclidean", 1, 2, np.inf, 3, 2.5])
def test_vectors(order, axis, keepdims, rng):
    x = rng.standard_normal((2, 3, 4))

    def f(x):
        return norms.norm(x, order, axis, keepdims)

    power = 2 if order == "euclidean" else order
    along = None if axis is None else tuple(np.atleast_1d(axis).tolist())
    reduced = (
        np.abs(x).max(along, keepdims=keepdims)
        if power == np.inf
        else ((np.abs(x) ** power).sum(along, keepdims=keepdims) ** (1 / power))
    )
    assert_close(f(x), reduced)
    assert_close(run_traced(f, x), reduced)
    check_grads(f, [x])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [(-2, -1), [0, 2], (2, 1)])
@pytest.mark.parametrize("order", ["euclidean", "fro", 1, 2, np.inf])
def test_matrices(order, axis, keepdims, rng):
    x = rng.standard_normal((2, 3, 4))

    def f(x):
        return norms.norm(x, order, axis, keepdims)

    name = "fro" if order == "euclidean" else order
    expected = np.linalg.norm(x, name, tuple(axis), keepdims)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    check_grads(f, [x])


def test_normalize(rng):
    x = rng.standard_normal((2, 3))
    length = np.abs(x).sum(1, keepdims=True)
    assert_close(norms.normalize(x, 1, 1), (x / length, length))


@pytest.mark.parametrize("order", ["euclidean", 1, 3, np.inf])
def test_the_gradient_at_zero_is_zero(order):
    x = constant([[0.0, 0.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = norms.norm(x, order, 1)
        whole = module.global_norm([x])
    assert_close(tape.gradient(y, x), [[0.0, 0.0]])
    assert_close(tape.gradient(whole, x), [[0.0, 0.0]])


@pytest.mark.parametrize(
    ("order", "axis", "message"),
    [("fro", None, "supported vector norm, got fro"), (-1, None, "supported vector norm, got -1"),
     ("nuclear", 0, "supported vector norm"), (3, (0, 1), "supported matrix norm"),
     (1, (0, 0), "two unique integers"), (1, (0, 1, 2), "tuple of 2 unique"),
     (0, (0, 1), "supported matrix norm")],
)  # fmt: skip
def test_norm_errors(order, axis, message):
    with pytest.raises(ValueError, match=message):
        norms.norm(np.ones((2, 3)), order, axis)


def test_integers_are_refused():
    with pytest.raises(InvalidArgumentError, match="floating"):
        norms.norm(constant([1, 2]))


def test_global_norm(rng):
    parts = [rng.standard_normal((2, 3)), rng.standard_normal(4)]
    expected = np.sqrt(sum((p**2).sum() for p in parts))
    assert_close(module.global_norm([*parts, None]), expected)
    assert_close(module.global_norm([IndexedSlices(constant(parts[0]), constant([0, 1]))]),
                 np.sqrt((parts[0] ** 2).sum()))  # fmt: skip
    assert float(module.global_norm([None])) == 0  # as TensorFlow: nothing has no length
    check_grads(lambda *p: module.global_norm(list(p)), parts)
    with pytest.raises(TypeError, match="sequence"):
        module.global_norm(constant([1.0]))


@pytest.mark.parametrize("limit", [0.5, 100.0])
@pytest.mark.parametrize("axes", [None, [1], 0])
def test_clip_by_norm(axes, limit, rng):
    x = rng.standard_normal((3, 4))
    axis = None if axes is None else tuple(np.atleast_1d(axes).tolist())
    length = np.sqrt((x**2).sum(axis, keepdims=True))
    expected = x * limit / np.maximum(length, limit)

    def f(x):
        return module.clip_by_norm(x, limit, axes)

    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    check_grads(f, [x])


def test_clip_by_norm_of_zeros_and_rows():
    x = constant([0.0, 0.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = module.clip_by_norm(x, 1.0)
    assert_close(y, [0.0, 0.0])
    assert_close(tape.gradient(y, x), [1.0, 1.0])
    for limit in (-1.0, constant(-1.0)):  # as 0
        assert_close(module.clip_by_norm(constant([3.0, 4.0]), limit), [0.0, 0.0])
    rows = module.clip_by_norm(IndexedSlices(constant([[3.0, 4.0]]), constant([5])), 1.0)
    assert isinstance(rows, IndexedSlices)
    assert_close(rows.values, [[0.6, 0.8]])


def test_clip_by_average_norm():
    assert_close(module.clip_by_average_norm([3.0, 4.0], 1.0), [1.2, 1.6])
    assert_close(module.clip_by_average_norm([3.0, 4.0], 5.0), [3.0, 4.0])


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_clip_by_global_norm(limit, rng):
    parts = [rng.standard_normal((2, 3)), rng.standard_normal(4)]
    length = np.sqrt(sum((p**2).sum() for p in parts))
    clipped, found = module.clip_by_global_norm([*parts, None], limit)
    assert_close(found, length)
    assert clipped[2] is None
    for part, result in zip(parts, clipped, strict=False):
        assert_close(result, part * limit / max(length, limit))
    check_grads(lambda *p: module.clip_by_global_norm(list(p), limit)[0], parts)


def test_clip_by_a_given_or_infinite_norm():
    assert_close(module.clip_by_global_norm([[3.0]], 1.0, use_norm=constant(6.0))[0][0], [0.5])
    assert_close(module.clip_by_global_norm([[np.inf, 1.0]], 1.0)[0][0], [np.nan, np.nan])
    clipped, found = module.clip_by_global_norm([None], 1.0)
    assert clipped == [None]
    assert float(found) == 0


def test_sums_and_extremes_of_integers_are_integers() -> None:
    x = constant([[3, -4], [1, 2]])
    for order, axis, expected in [
        (1, None, 10),
        (1, 1, [7, 3]),
        (1, (0, 1), 6),
        (np.inf, 1, [4, 2]),
        (np.inf, (0, 1), 7),
    ]:
        found = norms.norm(x, order, axis)
        assert found.dtype.name == "int32"
        assert np.asarray(found).tolist() == expected
    quotient, length = norms.normalize(x, 1)
    assert (quotient.dtype.name, length.dtype.name) == ("float64", "int32")
    assert_close(quotient, [[0.3, -0.4], [0.1, 0.2]])
    with pytest.raises(InvalidArgumentError, match="floating"):
        norms.norm(x, 2)


def test_complex_numbers_are_divided_by_their_norm() -> None:
    z = constant([3 + 4j, 0j])
    quotient, length = norms.normalize(z)
    assert_close(quotient, [0.6 + 0.8j, 0j])
    assert_close(length, [5 + 0j])
    assert norms.normalize(z, 1)[1].dtype.is_complex
