"""Random structures in the files of a bundle: taken or refused, and never anything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import make
from tests.source_tree import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits on memory")
KINDS = ["manifest", "header", "graph"]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make.save_honest(tmp_path_factory.mktemp("fuzz"))


def fuzz(honest: Path, kind: str, count: int, seed: int) -> dict[str, int]:
    run = subprocess.run(
        [sys.executable, "-m", "tests.hostile.fuzzing", str(honest), kind, str(count), str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=290,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    outcomes: dict[str, int] = json.loads(run.stdout)
    return outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_changes(honest: Path, kind: str) -> None:
    outcomes = fuzz(honest, kind, 20, 1)
    assert outcomes["Bundle BundleError"] > 0
    assert outcomes["load BundleError"] > 0


@pytest.mark.proof
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_changes(honest: Path, kind: str) -> None:
    outcomes = fuzz(honest, kind, 1000, 2)
    # The changes are not so wild that nothing gets past the first checks.
    assert outcomes["Bundle taken"] > 0
    assert outcomes["load taken"] > 0
