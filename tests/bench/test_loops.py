"""Small loops beside TensorFlow: what can be had without it."""

from __future__ import annotations

import math

import pytest

import tfx as tf
from bench.loops import __main__ as driver
from bench.loops import worker


def test_every_row_is_known_to_the_worker() -> None:
    known = worker.cases(tf)
    assert {row.case for row in driver.ROWS} <= set(known)
    assert {row.case for row in driver.ROWS if not row.case.startswith(worker.FIRST)} == set(
        worker.PROGRAMS
    )


@pytest.mark.parametrize("name", ["metropolis", "kalman", "runge_kutta", "eigenvalues"])
def test_programs_compute_the_same_without_kernels(name: str) -> None:
    found = []
    for fuses in (True, False):
        tf.config.optimizer.set_jit(fuses)
        try:
            case = worker.cases(tf)[name]()
            case.round(0.001)
        finally:
            tf.config.optimizer.set_jit(True)
        found.append(case.first_value)
    assert math.isclose(*found, rel_tol=1e-3)
