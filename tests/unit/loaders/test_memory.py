"""Memory of an open bundle, measured in processes of their own: one copy of the weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tests import source_tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
WIDTH, LAYERS, SIGNATURES = 1024, 4, 8
WEIGHTS = LAYERS * WIDTH**2 * 4

PROGRAM = """
import gc, sys
import numpy as np
def used():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def tell(what):
    print(what, used() - before)
path, how = sys.argv[1:]
X = np.ones((1, {width}), np.float32)
if how.startswith("bundle"):
    from tfx.loaders import Bundle
    with Bundle.open(path + "_small") as small:
        small.call("s0", {{"x": X[:, :16]}})
    before = used()
    bundle = Bundle.open(path, freeze="frozen" in how)
    tell("opened")
    for name in bundle.signatures:
        for _ in range(3):
            bundle.call(name, {{"x": X}})
    tell("called")
    if "batch" in how:
        bundle.call("s0", {{"x": np.ones((20_000, {width}), np.float32)}})
        gc.collect()
        tell("batch")
    bundle.close()
    tell("closed")
else:
    import tfx as tf
    small = tf.saved_model.load(path + "_small")
    small.signatures["s0"](x=tf.constant(X[:, :16]))
    before = used()
    options = tf.saved_model.LoadOptions(freeze="frozen" in how)
    loaded = tf.saved_model.load(path, options=options)
    tell("opened")
    for function in loaded.signatures.values():
        for _ in range(20):
            function(x=tf.constant(X))
    tell("called")
    del loaded, function
    tell("closed")
"""


def make(path: Path, width: int, layers: int, count: int) -> None:
    model = tf.Module()
    rng = np.random.default_rng(1)
    model.layers = [
        tf.Variable(rng.standard_normal((width, width), np.float32)) for _ in range(layers)
    ]

    def function(number: int) -> tf.types.experimental.GenericFunction:
        def f(x: tf.Tensor) -> dict[str, tf.Tensor]:
            for w in model.layers:
                x = tf.nn.relu(x @ w)
            return {"y": x + float(number)}

        spec = tf.TensorSpec([None, width], tf.float32, name="x")
        return tf.function(f, input_signature=[spec])

    model.functions = [function(i) for i in range(count)]
    signatures = {f"s{i}": f for i, f in enumerate(model.functions)}
    tf.saved_model.save(model, path, signatures=signatures)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "m"
    make(path, WIDTH, LAYERS, SIGNATURES)
    make(path.with_name("m_small"), 16, 1, 1)
    return path


def measured(folder: Path, how: str) -> dict[str, float]:
    """Memory in multiples of the weights."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(width=WIDTH), str(folder), how],
        cwd=source_tree.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    rows = (line.split() for line in run.stdout.splitlines())
    return {what: int(count) / WEIGHTS for what, count in rows}


def test_on_disk_there_is_one_copy(folder: Path) -> None:
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert WEIGHTS <= total <= 1.15 * WEIGHTS


@pytest.mark.parametrize("how", ["bundle", "loaded"])
def test_in_shared_mode_all_signatures_take_one_copy(folder: Path, how: str) -> None:
    found = measured(folder, how)
    assert found["opened"] < 0.1
    assert 0.9 < found["called"] < 1.15
    assert found["closed"] < 0.1


@pytest.mark.slow
def test_frozen_signatures_take_a_copy_each_and_close_gives_them_back(folder: Path) -> None:
    found = measured(folder, "bundle frozen")
    assert found["opened"] < 0.1
    assert found["called"] < SIGNATURES + 1
    assert found["closed"] < 0.1


@pytest.mark.slow
def test_close_gives_back_what_a_large_batch_took(folder: Path) -> None:
    found = measured(folder, "bundle batch")
    assert found["batch"] > 3
    assert found["closed"] < 0.15
