"""The scale of ``DequantizeLinear`` has a gradient, and so has what rounds."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import numbers
from tfx.autodiff.tape import GradientTape
from tfx.framework import rules
from tfx.framework.apply import apply
from tfx.framework.convert import constant

X = np.random.default_rng(0).integers(0, 255, (2, 3, 5)).astype(np.uint8)
CASES = [
    ((), {}),
    ((1,), {}),
    ((3,), {"axis": 1}),
    ((5,), {"axis": -1}),
    ((2, 3, 2), {"axis": 2, "block_size": 3}),
]


@pytest.mark.parametrize("with_zero_point", [False, True])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_scale(case, with_zero_point):
    shape, attrs = case
    scale = np.asarray(numbers(1, *shape) + 2, np.float32)
    zero = np.full(shape, 7, np.uint8)
    with GradientTape() as tape:
        s = constant(scale)
        tape.watch(s)
        given = (constant(X), s, constant(zero)) if with_zero_point else (constant(X), s)
        y = apply("DequantizeLinear", given, attrs)
    seed = numbers(2, *X.shape).astype(np.float32)
    found = tape.gradient(y, s, output_gradients=constant(seed)).numpy()
    terms = seed * (X.astype(np.float32) - (7 if with_zero_point else 0))
    if attrs.get("block_size"):
        expected = np.add.reduceat(terms, [0, 3], axis=2)
    elif len(shape) == 1 and shape != (1,):
        axis = attrs["axis"] % 3
        expected = terms.sum(tuple(a for a in range(3) if a != axis))
    else:
        expected = terms.sum().reshape(shape)
    assert found.shape == shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("op", ["QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv"])
def test_what_rounds_is_differentiated(op):
    """By ``autodiff.straight_through``, whose tests say how."""
    assert rules.status_of(op) == "rule"
    assert rules.exact_formula_of(op) is None
