"""Batching rules of pools."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.vectorize.elementwise import Case, check_all, fixed, normal

IMAGE = normal(2, 3, 6, 7)
WINDOW = {"kernel_shape": (2, 3), "strides": (2, 2), "pads": (0, 1, 0, 1)}


def places(rng):
    planes = np.arange(4).reshape(1, 1, 2, 2) * 5 + np.arange(4).reshape(2, 2, 1, 1) * 25
    return planes.astype(np.int64)


CASES = [
    *(Case(op, WINDOW, (IMAGE,), (0,)) for op in ("MaxPool", "AveragePool")),
    Case("MaxPool", WINDOW, (IMAGE,), (0,), 2),
    Case("MaxPool", {"kernel_shape": (2, 3), "storage_order": 1}, (IMAGE,), (0,), 2),
    Case("LpPool", {"kernel_shape": (2, 3), "p": 3}, (IMAGE,), (0,)),
    *(Case(f"Global{op}Pool", {}, (IMAGE,), (0,)) for op in ("Average", "Max", "Lp")),
    Case("LRN", {"size": 3}, (IMAGE,), (0,)),
    Case("MaxUnpool", {"kernel_shape": (3, 3), "strides": (2, 2)},
         (normal(2, 2, 2, 2), places), (0, 1)),
    Case("MaxUnpool", {"kernel_shape": (2, 2), "strides": (2, 2)},
         (normal(2, 2, 2, 2), places, fixed([2, 2, 5, 6])), (0, 1)),
    Case("Col2Im", {}, (normal(2, 12, 12), fixed([4, 5]), fixed([2, 2])), (0,)),
    Case("CenterCropPad", {"axes": (0, -1)}, (normal(4, 5, 6), fixed([2, 8])), (0,)),
    Case("CenterCropPad", {}, (normal(4, 5), fixed([2, 8])), (0,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_pool(number):
    check_all(CASES[number])
