"""No operator's derivatives end the process, or have a wrong shape, on inputs without elements."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.source_tree import ROOT

# They run on empty or mismatched inputs, and their derivatives say in an error that they do not.
REFUSED = {
    *("Col2Im", "Conv", "DeformConv", "GridSample", "InstanceNormalization", "Resize"),
    *("RMSNormalization", "RoiAlign", "ScatterElements", "ScatterND"),
}


@pytest.mark.proof
def test_every_operator() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.ops.empty_inputs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, f"{run.returncode}: {run.stderr[-2000:]}"
    *lines, last = run.stdout.splitlines()
    assert last == "done"
    unexpected = [line for line in lines if line.split()[0] not in REFUSED]
    assert not unexpected, "\n".join(unexpected)
