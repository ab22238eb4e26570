"""The digits demo: what ``make demo`` promises, as a person runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")


def test_demo_from_training_to_other_processes(tmp_path: Path) -> None:
    bundle = tmp_path / "digits"
    command = [sys.executable, "-m", "tfx.model_zoo.digits.demo", "--out", str(bundle)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout
    accuracy = re.search(r"Held-out accuracy ([\d.]+)%", text)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97.0
    assert "serving_default" in text
    assert "train_step" in text
    assert re.search(r"onnxruntime alone: 360 images, same digits", text)
    losses = re.search(r"loss goes on falling: (.*)", text)
    assert losses is not None
    values = [float(x) for x in losses[1].split()]
    assert values[-1] < values[0]
    assert (bundle / "serving_default.onnx").is_file()
    assert re.search(r"[\d.]+ s in all", text)
