"""Random programs mean the same eagerly, in a function, and to NumPy; so do their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.ops.programs import Operation, Program, Step, programs
from tfx.autodiff.tape import GradientTape
from tfx.core.specs import TensorSpec
from tfx.framework.convert import constant
from tfx.function.tracing.function import function
from tfx.ops.math.arithmetic import add_n, subtract
from tfx.ops.math.reduction import reduce_sum
from tfx.testing import assert_close, check_grads


def _signature(program: Program, *, static: bool) -> list[TensorSpec]:
    return [
        TensorSpec(x.shape if static else [None] * x.ndim, x.dtype.name) for x in program.leaves
    ]


@settings(max_examples=60)
@given(programs(), st.booleans())
def test_values(program: Program, static: bool) -> None:
    leaves = [constant(x) for x in program.leaves]
    eager = program.run(*leaves)
    program.check(eager)

    @function(input_signature=[_signature(program, static=static)])
    def traced(leaves: list[Any]) -> list[Any]:
        return program.run(*leaves)

    values = traced(leaves)
    program.check(values)
    assert [(v.dtype, v.shape) for v in values] == [(v.dtype, v.shape) for v in eager]
    assert all(
        v.shape.is_compatible_with(spec.shape)
        for v, spec in zip(values, traced.get_concrete_function().structured_outputs, strict=True)
    )


def _total(program: Program, leaves: Any) -> Any:
    return add_n([reduce_sum(v) for v in program.run(*leaves)])


@settings(max_examples=40)
@given(programs(smooth=True), st.booleans())
def test_gradients(program: Program, static: bool) -> None:
    check_grads(lambda *leaves: _total(program, leaves), program.leaves, order=1, rtol=1e-5)

    def derivative(leaves: list[Any]) -> Any:
        with GradientTape() as tape:
            tape.watch(leaves)
            y = _total(program, leaves)
        return tape.gradient(y, leaves)

    leaves = [constant(x) for x in program.leaves]
    traced = function(derivative, input_signature=[_signature(program, static=static)])
    assert_close(traced(leaves), derivative(leaves), rtol=1e-9)


def test_a_wrong_operation_is_found() -> None:
    wrong = Operation("add", subtract, np.add, ("f", "="))
    program = Program((np.ones(3), np.ones(3)), (Step(wrong, (0, 1)),))
    values = program.run(*map(constant, program.leaves))
    with pytest.raises(AssertionError, match="add"):
        program.check(values)
