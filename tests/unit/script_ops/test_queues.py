"""Queues: order, waiting, closing, and steps of a function."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tfx as tf


def _values(found: Any) -> Any:
    return tf.nest.map_structure(lambda x: np.asarray(x).tolist(), found)


def test_first_in_first_out() -> None:
    queue = tf.queue.FIFOQueue(3, [tf.float32, tf.int32], shapes=[[2], []])
    queue.enqueue([[1.0, 2.0], 3])
    queue.enqueue_many([[[3.0, 4.0], [5.0, 6.0]], [4, 5]])
    assert int(queue.size()) == 3
    assert _values(queue.dequeue()) == [[1.0, 2.0], 3]
    assert _values(queue.dequeue_many(2)) == [[[3.0, 4.0], [5.0, 6.0]], [4, 5]]
    with pytest.raises(ValueError, match=r"Shape .* is not that of"):
        queue.enqueue([[1.0], 3])
    with pytest.raises(ValueError, match="takes 2 components"):
        queue.enqueue([[1.0, 2.0]])


def test_a_closed_queue() -> None:
    queue = tf.queue.FIFOQueue(5, tf.string, shapes=[[]])
    queue.enqueue_many([["a", "b", "c"]])
    queue.close()
    assert bool(queue.is_closed())
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        queue.enqueue("d")
    assert _values(queue.dequeue()) == b"a"
    with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 3, current size 2"):
        queue.dequeue_many(3)
    assert _values(queue.dequeue_up_to(3)) == [b"b", b"c"]
    with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
        queue.dequeue()


def test_names() -> None:
    queue = tf.queue.FIFOQueue(2, [tf.int32, tf.float32], names=["a", "b"])
    queue.enqueue({"b": 2.0, "a": 1})
    assert _values(queue.dequeue()) == {"a": 1, "b": 2.0}
    with pytest.raises(ValueError, match="give a dict"):
        queue.enqueue([1, 2.0])
    with pytest.raises(ValueError, match=r"The names of .* are \['a', 'b'\]"):
        queue.enqueue({"a": 1, "c": 2.0})


def test_padding_and_priorities_and_shuffling() -> None:
    padding = tf.queue.PaddingFIFOQueue(5, [tf.int32], shapes=[[None]])
    padding.enqueue([[1, 2]])
    padding.enqueue([[3]])
    assert _values(padding.dequeue_many(2)) == [[1, 2], [3, 0]]
    priorities = tf.queue.PriorityQueue(5, [tf.string], shapes=[[]])
    priorities.enqueue_many([np.array([3, 1, 2]), ["c", "a", "b"]])
    assert _values(priorities.dequeue()) == [1, b"a"]
    assert _values(priorities.dequeue_many(2)) == [[2, 3], [b"b", b"c"]]
    orders = []
    for _ in range(2):
        shuffled = tf.queue.RandomShuffleQueue(20, 2, tf.int32, shapes=[[]], seed=3)
        shuffled.enqueue_many([list(range(12))])
        orders.append(_values(shuffled.dequeue_many(10)))
        shuffled.close()
        orders[-1] += _values(shuffled.dequeue_up_to(5))
    assert orders[0] == orders[1] != list(range(12))
    assert sorted(orders[0]) == list(range(12))


def test_a_function_has_the_steps_in_order() -> None:
    queue = tf.queue.FIFOQueue(3, tf.float32, shapes=[[]])

    @tf.function
    def run(x: Any) -> Any:
        queue.enqueue(x)
        queue.enqueue(x * 2.0)
        first = queue.dequeue()
        return first, queue.size(), queue.dequeue()

    for x in (2.0, 5.0):
        assert _values(run(tf.constant(x))) == (x, 1, 2.0 * x)


def test_threads_wait_for_each_other() -> None:
    queue = tf.queue.FIFOQueue(2, tf.int32, shapes=[[]])
    coordinator = tf.train.Coordinator()

    def produce() -> None:
        for i in range(20):
            queue.enqueue(i)
        queue.close()

    thread = threading.Thread(target=produce)
    thread.start()
    found = []
    with coordinator.stop_on_exception():
        while not coordinator.should_stop():
            found.append(int(queue.dequeue()))
    coordinator.join([thread])
    assert found == list(range(20))


def test_operations_of_a_graph_can_be_run() -> None:
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        queue = v1.FIFOQueue(3, [tf.float32], [[]])
        one, two = queue.enqueue(1.5), queue.enqueue_many([[2.0, 3.0]])
        taken, count, closed = queue.dequeue(), queue.size(), queue.close()
        assert all(isinstance(op, tf.Operation) for op in (one, two, closed))
        with v1.Session() as session:
            assert session.run(one) is None
            session.run([two])
            assert session.run(count) == 3
            session.run(closed)
            assert [session.run(taken) for _ in range(3)] == [1.5, 2.0, 3.0]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(taken)


def test_operations_come_first_where_they_are_asked_to() -> None:
    queue = tf.queue.FIFOQueue(3, [tf.float32])
    assert queue.enqueue(1.0) is None

    @tf.function
    def count() -> tf.Tensor:
        with tf.control_dependencies([queue.enqueue(2.0)]):
            return queue.size()

    assert count() == 2


def test_what_waits_for_room_is_added_to_a_closed_queue_unless_it_is_cancelled() -> None:
    for cancel in (False, True):
        queue = tf.queue.FIFOQueue(2, tf.int32, shapes=[[]])
        errors: list[Exception] = []

        def fill(queue: Any = queue, errors: Any = errors) -> None:
            try:
                queue.enqueue_many([[1, 2, 3, 4]])
            except tf.errors.CancelledError as e:
                errors.append(e)

        thread = threading.Thread(target=fill)
        thread.start()
        while int(queue.size()) < 2:
            pass
        queue.close(cancel_pending_enqueues=cancel)
        if cancel:
            thread.join()
        assert _values(queue.dequeue_up_to(4)) == ([1, 2] if cancel else [1, 2, 3, 4])
        thread.join()
        assert len(errors) == cancel


def test_more_elements_than_the_queue_holds_are_taken_as_they_come() -> None:
    queue = tf.queue.FIFOQueue(2, tf.int32, shapes=[[]])
    thread = threading.Thread(target=lambda: queue.enqueue_many([list(range(7))]))
    thread.start()
    assert _values(queue.dequeue_many(5)) == [0, 1, 2, 3, 4]
    thread.join()
    queue.close()
    with pytest.raises(tf.errors.OutOfRangeError, match="requested 3, current size 2"):
        queue.dequeue_many(3)
    assert _values(queue.dequeue_many(2)) == [5, 6]


def test_elements_are_joined_by_known_shapes_alone() -> None:
    queue = tf.queue.FIFOQueue(2, tf.int32)
    queue.enqueue(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="require the components"):
        queue.dequeue_many(1)
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        tf.queue.FIFOQueue(2, tf.int32, shapes=[[None]])
    with pytest.raises(ValueError, match="needs the shapes"):
        tf.queue.PaddingFIFOQueue(2, tf.int32)
