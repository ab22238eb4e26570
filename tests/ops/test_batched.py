"""Every batching rule on onnx's own node tests: all elements at once against one by one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.ops.backend_cases import Case, cases, rounding
from tests.ops.overrides import REFUSED
from tests.ops.underivable import CONSTANT_INPUTS
from tfx import raw
from tfx.ops.common import batching as rules
from tfx.vectorize import batcher

assert batcher  # the table is full

SIZE = 3
_LARGEST = 5_000

# Inputs that the operator has once for a whole batch: where elements differ in them, it runs in a
# loop.
ONCE: dict[str, tuple[int, ...]] = {
    "DequantizeLinear": (1,),  # scales
    "GRU": (1, 2, 3),  # weights and biases
    "LSTM": (1, 2, 3, 7),
    "Pad": (2,),  # the constant
    "QuantizeLinear": (1,),
    "RNN": (1, 2, 3),
}
# The sizes of the parts are given in a way that only opset 13 had.
OLD = (
    "test_split_equal_parts_1d_opset13",
    "test_split_equal_parts_2d_opset13",
    "test_split_equal_parts_default_axis_opset13",
)


def _floating(case: Case) -> list[int]:
    return [
        i for i, x in enumerate(case.inputs) if x is not None and x.dtype.kind == "f" and x.size
    ]


def _usable(case: Case) -> bool:
    arrays = [x for x in (*case.inputs, *case.outputs) if x is not None]
    texts = any(x.dtype.kind in "SUO" for x in arrays)
    return not texts and bool(_floating(case)) and sum(x.size for x in arrays) <= _LARGEST


def _by_operator() -> dict[str, list[Case]]:
    """Cases that differ in more than numbers."""
    found: dict[str, dict[Any, Case]] = defaultdict(dict)
    for case in cases(training=True):
        if (
            rules.rule_of(case.op) is not None
            and case.name not in {*REFUSED, *OLD}
            and _usable(case)
        ):
            ranks = tuple(None if x is None else x.ndim for x in case.inputs)
            found[case.op].setdefault((ranks, *sorted(case.attrs)), case)
    return {op: list(group.values()) for op, group in found.items()}


BY_OPERATOR = _by_operator()


def _choices(case: Case) -> list[tuple[int, ...]]:
    """Which inputs differ between the elements: all floating ones, and each alone."""
    floating = [i for i in _floating(case) if i not in CONSTANT_INPUTS.get(case.op, ())]
    return sorted({tuple(floating), *((i,) for i in floating)} - {()})


def _apply(case: Case, moving: tuple[int, ...], values: Any) -> list[Any]:
    given: list[Any] = [None if x is None else tf.constant(x) for x in case.inputs]
    for i, x in zip(moving, values, strict=True):
        given[i] = x
    found = getattr(raw, case.op)(*given, n_outputs=len(case.outputs), **case.attrs)
    return list(found) if isinstance(found, tuple) else [found]


def _check(case: Case, moving: tuple[int, ...]) -> bool:
    """Compare; whether the operator had to run in a loop."""
    elements = [np.asarray(case.inputs[i]) for i in moving]
    stacked = [
        tf.constant(np.stack([x * (1 + 0.1 * k) + 0.01 * k for k in range(SIZE)]).astype(x.dtype))
        for x in elements
    ]
    wanted = [_apply(case, moving, [x[k] for x in stacked]) for k in range(SIZE)]
    loop = any(i in ONCE.get(case.op, ()) for i in moving)

    def f(xs: Any) -> list[Any]:
        return _apply(case, moving, xs)

    refused = False
    if loop:
        try:
            tf.vectorized_map(f, stacked, fallback_to_while_loop=False)
        except ValueError as e:
            refused = "No pfor vectorization defined" in str(e)
    found = tf.vectorized_map(f, stacked, fallback_to_while_loop=loop, warn=False)
    for y, each in zip(found, zip(*wanted, strict=True), strict=True):
        one_by_one = np.stack([e.numpy() for e in each])
        message = f"{case.name}, inputs {moving}"
        assert (y.shape, y.dtype.as_numpy_dtype) == (one_by_one.shape, one_by_one.dtype), message
        np.testing.assert_allclose(
            y.numpy().astype(np.float64),
            one_by_one.astype(np.float64),
            # Sums may be made in another order, results of 16 bits differ in the last of them.
            rtol=max(1e-5, rounding(one_by_one.dtype)),
            atol=1e-6,
            err_msg=message,
        )
    return refused


@pytest.mark.parametrize("op", sorted(BY_OPERATOR))
def test_rule_agrees_with_one_by_one(op: str) -> None:
    looped = [_check(case, moving) for case in BY_OPERATOR[op] for moving in _choices(case)]
    assert any(looped) == (op in ONCE)


def test_cases_are_many() -> None:
    assert len(BY_OPERATOR) >= 120
