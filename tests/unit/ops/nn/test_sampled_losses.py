"""Sampled losses against the formula in NumPy, samplers against their distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

RNG = np.random.default_rng(0)
W, B, X = RNG.normal(size=(50, 8)), RNG.normal(size=50), RNG.normal(size=(4, 8))
RIGHT = np.array([[2], [5], [8], [9]])
DRAWN = np.array([3, 9, 20, 30, 40])
COUNTS = np.array([[0.1], [0.2], [0.1], [0.3]]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def _logits(*, remove: bool) -> np.ndarray:
    own = (X * W[RIGHT[:, 0]]).sum(1, keepdims=True) + B[RIGHT] - np.log(COUNTS[0])
    others = X @ W[DRAWN].T + B[DRAWN] - np.log(COUNTS[1])
    others[(RIGHT == DRAWN) & remove] = -np.inf
    return np.concatenate([own, others], 1)


def test_sampled_softmax() -> None:
    found = tf.nn.sampled_softmax_loss(
        W, B, RIGHT, tf.constant(X), 5, 50, sampled_values=(DRAWN, *COUNTS)
    )
    logits = _logits(remove=True)
    expected = np.log(np.exp(logits).sum(1)) - logits[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_nce() -> None:
    found = tf.nn.nce_loss(W, B, RIGHT, tf.constant(X), 5, 50, sampled_values=(DRAWN, *COUNTS))
    logits = _logits(remove=False)
    expected = np.log1p(np.exp(-logits[:, 0])) + np.log1p(np.exp(logits[:, 1:])).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_step_touches_few_rows() -> None:
    w = tf.Variable(W.astype(np.float32))
    with tf.GradientTape() as tape:
        x = tf.constant(X, tf.float32)
        losses = tf.nn.sampled_softmax_loss(w, B.astype(np.float32), RIGHT, x, 5, 50)
        loss = tf.reduce_mean(losses)
    gradient = tape.gradient(loss, w)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.values.shape == (9, 8)


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "repeating"])
@pytest.mark.parametrize("name", ["log_uniform", "uniform"])
def test_samplers(name: str, unique: bool) -> None:
    tf.random.set_seed(1)
    draw: Any = getattr(tf.random, f"{name}_candidate_sampler")
    right = tf.constant([[0, 7]], tf.int64)
    share = np.diff(np.log(np.arange(1, 12))) / np.log(11) if name == "log_uniform" else None
    share = np.full(10, 0.1) if share is None else share
    seen = np.zeros(10)
    runs = 400
    for _ in range(runs):
        sampled, own, drawn = draw(right, 2, 3, unique, 10)
        np.add.at(seen, sampled.numpy(), 1)
        assert not unique or len(set(sampled.numpy().tolist())) == 3
    assert own.shape == (1, 2)
    assert drawn.shape == (3,)
    expected = own.numpy()[0]
    assert abs(seen[[0, 7]] / runs - expected).max() < 0.1
    if not unique:
        np.testing.assert_allclose(expected, 3 * share[[0, 7]], rtol=1e-5)


def test_too_many_to_draw() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot draw 5 different classes"):
        tf.random.uniform_candidate_sampler([[0]], 1, 5, True, 4)
    with pytest.raises(ValueError, match="num_true=2"):
        tf.nn.nce_loss(W, B, RIGHT, tf.constant(X), 5, 50, num_true=2)


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "repeating"])
def test_samplers_by_given_numbers(unique: bool, tmp_path: Any) -> None:
    draw = tf.random.fixed_unigram_candidate_sampler
    assert draw is tf.nn.fixed_unigram_candidate_sampler
    numbers = [4.0, 0.0, 1.0, 9.0]
    right = [[1], [4]]
    seen = np.zeros(5)
    for seed in range(40):
        found = draw(
            right, 1, 2, unique, 5, distortion=0.5, num_reserved_ids=1, unigrams=numbers, seed=seed
        )
        assert not unique or len(set(found[0].numpy().tolist())) == 2
        np.add.at(seen, found[0].numpy(), 1)
    assert seen[0] == seen[2] == 0  # reserved, and of no number
    assert seen[4] > seen[3] > 0
    share = np.array([0, 2, 0, 1, 3]) / 6
    if not unique:
        np.testing.assert_allclose(found[1], 2 * share[[[1], [4]]], rtol=1e-5)
        np.testing.assert_allclose(found[2], 2 * share[found[0]], rtol=1e-5)
    (tmp_path / "words.csv").write_text("a,4\nb,0\nc,1\nd,9\n")
    file = str(tmp_path / "words.csv")
    found = draw([[0]], 1, 2, True, 4, vocab_file=file, num_shards=2, shard=0)
    assert sorted(found[0].numpy().tolist()) == [0, 2]
    assert found[2].numpy().tolist() == [1.0, 1.0]


def test_numbers_that_samplers_refuse() -> None:
    draw, refused = tf.random.fixed_unigram_candidate_sampler, tf.errors.InvalidArgumentError
    with pytest.raises(refused, match="either vocab_file or unigrams"):
        draw([[0]], 1, 1, True, 3)
    with pytest.raises(
        refused, match="2 numbers behind 0 reserved ids are not those of range_max=3"
    ):
        draw([[0]], 1, 1, True, 3, unigrams=[1, 2])
    with pytest.raises(refused, match="no class has a number above 0"):
        draw([[0]], 1, 1, True, 2, unigrams=[0, 0])
    with pytest.raises(refused, match="of range_max=3, of which 2 can be drawn"):
        draw([[0]], 1, 3, True, 3, unigrams=[1, 0, 2])
    with pytest.raises(refused, match=r"shard in \[0, num_shards\); got 0 and 0"):
        draw([[0]], 1, 1, True, 1, unigrams=[1], num_shards=0)
    with pytest.raises(refused, match="got 2 and 2"):
        draw([[0]], 1, 1, True, 1, unigrams=[1], num_shards=2, shard=2)
    with pytest.raises(refused, match="finite and not below 0"):
        draw([[0]], 1, 1, True, 1, unigrams=[float("nan")])


def test_files_that_samplers_refuse(tmp_path: Path) -> None:
    draw = tf.random.fixed_unigram_candidate_sampler
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        draw([[0]], 1, 1, True, 1, vocab_file=str(tmp_path / "nowhere"))
    (tmp_path / "words").write_text("the,1\ncat,many\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not end in a number"):
        draw([[0]], 1, 1, True, 2, vocab_file=str(tmp_path / "words"))


@pytest.mark.parametrize(
    "draw",
    [
        lambda right, count: tf.random.uniform_candidate_sampler(right, count, 2, True, 5),
        lambda right, count: tf.nn.all_candidate_sampler(right, count, 5, True),
        lambda right, count: tf.nn.compute_accidental_hits(right, [0, 1], count),
    ],
    ids=["drawn", "all", "hits"],
)
def test_right_classes_that_samplers_refuse(draw: Any) -> None:
    for right, count in (([[1, 2], [3, 4]], 1), ([1, 2], 2)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape \\[batch, num_true"):
            draw(right, count)
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match="integer"):
        draw([[0.5]], 1)


def test_all_classes_and_accidental_hits() -> None:
    sampled, right, others = tf.nn.all_candidate_sampler([[1, 2]], 2, 4, True)
    assert sampled.numpy().tolist() == [0, 1, 2, 3]
    assert right.numpy().tolist() == [[1.0, 1.0]]
    assert others.numpy().tolist() == [1.0] * 4

    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], tf.int64), tf.TensorSpec([None], tf.int64)]
    )
    def hits(right: Any, sampled: Any) -> Any:
        return tf.nn.compute_accidental_hits(right, sampled, 2)

    found = hits([[5, 1], [2, 7], [0, 3]], [2, 1, 3, 5])  # as TensorFlow has it
    assert found.indices.numpy().tolist() == [0, 0, 1, 2]
    assert found.ids.numpy().tolist() == [3, 1, 0, 2]
    assert found.weights.numpy().tolist() == [float(np.finfo(np.float32).min)] * 4
    assert found.indices.dtype == tf.int32


def test_batches_and_tables_of_unknown_size() -> None:
    given = [W, B, RIGHT, X]

    def loss(*args: tf.Tensor) -> tuple[tf.Tensor, ...]:
        drawn = (DRAWN, *COUNTS)
        return (
            tf.nn.nce_loss(*args, 5, 50, sampled_values=drawn),
            tf.nn.sampled_softmax_loss(*args, 5, 50, sampled_values=drawn),
        )

    specs = [tf.TensorSpec([None] * np.ndim(x), tf.constant(x).dtype) for x in given]
    found = tf.function(loss, input_signature=specs)(*given)
    for one, other in zip(found, loss(*map(tf.constant, given)), strict=True):
        assert one.numpy() == pytest.approx(other.numpy())
