"""Input pipelines as the data guides build them: sources of one's own, windows, loops over data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf

Dataset = tf.data.Dataset


class Numbered(Dataset):
    """A source written as a class: the elements of a generator that opens and closes something."""

    @staticmethod
    def _generator(count: int) -> Iterator[Any]:
        for number in range(count):
            yield (number,)

    def __new__(cls, count: int = 3) -> Any:
        return Dataset.from_generator(
            cls._generator, output_signature=tf.TensorSpec([1], tf.int64), args=(count,)
        )


def test_a_source_that_is_a_class() -> None:
    assert [x.tolist() for x in Numbered().as_numpy_iterator()] == [[0], [1], [2]]
    both = Dataset.range(2).interleave(lambda n: Numbered(2), cycle_length=2)
    assert np.concatenate(list(both.as_numpy_iterator())).tolist() == [0, 0, 1, 1]


def test_one_graph_for_data_of_any_length() -> None:
    traces: list[None] = []

    @tf.function
    def train(dataset: Any) -> tf.Tensor:
        traces.append(None)
        loss = tf.constant(0)
        for x, y in dataset:
            loss += tf.abs(y - x)
        return loss

    assert train([(1, 1)] * 3).numpy() == 0  # unrolled
    for length in (3, 10):
        pairs = Dataset.from_generator(lambda n=length: [(1, 4)] * n, (tf.int32, tf.int32))
        assert train(pairs).numpy() == 3 * length
    assert len(traces) <= 3


def test_windows_and_what_follows_them() -> None:
    def windows(width: int, shift: int, stride: int) -> Any:
        parts = Dataset.range(40).window(width, shift=shift, stride=stride)
        return parts.flat_map(lambda part: part.batch(width, drop_remainder=True))

    found = list(windows(10, 5, 3).take(2).as_numpy_iterator())
    assert found[0].tolist() == list(range(0, 30, 3))
    assert found[1].tolist() == list(range(5, 35, 3))
    pairs = windows(4, 4, 1).map(lambda w: (w[:-1], w[1:]))
    assert pairs.element_spec[0] == tf.TensorSpec([3], tf.int64)
    x, y = next(iter(pairs.batch(2)))
    assert (x.numpy() + 1 == y.numpy()).all()


def test_labels_that_balance_and_lengths_that_match() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    data = Dataset.from_tensor_slices((np.arange(100), labels))
    classes = [data.filter(lambda x, y, k=k: y == k).repeat() for k in (0, 1)]
    balanced = Dataset.sample_from_datasets(classes, [0.5, 0.5], seed=1).take(200)
    share = np.mean([y for _, y in balanced.as_numpy_iterator()])
    assert 0.35 < share < 0.65
    texts = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], [21, 22]]
    rows = Dataset.from_generator(lambda: texts, tf.int64, output_shapes=[None])
    buckets = rows.bucket_by_sequence_length(tf.size, [3, 5], [2, 2, 2])
    assert sorted(b.shape.as_list() for b in buckets) == [[2, 2], [2, 4], [2, 6]]


def test_training_that_was_interrupted(tmp_path: Path) -> None:
    """The model, its optimizer and the place in the data go on where the last save was."""

    def begin() -> tuple[Any, Any, Any]:
        x = tf.range(10.0)[:, None]
        rows = {"x": x, "y": x * 5.0 + tf.range(5.0)[None]}
        net = tf.keras.Sequential([tf.keras.layers.Dense(5, kernel_initializer="ones")])
        checkpoint = tf.train.Checkpoint(
            step=tf.Variable(1),
            optimizer=tf.keras.optimizers.Adam(0.1),
            net=net,
            iterator=iter(Dataset.from_tensor_slices(rows).repeat().batch(2)),
        )
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path / "saved"), max_to_keep=2)
        return checkpoint, manager, net

    def train(checkpoint: Any, net: Any, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            example = next(checkpoint.iterator)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.abs(net(example["x"]) - example["y"]))
            slopes = tape.gradient(loss, net.trainable_variables)
            checkpoint.optimizer.apply_gradients(zip(slopes, net.trainable_variables, strict=True))
            checkpoint.step.assign_add(1)
            losses.append(float(loss))
        return losses

    first, manager, net = begin()
    train(first, net, 12)
    manager.save()
    expected = train(first, net, 6)
    second, manager, net = begin()  # nothing is built yet
    status = second.restore(manager.latest_checkpoint)
    assert train(second, net, 6) == expected
    assert int(second.step) == 19
    status.assert_consumed()
