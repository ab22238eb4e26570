"""``scatter_nd`` and ``tensor_scatter_nd_*`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.function.tracing.function import function
from tfx.ops.array import scatter
from tfx.ops.array.concat import stack
from tfx.ops.math.reduction import reduce_sum
from tfx.testing import assert_close, check_grads

X = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
CASES = [
    (np.array([[2], [0]]), (2, 4)),
    (np.array([[2, 1], [0, 3], [2, 1]]), (3,)),
    (np.array([[[0], [1]], [[2], [0]]]), (2, 2, 4)),
    (np.array([1]), (4,)),
    (np.zeros((0, 1), int), (0, 4)),
]
REDUCTIONS = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("indices", "shape"), CASES, ids=[str(c[1]) for c in CASES])
def test_reductions(indices, shape, name, dtype, rng):
    updates = rng.integers(-5, 20, shape).astype(np.float32)
    expected = X.copy()
    REDUCTIONS[name].at(expected, tuple(np.moveaxis(indices, -1, 0)), updates)
    f = getattr(scatter, f"tensor_scatter_nd_{name}")
    check(f, [X, indices.astype(dtype), updates], expected)


@pytest.mark.parametrize(("indices", "shape"), CASES, ids=[str(c[1]) for c in CASES])
def test_update_and_scatter_nd(indices, shape, rng):
    updates = np.broadcast_to(rng.standard_normal(shape[-1:]).astype(np.float32), shape).copy()
    if shape == (3,):
        updates[2] = updates[0]  # of two updates of one place, either may win
    expected = X.copy()
    expected[tuple(np.moveaxis(indices, -1, 0))] = updates
    check(scatter.tensor_scatter_nd_update, [X, indices, updates], expected)
    added = np.zeros_like(X)
    np.add.at(added, tuple(np.moveaxis(indices, -1, 0)), updates)
    check(lambda i, u: scatter.scatter_nd(i, u, [3, 4]), [indices, updates], added)
    check(scatter.scatter_nd, [indices, updates, np.array([3, 4])], added)


DTYPES = [
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    x, indices, updates = constant([5, 6, 7], dtype), [[0], [2], [0]], constant([3, 2, 1], dtype)
    assert_close(scatter.tensor_scatter_nd_add(x, indices, updates), constant([9, 6, 9], dtype))
    assert_close(scatter.tensor_scatter_nd_sub(x, indices, updates), constant([1, 6, 5], dtype))
    assert_close(scatter.tensor_scatter_nd_max(x, indices, updates), x)
    assert_close(scatter.tensor_scatter_nd_min(x, indices, updates), constant([1, 6, 2], dtype))
    assert_close(scatter.scatter_nd(indices, updates, [4]), constant([4, 0, 2, 0], dtype))
    assert_close(scatter.tensor_scatter_nd_update(x, [[1]], [9]), constant([5, 9, 7], dtype))


def test_booleans_and_strings():
    result = scatter.scatter_nd([[1], [1], [0]], [True, False, False], [3])
    assert result.numpy().tolist() == [False, True, False]
    assert scatter.scatter_nd([[1]], ["a"], [2]).numpy().tolist() == [b"", b"a"]
    updated = scatter.tensor_scatter_nd_update(["a", "b"], [[1]], ["c"])
    assert updated.numpy().tolist() == [b"a", b"c"]


# Gradients


@pytest.mark.parametrize("name", ["add", "sub", "update"])
@pytest.mark.parametrize(("indices", "shape"), CASES, ids=[str(c[1]) for c in CASES])
def test_gradients(indices, shape, name, rng):
    if name == "update":
        indices = indices.reshape(-1, indices.shape[-1])[:2]  # no place twice
        shape = (len(indices), *X.shape[indices.shape[-1] :])
    f = getattr(scatter, f"tensor_scatter_nd_{name}")
    check_grads(lambda x, u: f(x, indices, u) ** 2.0, [X + 100.0, rng.standard_normal(shape)])


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize(("indices", "shape"), CASES, ids=[str(c[1]) for c in CASES])
def test_gradients_of_extremes(indices, shape, name, rng):
    f = getattr(scatter, f"tensor_scatter_nd_{name}")
    u = rng.standard_normal(shape) * 10 + 5
    check_grads(lambda x, u: f(x, indices, u) ** 2.0, [X, u])


def test_ties_share_the_gradient():
    x, u = constant([1.0, 2.0, 3.0]), constant([2.0, 2.0, 9.0])
    with GradientTape() as tape:
        tape.watch([x, u])
        y = reduce_sum(scatter.tensor_scatter_nd_max(x, [[1], [1], [0]], u))
    dx, du = tape.gradient(y, [x, u])
    assert_close(dx, [0.0, 1 / 3, 1.0])
    assert_close(du, [1 / 3, 1 / 3, 1.0])


def test_scatter_nd_gradient_of_unknown_shape():
    def f(u, i):
        with GradientTape() as tape:
            tape.watch(u)
            y = scatter.scatter_nd(i, u, [5]) ** 2.0
        return tape.gradient(y, u)

    check(f, [np.array([1.0, 2.0, 3.0]), np.array([[1], [4], [1]])], np.array([8.0, 4.0, 8.0]))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_elements_gradient(reduction, axis, rng):
    shape = (2, 4) if axis == 0 else (3, 2)
    indices = np.argsort(rng.random(shape), axis=axis)
    u = rng.standard_normal(shape) * 10

    def f(x, u):
        attrs = {"axis": axis, "reduction": reduction}
        return apply("ScatterElements", (x, constant(indices), u), attrs)

    check_grads(f, [X, u], order=2 if reduction in ("none", "add") else 1)


def test_multiplying_scatter_gradient():
    indices = constant([[1], [1], [0]], "int64")

    def f(x, u):
        return apply("ScatterND", (x, indices, u), {"reduction": "mul"})

    check_grads(f, [np.array([2.0, 3.0, 4.0]), np.array([5.0, 6.0, 7.0])])


PRODUCTS = {
    "no zeros": ([2.0, 3.0, 4.0], [5.0, 6.0, 7.0]),
    "zero in the target": ([2.0, 0.0, 4.0], [5.0, 6.0, 7.0]),
    "zero update": ([2.0, 3.0, 4.0], [5.0, 0.0, 7.0]),
    "two zeros": ([2.0, 0.0, 4.0], [5.0, 0.0, 7.0]),
    "two zero updates": ([0.0, 3.0, 4.0], [0.0, 0.0, 0.0]),
    "three zeros": ([2.0, 0.0, 4.0], [0.0, 0.0, 7.0]),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_products_have_three_derivatives_at_zeros(op, name, rng):
    x, u = (constant(np.array(v)) for v in PRODUCTS[name])
    where = constant([[1], [1], [0]] if op == "ScatterND" else [1, 1, 0], "int64")
    directions = [[constant(rng.standard_normal(3)) for _ in "xu"] for _ in range(3)]
    weights = constant(rng.standard_normal(3))

    def scattered(x, u):
        return apply(op, (x, where, u), {"reduction": "mul"})

    def written_out(x, u):
        return stack([x[0] * u[2], x[1] * u[0] * u[1], x[2]])

    def derivatives(f):
        found = []

        def along(order):
            if order == 0:
                return reduce_sum(f(x, u) * weights)
            with GradientTape() as tape:
                tape.watch([x, u])
                y = along(order - 1)
            gradients = tape.gradient(y, [x, u], unconnected_gradients="zero")
            found[:0] = [g.numpy() for g in gradients]
            parts = zip(gradients, directions[order - 1], strict=True)
            return sum(reduce_sum(g * d) for g, d in parts)

        along(3)
        return found

    for got, expected in zip(derivatives(scattered), derivatives(written_out), strict=True):
        assert_close(got, expected)


# Errors


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda: scatter.tensor_scatter_nd_update([1, 2], [[7]], [9]),
            r"indices\[0\] = \[7\] does not index into shape \[2\]",
        ),
        (
            lambda: scatter.tensor_scatter_nd_add([1, 2], [[0], [-3]], [9, 9]),
            r"indices\[1\] = \[-3\] does not index into shape \[2\]",
        ),
        (lambda: scatter.scatter_nd([[7], [1]], [2, 3], [4]), r"\[7\] does not index into"),
        (
            lambda: scatter.tensor_scatter_nd_update([1, 2], [[1]], [9, 8]),
            r"Indices shape: \[1,1\], updates shape: \[2\]",
        ),
        (lambda: scatter.scatter_nd([1, 1], [2, 3], [4]), "must be at most the rank"),
        (lambda: scatter.scatter_nd(1, 2, [4]), "indices must be at least a vector"),
        (lambda: scatter.scatter_nd([[1.0]], [2], [4]), "Value for attr 'Tindices'"),
    ],
)
def test_errors(f, message):
    with pytest.raises(InvalidArgumentError, match=message):
        f()


def test_updates_follow_the_tensor():
    assert_close(scatter.tensor_scatter_nd_update([1.0, 2.0], [[1]], [9]), [1.0, 9.0])
    with pytest.raises(TypeError, match="Cannot convert"):
        scatter.tensor_scatter_nd_update([1, 2], [[1]], [9.5])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extremes_and_nan(dtype):
    # TensorFlow 2.21: x < update ? update : x, in order.
    nan = np.nan
    x = constant(np.array([0, nan, 5, -np.inf, nan], dtype))
    places = [[0], [0], [1], [2], [2], [3], [0]]
    updates = np.array([nan, 1, 7, nan, 9, nan, nan], dtype)
    most = scatter.tensor_scatter_nd_max(x, places, updates)
    np.testing.assert_array_equal(most, np.array([1, nan, 9, -np.inf, nan], dtype))
    least = scatter.tensor_scatter_nd_min(x, places, updates)
    np.testing.assert_array_equal(least, np.array([0, nan, 5, -np.inf, nan], dtype))


@pytest.mark.parametrize("known", [True, False])
def test_bad_indices_are_left_out(known):
    """The gradient goes to the updates that were taken."""
    places = np.array([[[5, 0], [1, 1]], [[-1, 0], [1, 1]]])

    def f(x, places, updates):
        return scatter.tensor_scatter_nd_add(x, places, updates, "IGNORE")

    x, updates = constant(np.zeros((2, 3), np.float32)), constant(np.ones((2, 2), np.float32))
    spec = [TensorSpec(None, k) for k in ("float32", "int64", "float32")]
    call = f if known else function(f, input_signature=spec, autograph=False)
    with GradientTape() as tape:
        tape.watch(updates)
        y = call(x, places, updates)
    assert y.numpy().tolist() == [[0, 0, 0], [0, 2, 0]]
    assert tape.gradient(y, updates).numpy().tolist() == [[0, 1], [0, 1]]
    none = scatter.scatter_nd([[4]], [True], [3], "IGNORE")
    assert not none.numpy().any()
    with pytest.raises(InvalidArgumentError, match="'IGNORE'; got 'skip'"):
        scatter.scatter_nd([[4]], [1], [3], "skip")
