"""Gradients of operators that a formula stands for."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.autodiff import formula_gradients
from tfx.autodiff.backprop import backpropagate
from tfx.autodiff.tape import GradientTape
from tfx.framework import rules
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.framework.rules import OpRecord
from tfx.testing import check_grads


def test_a_tensor_given_twice_has_both_gradients():
    x = constant([2.0, 3.0])
    y = apply("Mul", (x, x))
    op = OpRecord("Mul", {}, (x, x), (y,))
    op.needs = (True, True)
    found = formula_gradients.gradients_of(
        lambda op: apply("Mul", op.inputs), op, [constant([1.0, 1.0])], backpropagate
    )
    assert [g.numpy().tolist() for g in found] == [[2.0, 3.0], [2.0, 3.0]]


def test_only_what_is_needed():
    x, y = constant([2.0]), constant([5.0])
    op = OpRecord("Mul", {}, (x, None, y), (apply("Mul", (x, y)),))
    op.needs = (False, False, True)
    found = formula_gradients.gradients_of(
        lambda op: apply("Mul", (op.inputs[0], op.inputs[2])), op, [constant([1.0])], backpropagate
    )
    assert found[:2] == [None, None]
    assert found[2].numpy().tolist() == [2.0]


def test_an_operator_has_one_rule():
    with pytest.raises(ValueError, match="GridSample already has"):
        rules.formula("GridSample")(lambda op: op.inputs[0])
    with pytest.raises(ValueError, match="GridSample already has"):
        rules.gradient("GridSample")(lambda op, dy: dy)
    with pytest.raises(ValueError, match="GridSample already has"):
        rules.no_gradient("GridSample", why="no")
    with pytest.raises(ValueError, match="Add already has"):
        rules.formula("Add")(lambda op: op.inputs[0])
    assert rules.status_of("GridSample") == "rule"
    assert rules.formula_of("Add") is None


def test_third_order():
    """Each order computes the formula again, and is seen by the tapes around."""
    theta = np.random.default_rng(0).standard_normal((1, 2, 3))

    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = apply("AffineGrid", (x, constant([1, 1, 2, 3], "int64")))
            z = y * y * y * y
        return tape.gradient(z, x)

    check_grads(slope, [theta], order=2, rtol=1e-5)
