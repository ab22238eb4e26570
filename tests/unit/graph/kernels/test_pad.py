"""``Pad`` of some axes, next to transpositions that ONNX Runtime moves past it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.ops.tracing import run_traced
from tfx.framework.apply import apply
from tfx.framework.convert import constant, int64_constant

X = np.arange(5.0 * 6 * 7).reshape(5, 6, 7).astype(np.float32)


def padded(x, pads, axes, value=None):
    t = apply("Transpose", (x,), {"perm": (2, 0, 1)})
    return apply("Transpose", (apply("Pad", (t, pads, value, axes)),), {"perm": (1, 2, 0)})


@pytest.mark.parametrize("axes", [[1], [-1], [2, 0], [-3, 1]], ids=str)
@pytest.mark.parametrize("given", ["nothing", "pads", "both"])
def test_next_to_transpositions(axes, given):
    """``given``: what is known at run time only."""
    amounts = [1, -2, 3, 2][: 2 * len(axes)]

    def f(x, pads, places):
        p = int64_constant(amounts) if given == "nothing" else pads
        a = places if given == "both" else int64_constant(axes)
        return padded(x, p, a, constant(np.float32(9)))

    found = run_traced(f, X, np.array(amounts), np.array(axes))
    t = X.transpose(2, 0, 1)
    for i, axis in enumerate(axes):
        before, after = amounts[i], amounts[len(axes) + i]
        t = np.take(t, range(max(0, -before), t.shape[axis] + min(0, after)), axis)
        pairs = [(0, 0)] * 3
        pairs[axis] = (max(0, before), max(0, after))
        t = np.pad(t, pairs, constant_values=9)
    np.testing.assert_array_equal(found, t.transpose(1, 2, 0))


def test_an_operator_alone():
    y = apply("Pad", (constant(X), int64_constant([1, 2]), None, int64_constant([-1])))
    np.testing.assert_array_equal(y.numpy(), np.pad(X, [(0, 0), (0, 0), (1, 2)]))
