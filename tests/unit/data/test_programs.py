"""Random pipelines against lists: elements, their number, and positions that are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf
from tests.unit.data.reference import Dataset, shuffles, steps, values


def built(size: int, chosen: list[Any], sliced: bool) -> tuple[Any, list[int]]:
    dataset = Dataset.from_tensor_slices(list(range(size))) if sliced else Dataset.range(size)
    if sliced:
        dataset = dataset.map(lambda x: tf.cast(x, tf.int64))
    expected = list(range(size))
    for step, model in chosen:
        dataset, expected = step(dataset), model(expected)
    return dataset, expected


@settings(max_examples=60)
@given(st.integers(1, 12), steps, st.booleans())
def test_pipelines_do_what_lists_do(size: int, chosen: list[Any], sliced: bool) -> None:
    dataset, expected = built(size, chosen, sliced)
    assert values(dataset) == expected
    assert int(dataset.cardinality()) in (len(expected), tf.data.UNKNOWN_CARDINALITY)
    assert values(dataset) == expected  # again, with what is cached
    whole = [x for batch in values(dataset.batch(3)) for x in batch]
    assert whole == expected
    drawn = sorted(values(dataset.shuffle(4)))
    assert drawn == sorted(expected)


@settings(max_examples=40)
@given(st.integers(1, 12), steps, shuffles, steps, st.integers(0, 9), st.integers(0, 3))
def test_positions_are_saved(
    size: int, first: list[Any], shuffle: Any, then: list[Any], taken: int, batch: int
) -> None:
    def make() -> Any:
        dataset, _ = built(size, [*first, shuffle, *then], False)
        return dataset.batch(batch) if batch else dataset

    iterator = iter(make())
    for _ in range(taken):
        next(iterator, None)
    data = iterator._trackable_children()["position"].numpy()
    rest = values(iterator)
    other = iter(make())
    other._trackable_children()["position"].assign(data)
    assert values(other) == rest
    iterator._trackable_children()["position"].assign(data)
    assert values(iterator) == rest


PIPELINES: dict[str, Any] = {
    "parallel": lambda: Dataset.range(20).map(lambda x: x + 1, num_parallel_calls=3).prefetch(2),
    "interleave": lambda: Dataset.range(9).interleave(
        Dataset.range, cycle_length=3, block_length=2
    ),
    "repeated shuffle": lambda: Dataset.range(7).map(lambda x: x).shuffle(3, seed=1).repeat(4),
    "sampled": lambda: Dataset.sample_from_datasets(
        [Dataset.range(9), Dataset.range(9)], [0.3, 0.7], seed=2
    ),
    "grouped": lambda: Dataset.range(20).group_by_window(
        lambda x: x % 3, lambda k, w: w.batch(2), 3
    ),
    "buckets": lambda: (
        Dataset.range(1, 9)
        .map(lambda n: tf.fill([n], n))
        .bucket_by_sequence_length(lambda x: tf.size(x), [3, 6], [2, 3, 2])
    ),
    "windows": lambda: Dataset.range(9).window(3, 2).shuffle(3, seed=1).flat_map(lambda w: w),
    "generator": lambda: Dataset.from_generator(
        lambda: iter(range(9)), output_signature=tf.TensorSpec([], tf.int64)
    ).batch(2),
    "random": lambda: Dataset.random(seed=4).take(9),
    "chosen": lambda: Dataset.choose_from_datasets(
        [Dataset.range(9), Dataset.range(9)], Dataset.range(2).repeat(5)
    ),
    "resampled": lambda: Dataset.range(20).rejection_resample(
        lambda x: tf.cast(x % 2, tf.int32), [0.9, 0.1], [0.5, 0.5], seed=3
    ),
    "strings": lambda: Dataset.from_tensor_slices(["a", "b"]).map(lambda x: x + "!").shuffle(2),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("taken", [0, 2, 5])
def test_checkpoints_restore_iterators(name: str, taken: int, tmp_path: Path) -> None:
    iterator = iter(PIPELINES[name]())
    for _ in range(taken):
        next(iterator, None)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "c"))
    rest = values(iterator)
    again = iter(PIPELINES[name]())
    tf.train.Checkpoint(iterator=again).read(path).assert_consumed()
    assert values(again) == rest


def test_what_cannot_be_saved_says_so(tmp_path: Path) -> None:
    nested = Dataset.from_tensors((Dataset.range(2),)).repeat(3).shuffle(3)
    iterator = iter(nested)
    next(iterator)
    with pytest.raises(tf.errors.FailedPreconditionError, match="a nested dataset"):
        tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "c"))


def test_windows_of_ragged_and_sparse_elements() -> None:
    rows = tf.ragged.constant([[3.0, 1.0], [], [5.0, 9.0, 2.0]])
    cells = tf.SparseTensor([[0, 1], [2, 0]], [1, 2], [3, 2])
    dataset = tf.data.Dataset.from_tensor_slices((rows, cells, [1, 2, 3])).window(2)
    assert isinstance(dataset.element_spec[1].element_spec, tf.SparseTensorSpec)
    batches = dataset.flat_map(
        lambda *windows: tf.data.Dataset.zip(tuple(w.batch(2) for w in windows))
    )
    found = list(batches)
    assert [r.to_list() for r, _, _ in found] == [[[3.0, 1.0], []], [[5.0, 9.0, 2.0]]]
    dense = [tf.sparse.to_dense(c).numpy().tolist() for _, c, _ in found]
    assert dense == [[[0, 1], [0, 0]], [[2, 0]]]
    assert [n.numpy().tolist() for _, _, n in found] == [[1, 2], [3]]
