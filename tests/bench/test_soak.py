"""The soak run, short: no error, nothing grows, and what goes wrong is told."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from bench import soak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_short_soak_is_good(capsys: Any) -> None:
    assert soak.main(["--reloads", "16", "--calls", "600"]) == 0
    text = capsys.readouterr().out
    assert text.count("good") == 3
    assert "BAD" not in text


def test_mixed_versions_are_noticed() -> None:
    sums = np.full(4, soak.WIDTH * 2.0, np.float32)
    assert soak.check(1, np.full(3, 17.0), sums) is None
    assert "a prediction of several versions" in str(soak.check(1, np.array([1.0, 17]), sums))
    assert "a prediction of several versions" in str(soak.check(1, np.full(3, 18.0), sums))
    assert "variables of several versions" in str(soak.check(2, np.full(3, 17.0), sums))


def test_errors_and_growth_are_bad() -> None:
    outcome = soak.Outcome("x", memory=[100 << 20] * 40, files=[5] * 40)
    assert outcome.good
    outcome.memory[20:] = [140 << 20] * 20
    assert outcome.growth == 40 << 20
    assert not outcome.good


def test_an_error_in_a_thread_is_kept() -> None:
    def fail(number: int) -> None:
        raise ValueError("no")

    outcome = soak.Outcome("x", memory=[0], files=[0])
    with soak.threads(2, fail, outcome):
        pass
    assert outcome.errors == ["ValueError: no"] * 2
    assert not outcome.good
