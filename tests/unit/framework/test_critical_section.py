"""Critical sections: calls of many threads one after the other."""

from __future__ import annotations

import threading
import time

import pytest

import tfx as tf


@pytest.mark.parametrize("shared", [None, "counter"])
def test_one_at_a_time(shared: str | None) -> None:
    inside, most = 0, 0
    sections = [tf.CriticalSection(shared_name=shared) for _ in range(2)]
    if shared is None:
        sections[1] = sections[0]

    def work() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.005)
        inside -= 1

    threads = [threading.Thread(target=sections[i % 2].execute, args=(work,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_results_and_functions() -> None:
    v = tf.Variable(1.0)
    section = tf.CriticalSection(name="mine")
    assert section.name == "mine"

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return section.execute(lambda: v.assign_add(x) * 2.0)

    assert float(step(tf.constant(2.0))) == 6.0
    assert float(section.execute(v.read_value)) == 3.0
    assert section.execute(lambda: section.execute(lambda: 1)) == 1
    with pytest.raises(TypeError, match="callable"):
        section.execute(3)  # type: ignore[arg-type]


def test_parallel_stack_and_guarantee_const() -> None:
    stacked = tf.function(lambda x, y: tf.parallel_stack([x, y]))
    assert stacked(tf.ones([2]), tf.zeros([2])).numpy().tolist() == [[1, 1], [0, 0]]
    with pytest.raises(RuntimeError, match="eager"):
        tf.parallel_stack([tf.ones([2])])
    unknown = tf.function(
        lambda x: tf.parallel_stack([x]), input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    with pytest.raises(ValueError, match="known"):
        unknown(tf.ones([2]))
    assert tf.guarantee_const([1, 2]).numpy().tolist() == [1, 2]
