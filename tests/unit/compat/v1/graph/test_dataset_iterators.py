"""Iterators of datasets in graphs: what begins them, whose they are, and what they give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfx
import tfx.compat.v1 as tf

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph


def _all(session: Any, element: Any, feeds: Any = None) -> list[Any]:
    found = []
    with pytest.raises(tfx.errors.OutOfRangeError):
        while True:
            found.append(np.asarray(session.run(element, feeds)).tolist())
    return found


def test_each_session_has_a_position_of_its_own() -> None:
    element = Dataset.range(3).make_one_shot_iterator().get_next()
    for _ in range(2):
        with tf.Session() as session:
            assert _all(session, element) == [0, 1, 2]


def test_an_initializer_takes_what_is_fed() -> None:
    rows = tf.placeholder(tfx.int32, [None])
    iterator = Dataset.from_tensor_slices(rows).map(lambda x: x * 2).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        with pytest.raises(tfx.errors.FailedPreconditionError, match="not been initialized"):
            session.run(element)
        for given in ([1, 2], [3]):
            assert session.run(iterator.initializer, {rows: given}) is None
            assert _all(session, element) == [2 * x for x in given]


def test_a_one_shot_iterator_may_be_made_of_tensors_of_the_graph() -> None:
    element = Dataset.from_tensor_slices(tf.constant([4, 5])).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert _all(session, element) == [4, 5]


def test_one_iterator_goes_through_several_datasets() -> None:
    train = Dataset.from_tensor_slices({"x": [[1.0], [2.0]], "y": [1, 2]})
    test = Dataset.from_tensor_slices({"x": [[7.0]], "y": [7]})
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    assert iterator.output_types == {"x": tfx.float32, "y": tfx.int32}
    assert iterator.output_shapes["x"].as_list() == [1]
    element = iterator.get_next()
    assert element["x"].shape.as_list() == [1]
    begin = [iterator.make_initializer(d) for d in (train, test)]
    with tf.Session() as session:
        for operation, expected in zip(begin, ([1, 2], [7]), strict=True):
            session.run(operation)
            assert _all(session, element["y"]) == expected
    for wrong in (Dataset.range(2), test.batch(2)):
        with pytest.raises(TypeError, match="Expected elements of"):
            iterator.make_initializer(wrong)
    with pytest.raises(ValueError, match="does not have an initializer"):
        _ = iterator.initializer


def test_a_fed_handle_says_which_iterator_is_meant() -> None:
    few = Dataset.range(2).make_one_shot_iterator()
    many = Dataset.from_tensor_slices(tf.constant([7, 8], tfx.int64)).make_initializable_iterator()
    other = Dataset.from_tensors("text").make_one_shot_iterator()
    handle = tf.placeholder(tfx.string, [])
    both = tf.data.Iterator.from_string_handle(handle, tfx.int64, [])
    element = both.get_next() * 10
    with tf.Session() as session:
        names = session.run([i.string_handle() for i in (few, many, other)])
        with pytest.raises(tfx.errors.FailedPreconditionError):
            session.run(element, {handle: names[1]})
        session.run(many.initializer)
        assert _all(session, element, {handle: names[0]}) == [0, 10]
        assert _all(session, element, {handle: names[1]}) == [70, 80]
        with pytest.raises(tfx.errors.InvalidArgumentError, match="has elements of"):
            session.run(element, {handle: names[2]})
        with pytest.raises(tfx.errors.InvalidArgumentError, match="no handle of an iterator"):
            session.run(element, {handle: "none"})


def test_classes_of_elements() -> None:
    sparse = tfx.sparse.from_dense([[0, 1], [2, 0]])
    dataset = Dataset.from_tensor_slices((sparse, [1, 2]))
    assert dataset.output_classes == (tfx.SparseTensor, tfx.Tensor)
    iterator = tf.data.Iterator.from_structure(
        dataset.output_types, dataset.output_shapes, output_classes=dataset.output_classes
    )
    begin, (found, _) = iterator.make_initializer(dataset), iterator.get_next()
    with tf.Session() as session:
        session.run(begin)
        assert session.run(found).indices.tolist() == [[1]]


def test_older_names_of_methods() -> None:
    dataset = Dataset.range(4).map_with_legacy_function(lambda x: x + 1)
    dataset = dataset.filter_with_legacy_function(lambda x: x > 2)
    with tf.Session() as session:
        assert _all(session, dataset.make_one_shot_iterator().get_next()) == [3, 4]
