"""A part of Keras' own tests, from its wheel; `make test-keras` runs all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SPEC = find_spec("keras")
assert SPEC is not None
assert SPEC.origin is not None
SOURCE = Path(SPEC.origin).parent / "src"

PARTS = {
    "layers": "layers/core/dense_test.py layers/core/embedding_test.py layers/rnn/gru_test.py "
    "layers/normalization/batch_normalization_test.py layers/pooling/max_pooling_test.py",
    "training": "losses metrics/accuracy_metrics_test.py optimizers/adam_test.py "
    "optimizers/optimizer_test.py models/sequential_test.py",
}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_keras_passes_its_own_tests(part: str, tmp_path: Path) -> None:
    options = ["-q", "-c", os.devnull, "-p", "tfx.keras", "-p", "no:cacheprovider", "--tb=short"]
    # The tests know other backends only, by their names.
    sparse = "not test_dense_sparse and not (EmbeddingTest and sparse)"
    left_out = ["-k", f"not test_quantize_float8 and not test_ragged and {sparse}"]
    files = [str(SOURCE / name) for name in PARTS[part].split()]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *left_out, *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "KERAS_BACKEND": "tfx"},
    )
    assert run.returncode == 0, run.stdout[-5000:]
