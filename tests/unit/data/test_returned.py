"""Datasets that functions return, and that go from one function to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.data.reference import Dataset, values

INT64 = tf.int64


@tf.function
def total(dataset: Any) -> Any:
    return dataset.reduce(np.int64(0), lambda so_far, x: so_far + x)


def test_a_dataset_that_depends_on_an_argument_is_returned() -> None:
    @tf.function
    def shifted(n: Any) -> Any:
        return {"all": Dataset.range(n).map(lambda x: x + n), "next": n + 1}

    found = shifted(tf.constant(3, INT64))
    assert values(found["all"]) == values(found["all"]) == [3, 4, 5]
    assert int(found["next"]) == 4 and found["all"].element_spec == tf.TensorSpec([], INT64)


def test_a_dataset_without_tensors_of_the_function_is_returned() -> None:
    assert values(tf.function(lambda: Dataset.range(3))()) == [0, 1, 2]


def test_a_dataset_made_of_an_argument_is_returned() -> None:
    pairs = tf.function(lambda dataset: dataset.map(lambda x: x + 1).batch(2))
    assert values(pairs(Dataset.range(3))) == [[1, 2], [3]]
    assert values(pairs(Dataset.range(4, 6))) == [[5, 6]]
    assert pairs.experimental_get_tracing_count() == 1


def test_each_call_gives_a_dataset_of_its_own_that_stays() -> None:
    many = tf.function(lambda n: Dataset.range(n))
    found = [many(tf.constant(n, INT64)) for n in range(300)]
    assert [len(values(x)) for x in found[:3]] == [0, 1, 2] and len(values(found[-1])) == 299


def test_functions_hand_datasets_to_functions() -> None:
    @tf.function
    def outer(n: Any) -> Any:
        made = tf.function(lambda n: Dataset.range(n))(n)
        return total(made), total(made.map(lambda x: x * n)), total(Dataset.range(3))

    assert [int(x) for x in outer(tf.constant(4, INT64))] == [6, 24, 3]


def test_the_result_is_described_by_its_spec() -> None:
    concrete = tf.function(lambda n: Dataset.range(n)).get_concrete_function(
        tf.TensorSpec([], INT64)
    )
    assert concrete.structured_outputs == tf.data.DatasetSpec(tf.TensorSpec([], INT64))
    assert concrete.output_dtypes == tf.variant and concrete.output_shapes == []


def test_type_spec_of_a_dataset() -> None:
    dataset = Dataset.range(2).batch(2, drop_remainder=True)
    assert tf.type_spec_from_value(dataset) == tf.data.DatasetSpec(tf.TensorSpec([2], INT64))


@pytest.mark.parametrize("kind", ["if", "loop"])
def test_the_value_of_now_counts(kind: str) -> None:
    @tf.function
    def f(n: Any) -> Any:
        found = tf.constant(0, INT64)
        if kind == "loop":
            for i in tf.range(n):
                found += total(Dataset.range(i))
        elif n > 2:
            found = total(Dataset.range(n))
        return found

    # 0 + 0 + 1 + 3 for the loop: sums below 0, 1, 2 and 3; and 0 + 1 + 2 + 3 for the branch.
    assert int(f(tf.constant(4, INT64))) == {"loop": 4, "if": 6}[kind]
