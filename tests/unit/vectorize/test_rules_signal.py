"""Batching rules of Fourier transforms."""

from __future__ import annotations

import pytest

from tests.unit.vectorize.elementwise import Case, check_all, fixed, normal

CASES = [
    *(
        Case("DFT", {}, (normal(2, 6, 4, 2), None, None if axis is None else fixed(axis)), (0,))
        for axis in (None, 0, 1, -2)
    ),
    Case("DFT", {"onesided": 1}, (normal(2, 6, 4, 1), fixed(8), fixed(1)), (0,)),
    Case("DFT", {"onesided": 1, "inverse": 1}, (normal(6, 4, 2), fixed(5), fixed(-2)), (0,)),
    Case("STFT", {}, (normal(2, 20, 1), fixed(3), normal(8)), (0, 2)),
    Case("STFT", {"onesided": 0}, (normal(2, 20, 1), fixed(4), None, fixed(8)), (0,)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_transform(number):
    check_all(CASES[number])
