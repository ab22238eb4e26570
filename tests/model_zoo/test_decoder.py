"""The decoder: its cache, learning, resuming, and training where there is no tfx."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tests.model_zoo.programs import interrupt_and_resume
from tfx.model_zoo import text
from tfx.model_zoo.decoder import train
from tfx.model_zoo.decoder.model import Decoder

SMALL = functools.partial(Decoder, width=16, heads=2, depth=2, context=12)


def test_text_is_numbers_and_back():
    assert text.decode(text.encode("a\u2018b\u2019\nc")) == "ab\nc"
    known, held_out = text.load()
    assert min(known.min(), held_out.min()) >= 0
    assert max(known.max(), held_out.max()) < text.VOCABULARY
    np.testing.assert_array_equal(
        text.windows(np.arange(8), 4), [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    )


def test_one_character_after_the_other_gives_what_the_whole_text_gives():
    model = SMALL()
    tokens = text.encode("a cache of k")
    whole = model(tokens[None])[0]
    for position, token in enumerate(tokens):
        logits = model.next_logits(tf.constant(token), tf.constant(position))
        np.testing.assert_allclose(logits, whole[position], atol=1e-5)


def test_it_generates_what_it_has_learned(tmp_path):
    model = SMALL(learning_rate=1e-2)
    tokens = text.encode("abcabcabcabc")
    losses = [float(model.train_step(np.tile(tokens, (4, 1)))["loss"]) for _ in range(80)]
    assert losses[-1] < 0.5 * losses[0]
    tf.saved_model.save(model, tmp_path / "bundle", signatures={"generate": model.generate})
    loaded = tf.saved_model.load(tmp_path / "bundle")
    for generate in (model.generate, loaded.signatures["generate"]):
        for length in (12, 100):  # no longer than the context
            found = generate(
                prompt=tf.constant(tokens[:4]),
                length=tf.constant(length),
                temperature=tf.constant(0.1),
            )
            assert text.decode(found["tokens"].numpy()) == "abcabcabcabc"


@pytest.mark.slow
def test_it_resumes_and_is_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "Decoder", lambda seed, **_: SMALL(seed=seed))
    interrupt_and_resume(train.main, tmp_path, steps=6)
    loaded = tf.saved_model.load(tmp_path / "whole" / "bundle")
    assert set(loaded.signatures) == {"serve", "generate", "train_step"}


# As docs/bundles.md has it: onnxruntime, numpy, and a reader of safetensors.
ELSEWHERE = """
import sys, numpy, onnxruntime
from safetensors.numpy import load_file

bundle, batches = sys.argv[1:]
variables = load_file(f"{bundle}/variables/model.safetensors")
session = onnxruntime.InferenceSession(f"{bundle}/train_step.onnx")
outputs = [item.name for item in session.get_outputs()]
inputs = [item.name for item in session.get_inputs() if item.name in variables]
for tokens in numpy.load(batches):
    held = {name: variables[name] for name in inputs}
    found = dict(zip(outputs, session.run(None, {"tokens": tokens} | held)))
    variables.update({name: found[f"{name}_new"] for name in inputs if f"{name}_new" in found})
    print(float(found["loss"]))
assert "tfx" not in sys.modules and "onnx" not in sys.modules
"""


@pytest.mark.slow
def test_training_goes_on_with_onnxruntime_and_numpy_alone(tmp_path: Path):
    pytest.importorskip("safetensors")
    model = SMALL()
    data = iter(text.batches(text.load()[0], model.context + 1, batch=8, seed=0))
    for _ in range(5):
        model.train_step(next(data))
    bundle = tmp_path / "bundle"
    tf.saved_model.save(model, bundle, signatures={"train_step": model.train_step})
    batches = np.stack([next(data).numpy() for _ in range(20)])
    np.save(tmp_path / "batches.npy", batches)
    command = [sys.executable, "-c", ELSEWHERE, str(bundle), str(tmp_path / "batches.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    here = [float(model.train_step(tokens)["loss"]) for tokens in batches]
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], here, atol=1e-5)
