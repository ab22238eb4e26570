"""Every gradient rule in other settings: sizes known at run time, 16 bits, called functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.ops.backend_cases import Case
from tests.ops.derivatives import Problem, along, floating_inputs
from tests.ops.test_batched import OLD
from tests.ops.test_derivatives import BY_OPERATOR
from tfx.core.errors import OpError
from tfx.graph import schema

_LARGEST = 2_000
_EACH = 2

# Sizes that a rule needs while it is traced, or the runtime while it loads the graph.
STATIC = {
    "ConvTranspose": "the size of the filter, unless kernel_shape gives it",
}


def _samples(op: str) -> list[Case]:
    """A few small cases of different ranks and attributes."""
    found: dict[Any, Case] = {}
    for case in BY_OPERATOR[op]:
        if sum(x.size for x in case.inputs if x is not None) <= _LARGEST:
            ranks = tuple(None if x is None else x.ndim for x in case.inputs)
            found.setdefault((ranks, *sorted(case.attrs)), case)
    return list(found.values())[:_EACH]


def _gradients(problem: Problem, inputs: list[Any]) -> list[Any]:
    sources = [inputs[i] for i in problem.moving]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        total = problem.weighted(problem.apply(inputs))
    found = tape.gradient(total, sources, unconnected_gradients="zero")
    return [tf.convert_to_tensor(g) for g in found]


def _traced(problem: Problem, inputs: list[Any]) -> list[Any]:
    """The gradients of a function of the inputs that move, of known ranks alone."""
    specs = [tf.TensorSpec([None] * inputs[i].shape.rank, inputs[i].dtype) for i in problem.moving]

    @tf.function(input_signature=specs, autograph=False)
    def f(*moving: Any) -> list[Any]:
        full = list(inputs)
        for i, x in zip(problem.moving, moving, strict=True):
            full[i] = x
        return _gradients(problem, full)

    found: list[Any] = f(*(inputs[i] for i in problem.moving))
    return found


@pytest.mark.parametrize("op", sorted(BY_OPERATOR))
def test_sizes_known_at_run_time(op: str) -> None:
    for case in _samples(op):
        problem = Problem(case)
        inputs = problem.tensors()
        if op in STATIC:
            with pytest.raises(OpError, match=r"must be static|needs static sizes"):
                _traced(problem, inputs)
            continue
        for a, b in zip(_traced(problem, inputs), _gradients(problem, inputs), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


# Operator -> why 16 bits do not do.
NARROW = {
    "DeformConv": "its kinks are as close as the numbers",
    "GridSample": "its kinks are as close as the numbers",
    "ReduceProd": "products overflow",
}
# Two units in the last place of the largest element.
TOLERANCE = {"float16": 2**-9, "bfloat16": 2**-6}
# Operator -> tolerance and why it is larger.
ROUNDED = {"RoiAlign": (2**-6, "places between pixels are numbers of 16 bits")}


def _takes(op: str, case: Case, name: str) -> bool:
    parameters = schema.operator(op).schema.inputs
    return all(
        f"tensor({name})" in parameters[min(i, len(parameters) - 1)].types
        for i in floating_inputs(case)
    )


# Operator, dtype, case; bfloat16 is missing where the standard does not have it.
NARROW_CASES = [
    (op, name, case)
    for op in sorted(set(BY_OPERATOR) - set(NARROW))
    for name in TOLERANCE
    for case in _samples(op)[:1]
    if _takes(op, case, name)
]


def test_16_bits_are_tried_where_the_standard_has_them() -> None:
    tried = [name for _, name, _ in NARROW_CASES]
    assert tried.count("float16") >= 100
    assert tried.count("bfloat16") >= 60


@pytest.mark.parametrize(
    ("op", "name", "case"), NARROW_CASES, ids=[f"{op}-{name}" for op, name, _ in NARROW_CASES]
)
def test_16_bits(op: str, name: str, case: Case) -> None:
    dtype, tolerance = tf.as_dtype(name), ROUNDED.get(op, (TOLERANCE[name], ""))[0]
    problem = Problem(case)
    inputs = problem.tensors(dtype)
    narrow = _gradients(problem, inputs)
    wide = [tf.cast(x, tf.float32) if x is not None and x.dtype == dtype else x for x in inputs]
    for a, b in zip(narrow, _gradients(problem, wide), strict=True):
        assert a.dtype == dtype
        wanted = b.numpy()
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(
            a.numpy().astype(np.float32), wanted, rtol=tolerance, atol=tolerance * scale
        )


@pytest.mark.proof
@pytest.mark.parametrize("op", sorted(BY_OPERATOR))
def test_functions_under_tapes_to_second_order(op: str) -> None:
    for case in _samples(op):
        if case.name in OLD:
            continue
        problem = Problem(case)
        expected = problem.by_rules()
        inputs, sources, directions = problem.parts()

        @tf.function(autograph=False)
        def f(
            *moving: Any, problem: Problem = problem, inputs: tuple[Any, ...] = tuple(inputs)
        ) -> Any:
            full = list(inputs)
            for i, x in zip(problem.moving, moving, strict=True):
                full[i] = x
            return problem.weighted(problem.apply(full))

        with tf.GradientTape() as outer:
            outer.watch(sources)
            with tf.GradientTape() as inner:
                inner.watch(sources)
                total = f(*sources)
            gradients = inner.gradient(total, sources, unconnected_gradients="zero")
            first = along(gradients, directions)
        again = outer.gradient(first, sources, unconnected_gradients="zero")
        found = [float(first), float(along(again, directions))]
        np.testing.assert_allclose(
            found, [expected.first, expected.second], rtol=1e-4, atol=1e-5, err_msg=case.name
        )
