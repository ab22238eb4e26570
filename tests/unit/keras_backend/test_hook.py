"""How Keras finds tfx, and tfx Keras: in processes of their own, as Keras is imported once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"} | environment,
    )


@pytest.mark.slow
def test_tf_keras_is_keras() -> None:
    program = """
import sys, tfx as tf
assert "keras" not in sys.modules
from tfx.keras import layers
import tfx.keras.losses as losses
import keras
assert tf.keras is sys.modules["tfx.keras"] and tf.keras.Model is keras.Model
assert tf.losses is tf.keras.losses and tf.metrics.Mean is keras.metrics.Mean
assert not [n for n in dir(keras) if n[0] != "_" and not hasattr(tf.keras, n)]
assert layers.Dense is keras.layers.Dense and losses.Loss is keras.losses.Loss
assert keras.backend.backend() == keras.config.backend() == "tfx"
assert isinstance(keras.ops.ones([2]), tf.Tensor)
"""
    done = run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_keras_runs_on_tfx_where_nothing_else_was_chosen_or_can_be(tmp_path: Path) -> None:
    program = """
import importlib.util, sys
absent = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "tensorflow" else absent(name, *a)
import tfx as tf
import keras
print(keras.backend.backend(), tf.keras.Model is keras.Model)
"""
    done = run(program, KERAS_HOME=str(tmp_path))
    assert done.stdout.split() == ["tfx", "True"], done.stderr
    (tmp_path / "keras.json").write_text('{"backend": "numpy"}')
    assert "tfx" not in run(program, KERAS_HOME=str(tmp_path)).stdout
    (tmp_path / "keras.json").write_text('{"backend": "tfx"}')
    done = run(program.replace("None if", "True if"), KERAS_HOME=str(tmp_path))
    assert done.stdout.split() == ["tfx", "True"], done.stderr


@pytest.mark.slow
def test_another_backend_is_refused_and_left_alone() -> None:
    program = """
import sys, types
config = types.ModuleType("keras.src.backend.config")
config.backend = lambda: "jax"
keras = types.ModuleType("keras")
keras.__version__ = "3.15.1"
sys.modules.update({"keras": keras, "keras.src.backend.config": config})
try:
    import tfx.keras
except ImportError as e:
    print(e)
"""
    assert "imported with the backend 'jax'. Import tfx.keras before keras" in run(program).stdout


@pytest.mark.slow
def test_keras_that_is_missing_or_untested() -> None:
    missing = """
import sys
sys.modules["keras"] = None
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name == "keras":
            raise ModuleNotFoundError("No module named 'keras'", name="keras")
del sys.modules["keras"]
sys.meta_path.insert(0, Gone())
try:
    import tfx.keras
except ImportError as e:
    print(e)
"""
    assert "pip install 'tfx-onnx[keras]'" in run(missing).stdout
    untested = """
import warnings
from tfx import keras_hook
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    keras_hook._check_version("3.15.9")
    keras_hook._check_version("3.19.0")
print(*[w.message for w in said], sep="\\n")
"""
    said = run(untested).stdout.splitlines()
    assert len(said) == 1
    assert "Keras 3.19.0 is another version than those that tfx was tested with (3.15)" in said[0]
