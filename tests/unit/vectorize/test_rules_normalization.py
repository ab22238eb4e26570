"""Batching rules of normalizations, whichever of input, scale and bias differ."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.vectorize.elementwise import Case, check_all, normal

VECTOR = normal(4)


def positive(rng):
    return (np.abs(rng.standard_normal(4)) + 0.5).astype(np.float32)


IMAGE = normal(2, 4, 5)
CASES = [
    Case("BatchNormalization", {}, (IMAGE, VECTOR, VECTOR, VECTOR, positive), (0, 1, 4)),
    Case("BatchNormalization", {"training_mode": 1, "momentum": 0.8},
         (normal(2, 4, 3, 2), VECTOR, VECTOR, VECTOR, positive), (0, 2, 3), 3),
    Case("InstanceNormalization", {}, (IMAGE, VECTOR, VECTOR), (0, 1, 2)),
    Case("GroupNormalization", {"num_groups": 2}, (IMAGE, VECTOR, VECTOR), (0, 1, 2)),
    *(
        Case("LayerNormalization", {"axis": axis},
             (normal(3, 4, 5), normal(*shape), normal(*shape)), (0, 1, 2), 3)
        for axis, shape in ((1, (4, 5)), (-2, (4, 5)), (-1, (5,)))
    ),
    Case("LayerNormalization", {}, (normal(3, 5), normal(5)), (0, 1)),
    Case("RMSNormalization", {"axis": 1}, (normal(3, 4, 5), normal(4, 5)), (0, 1)),
    Case("MeanVarianceNormalization", {}, (normal(3, 4, 5, 2),), (0,)),
    Case("MeanVarianceNormalization", {"axes": (0, -1)}, (normal(3, 4, 5),), (0,)),
    Case("LpNormalization", {"axis": 0, "p": 1}, (normal(3, 4),), (0,)),
    *(Case(op, {"axis": 0}, (normal(3, 4),), (0,)) for op in ("Softmax", "LogSoftmax", "Hardmax")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_normalization(number):
    check_all(CASES[number])
