"""Every training program: it learns, goes on after a Ctrl-C to the same numbers, and is saved."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tests.model_zoo.programs import interrupt_and_resume
from tests.source_tree import ROOT
from tfx.model_zoo.char_lstm.model import CharLstm
from tfx.model_zoo.resnet50.model import ResNet

pytest.importorskip("sklearn")

# The signature that serves, its arguments for a call with three examples, and its results' shapes.
SERVED = {
    "char_lstm": ("serve", {"tokens": np.zeros((3, 5), np.int64)}, {"logits": [3, 5, 128]}),
    "vae": ("serve", {"code": np.zeros((3, 8), np.float32)}, {"image": [3, 8, 8]}),
    "diffusion": ("sample", {"label": np.arange(3)}, {"image": [3, 8, 8]}),
    "forces": (
        "serve",
        {"positions": np.arange(36, dtype=np.float32).reshape(3, 4, 3)},
        {"energy": [3], "forces": [3, 4, 3]},
    ),
    "policy_gradient": ("serve", {"state": np.zeros((3, 4), np.float32)}, {"right": [3]}),
    "tabular": ("serve", {"features": np.ones((3, 30), np.float32)}, {"probabilities": [3, 2]}),
    "resnet50": ("serve", {"image": np.ones((3, 8, 8, 1), np.float32)}, {"probabilities": [3, 10]}),
}
# What a program is made of while it is tested, so that it takes seconds.
SHORTER = {
    "forces": {"MOVES": 5},
    "policy_gradient": {"LONGEST": 5},
    "tabular": {"others": lambda seed: {}},
    "char_lstm": {"CharLstm": lambda units, seed: CharLstm(units=8, width=4, seed=seed)},
    "resnet50": {"ResNet": lambda *shape, **_: ResNet(*shape, depths=(1, 1), width=4)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SERVED))
def test_it_resumes_and_is_saved(name, tmp_path, monkeypatch):
    program = importlib.import_module(f"tfx.model_zoo.{name}.train")
    for constant, value in SHORTER.get(name, {}).items():
        monkeypatch.setattr(program, constant, value)
    interrupt_and_resume(program.main, tmp_path, steps=4)
    loaded = tf.saved_model.load(tmp_path / "whole" / "bundle")
    assert "train_step" in loaded.signatures
    serve, arguments, results = SERVED[name]
    found = loaded.signatures[serve](**{k: tf.constant(v) for k, v in arguments.items()})
    assert {k: v.shape.as_list() for k, v in found.items()} == results


def test_every_program_says_what_it_does_and_shows_what_came_out(capsys):
    folders = [path.parent for path in (ROOT / "model_zoo").glob("*/__main__.py")]
    assert len(folders) >= 9
    for folder in folders:
        main = importlib.import_module(f"tfx.model_zoo.{folder.name}.train").main
        with pytest.raises(SystemExit) as done:
            main(["--help"])
        assert done.value.code == 0
        text = capsys.readouterr().out
        assert all(option in text for option in ("--quick", "--resume", "--steps", "--out"))
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert f"python -m tfx.model_zoo.{folder.name}" in readme
        for picture in folder.glob("*.png"):
            assert f"]({picture.name})" in readme
            assert picture.stat().st_size < 100_000


def test_steps_must_be_some(tmp_path: Path, capsys):
    main = importlib.import_module("tfx.model_zoo.vae.train").main
    with pytest.raises(SystemExit):
        main(["--steps", "0", "--out", str(tmp_path)])
    assert "--steps must be at least 1, got 0" in capsys.readouterr().err
