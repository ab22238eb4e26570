"""Contractions against NumPy's einsum and tensordot."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.graphs import operators
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.ops.linalg import einsum as module
from tfx.testing import assert_close, check_grads

SIZES = dict(zip("abcdefhijklq", range(2, 14), strict=True))
EQUATIONS = [
    "ij,jk->ik", "ij,jk", "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "...ij,...jk->...ik",
    "ii->i", "ii", "ijii->j", "ij->ji", "ij->", "ij->i", "i,j->ij", "i,i->i", "i,i", "ij,j",
    "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "abc,cd->abd", "abc,bcd->ad", "ab,bc,cd->ad",
    "ij,ij->ij", "a...b,b...->a...", "...,...->...", "...i->i...", "iij,jk->ik", "ij,k->ik",
    "ab,cd,ef->ace", "...ii->...i", "abc,abd,cd->ab", " i j , j k -> i k ",
]  # fmt: skip


def operands(equation, rng):
    terms = equation.replace(" ", "").split("->")[0].split(",")
    extra = [[1, 3], [4, 3], [4, 1]]
    shapes = []
    for i, term in enumerate(terms):
        head, dots, tail = term.partition("...")
        middle = extra[i] if dots else []
        shapes.append([*(SIZES[c] for c in head), *middle, *(SIZES[c] for c in tail)])
    return [rng.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(equation, rng):
    inputs = operands(equation, rng)

    def f(*args):
        return module.einsum(equation, *args)

    expected = np.einsum(equation, *inputs)
    assert_close(f(*inputs), expected)
    assert_close(run_traced(f, *inputs), expected)
    assert_close(run_traced(f, *inputs, static=True), expected)


@pytest.mark.parametrize(
    "equation",
    ["ij,jk->ik", "...ij,...jk->...ik", "ii->i", "ij->", "i,i->i", "bqhd,bkhd->bhqk", "iij,jk->ik",
     "ab,bc,cd->ad", "ij,k->ik"],
)  # fmt: skip
def test_gradients(equation, rng):
    check_grads(lambda *args: module.einsum(equation, *args), operands(equation, rng))


def test_order_of_many_operands(rng):
    inputs = operands("ab,bc,cd,de->ae", rng)
    for optimize in ("greedy", "optimal", "auto"):
        assert_close(
            module.einsum("ab,bc,cd,de->ae", *inputs, optimize=optimize),
            np.einsum("ab,bc,cd,de->ae", *inputs),
        )


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.int8])
def test_dtypes(dtype):
    a = np.arange(6).reshape(2, 3).astype(dtype)
    result = module.einsum("ij,kj->ik", a, a)
    assert result.dtype == dtype
    assert_close(result, a @ a.T)


def test_a_layer_on_many_rows_is_one_product(rng):
    found = operators(lambda x, w: module.einsum("btd,de->bte", x, w), ("b", "t", 4), (4, 5))
    assert found == ["MatMul"]


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (2, 3)], "Expected dimension 3"),
        ("ij->i", [(2, 3, 4)], "Expected input 0 to have rank 2 but got: 3"),
        ("...ij->i", [(2, 3)], None),
        ("...ijk->...", [(2, 3)], "rank at least 3"),
        ("ij,jk->ik", [(2, 3)], "Got 1 arguments"),
        ("ij->k", [(2, 3)], "in no input"),
        ("i.j->ij", [(2, 3)], "Invalid einsum equation"),
        ("ij->ii", [(2, 3)], "repeats a label"),
        ("...i->i", [(2, 3)], "must have '...'"),
        ("i1->i", [(2, 3)], "Invalid einsum equation"),
    ],
)
def test_errors(equation, shapes, message):
    inputs = [np.ones(shape) for shape in shapes]
    if message is None:  # an empty ellipsis need not be in the result
        assert module.einsum(equation, *inputs).shape == [2]
        return
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.einsum(equation, *inputs)


def test_unknown_keywords_are_refused():
    with pytest.raises(TypeError, match="Invalid keyword"):
        module.einsum("i->i", [1.0], method="fast")
    with pytest.raises(ValueError, match="optimize"):
        module.einsum("i->i", [1.0], optimize="fast")


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 3)]),
     ("ij,k->i", [(2, 3), (4,)]), ("...ij,...jk->...ik", [(1, 2, 3), (5, 3, 2)])],
)  # fmt: skip
def test_the_operator_of_imported_models_has_a_gradient(equation, shapes, rng):
    inputs = [rng.standard_normal(shape) for shape in shapes]
    check_grads(lambda *args: apply("Einsum", args, {"equation": equation}), inputs)


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((2, 3), (4, 5)), 0),
        (((2, 3), (3, 4)), 1),
        (((2, 3, 4), (3, 4, 5)), 2),
        (((2, 3), (2, 3)), 2),
        (((2, 3, 4), (4, 2)), [[2, 0], [0, 1]]),
        (((2, 3, 4), (5, 3)), (1, -1)),
        (((2, 3), (3, 4)), np.array([[1], [0]])),
    ],
)
def test_tensordot(shapes, axes, rng):
    a, b = rng.standard_normal(shapes[0]), rng.standard_normal(shapes[1])
    of_numpy = axes.tolist() if isinstance(axes, np.ndarray) else axes

    def f(a, b):
        return module.tensordot(a, b, axes)

    assert_close(f(a, b), np.tensordot(a, b, of_numpy))
    assert_close(run_traced(f, a, b), np.tensordot(a, b, of_numpy))
    check_grads(f, [a, b])


@pytest.mark.parametrize(
    ("axes", "message"),
    [(3, "larger than the number"), (-1, "must not be negative"), ([[0]], "length 2"),
     ([[0, 1], [0]], "Different number"), ([[5], [0]], "out of range"),
     ([[0], [0]], "size-incompatible")],
)  # fmt: skip
def test_tensordot_errors(axes, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes)
