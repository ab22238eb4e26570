"""SIGKILL during a save leaves the old or the new bundle, complete, wherever it hits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_tree

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and sends SIGKILL")


def killed(tmp_path: Path, count: int, seed: int, how: str) -> list[tuple[int, int]]:
    """The versions before and after each kill."""
    (tmp_path / "there").mkdir()
    arguments = [str(tmp_path / "there" / "m"), str(count), str(seed), how]
    run = subprocess.run(
        [sys.executable, "-m", "tests.crash.killing", *arguments],
        cwd=source_tree.ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    rows = [[int(part) for part in line.split()] for line in run.stdout.splitlines()]
    assert [row[0] for row in rows] == list(range(count))
    return [(before, after) for _, before, after in rows]


@pytest.mark.parametrize("how", ["time", "lines"])
def test_a_few_random_points(tmp_path: Path, how: str) -> None:
    killed(tmp_path, 15, 1, how)


@pytest.mark.proof
@pytest.mark.parametrize("how", ["time", "lines"])
def test_two_hundred_random_points(tmp_path: Path, how: str) -> None:
    seen = killed(tmp_path, 200, 2, how)
    # The points are not all on one side of the exchange.
    assert sum(before == after for before, after in seen) > 20
    assert sum(before < after for before, after in seen) > 5
