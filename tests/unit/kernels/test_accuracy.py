"""Functions of the kernels are within 2 units in the last place, over all numbers."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from tests.unit.kernels.compiling import compiled
from tfx.kernels import build

FUNCTIONS = {"Exp", "Log", "Tanh", "Sigmoid", "Erf", "Pow"}


# Numbers of float64 and pairs for powers; of float32, every how many.
@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant,
    reason="there are no wider numbers here to compare with",
)
@pytest.mark.parametrize(
    ("count", "step"),
    [(500_000, 10_007), pytest.param(20_000_000, 13, marks=pytest.mark.proof)],
)
def test_over_the_whole_domain(count, step, tmp_path):
    """Denormals, zeros of both signs, infinities and NaN among them, which have to be exact."""
    program = compiled("functions_check", tmp_path, [*build.FLAGS, *build.machine_flags()])
    command = [program, "1", str(count), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {(name, kind) for name, kind, *_ in lines} == {
        (name, kind) for name in FUNCTIONS for kind in ("f32", "f64")
    }
    for name, kind, worst, at, other in lines:
        assert 0 < float(worst) <= 2, (name, kind, worst, at, other)
