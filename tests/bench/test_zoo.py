"""The comparison of the zoo's models; other frameworks need not be installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from bench.peers import environments
from bench.zoo import __main__ as driver
from bench.zoo import pictures, programs, tensorflow_programs, worker
from bench.zoo.__main__ import Figure


def test_every_row_is_known_to_the_worker() -> None:
    makers = tensorflow_programs.makers(tf)
    known = set(worker.cases("tfx", makers))
    assert {row.case for row in driver.rows_on_gpu()} <= known
    timed = [row for row in driver.ROWS if row.unit == "ms"]
    assert {case for row in timed for case in (row.case, row.beside) if case} == known
    assert {row.case for row in driver.ROWS if row.unit == "MB"} == set(makers)
    assert set(makers) == set(programs.BATCHES) == set(programs.LARGE) == set(programs.TITLES)


@pytest.mark.parametrize("name", ["mlp", "convnet", "vae"])
def test_programs_learn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tensorflow_programs.makers(tf)[name](4)
    losses = [float(program.wait(program.train())) for _ in range(20)]  # type: ignore[arg-type]
    assert losses[-1] < losses[0]
    assert program.parameters > 100_000
    found: Any = program.wait(program.infer())
    assert np.isfinite(found).all()
    assert len(found) == 4


def test_the_shape_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LSTM_UNITS", "LSTM_WIDTH", "DECODER_WIDTH"):
        monkeypatch.setattr(programs, name, 12)
    monkeypatch.setattr(programs, "DEPTH", 1)
    makers = tensorflow_programs.makers(tf)
    for name in ("char_lstm", "decoder"):
        program = makers[name](2)
        found: Any = program.wait(program.infer())
        assert found.shape == (2, programs.TEXT, programs.VOCABULARY)
        assert float(program.wait(program.train())) > 0  # type: ignore[arg-type]


def test_verdicts() -> None:
    rows = {row.case: row for row in driver.ROWS if row.unit == "ms"}
    figures = {("mlp_train", "tfx"): Figure(1.0, 0.9, 1.1), ("mlp_train", "jax"): Figure(2, 2, 2)}
    verdict = driver._verdict
    assert verdict(rows["mlp_train"], figures) == ("0.50", "≤ 1x all", "met")
    figures["mlp_train", "torch"] = Figure(0.5, 0.5, 0.5)
    assert verdict(rows["mlp_train"], figures) == ("2.00", "≤ 1x all", "**missed**")
    figures["decode", "tfx"], figures["decode_alone", "tfx"] = Figure(1.2, 1, 2), Figure(1, 1, 1)
    assert verdict(rows["decode"], figures) == ("1.20", "≤ 1.1x", "**missed**")
    memory = next(row for row in driver.ROWS if row.unit == "MB" and row.case == "vae")
    figures["vae memory", "tfx"], figures["vae memory", "torch"] = Figure(1, 1, 1), Figure(1, 1, 1)
    assert verdict(memory, figures) == ("1.00", "≤ 1.1x PyTorch", "met")
    cells = driver._cells(rows["mlp_train"], figures)
    assert cells == ["1.00 ms (0.90-1.10)", "-", "0.50 ms", "2.00 ms"]


def test_medians_and_quartiles() -> None:
    assert driver._figure([3.0]) == Figure(3.0, 3.0, 3.0)
    assert driver._figure([1.0, 2.0, 3.0, 4.0, 100.0]) == Figure(3.0, 2.0, 4.0)


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["nothing"], "no row is called 'nothing'"),
        (["mlp_train", "--write"], "--write replaces the whole table"),
    ):
        with pytest.raises(SystemExit):
            driver.main(arguments)
        assert message in capsys.readouterr().err


def test_bars(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    bars = {
        "train": {"mlp": {"tfx": 1.0, "torch": 2.0}},
        "infer": {},
        "memory": {"mlp": {"tfx": 1}},
    }
    files = pictures.write(bars, driver.NAMES, tmp_path)
    assert [f.name for f in files] == ["zoo-train.png", "zoo-memory.png"]
    before = [f.read_bytes() for f in files]
    assert before[0].startswith(b"\x89PNG")
    pictures.write(bars, driver.NAMES, tmp_path)
    assert [f.read_bytes() for f in files] == before
    assert pictures._height("train", {"tfx": 1.0, "torch": 2.0}, "torch") == 0.5
    assert pictures._height("memory", {"tfx": 1.0, "torch": 2.0}, "torch") == 2.0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_a_training_step() -> None:
    command = [sys.executable, "-m", "bench.zoo.worker", "tfx", "vae"]
    from bench.peers.memory import run_for_bytes

    assert 1e6 < run_for_bytes(command) < 1e9


STAND_IN = """
import sys
from types import SimpleNamespace
sys.path.insert(0, {root!r})
from bench.zoo.on_tensorflow import use_tensorflow
import tfx as real
fake = SimpleNamespace(TensorSpec=lambda *a: a, float32="float32", Module=real.Module)
for name in [n for n in sys.modules if n == "tfx" or n.startswith("tfx.model_zoo")]:
    del sys.modules[name]
tf = use_tensorflow(fake)
import tfx
assert tfx is tf
assert tfx.Module is real.Module
assert tfx.TensorSpec(["batch", 3], "int64", name="x") == ([None, 3], "int64", "x")
import tfx.model_zoo.text as text
print(text.__file__)
"""


def test_the_zoo_s_files_run_on_another_tensorflow() -> None:
    program = STAND_IN.format(root=str(environments.ROOT))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("text.py")


def test_the_loop_in_place_of_the_operator(rng: np.random.Generator) -> None:
    from bench.zoo.on_tensorflow import _lstm

    time, batch, width, units = 5, 2, 3, 4
    shapes = [(time, batch, width), (4 * units, width), (4 * units, units), (8 * units,)]
    x, w, r, b = (tf.constant(rng.standard_normal(s).astype(np.float32)) for s in shapes)
    h, c = (tf.constant(rng.standard_normal((batch, units)).astype(np.float32)) for _ in "hc")
    found = _lstm(tf, x, w, r, b, h, c, units)
    expected = tf.raw.LSTM(
        x, w[None], r[None], b[None], None, h[None], c[None], hidden_size=units, n_outputs=3
    )
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), e.numpy(), atol=1e-5)
