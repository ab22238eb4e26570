"""Ragged and sparse tensors, and objects of extension types, in `if`, `while` and `for`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


class Gaussian(tf.experimental.ExtensionType):
    mean: tf.Tensor
    scale: tf.Tensor
    name: str = "normal"
    order: int = 1


def _gaussian(**other: Any) -> Gaussian:
    return Gaussian([0.0, 1.0], 2.0, **other)


def test_a_loop_carries_an_extension_type() -> None:
    @tf.function
    def run(d: Gaussian, n: Any) -> Gaussian:
        for _ in tf.range(n):
            d = Gaussian(d.mean + 1.0, d.scale * 2.0, d.name, d.order)
        return d

    found = run(_gaussian(order=3), tf.constant(3))
    assert found.name == "normal" and found.order == 3
    np.testing.assert_array_equal(found.mean, [3.0, 4.0])
    np.testing.assert_array_equal(found.scale, 16.0)


def test_a_loop_refuses_an_extension_type_with_other_values() -> None:
    @tf.function
    def run(d: Gaussian) -> Gaussian:
        for _ in tf.range(3):
            d = Gaussian(d.mean, d.scale, d.name, d.order + 1)
        return d

    with pytest.raises(TypeError, match=r"'d' has the structure .* must keep its structure"):
        run(_gaussian())


def test_a_branch_chooses_an_extension_type() -> None:
    @tf.function
    def run(d: Gaussian, p: Any) -> Gaussian:
        if p:
            d = Gaussian(-d.mean, d.scale)
        return d

    np.testing.assert_array_equal(run(_gaussian(), tf.constant(True)).mean, [0.0, -1.0])
    np.testing.assert_array_equal(run(_gaussian(), tf.constant(False)).mean, [0.0, 1.0])
    with pytest.raises(TypeError, match="same structure in both branches"):
        run(_gaussian(name="other"), tf.constant(True))


def test_early_returns_of_an_extension_type() -> None:
    @tf.function
    def run(d: Gaussian, n: Any) -> Gaussian:
        for i in tf.range(n):
            if i == 2:
                return Gaussian(d.mean * 10.0, d.scale)
        return d

    np.testing.assert_array_equal(run(_gaussian(), tf.constant(5)).mean, [0.0, 10.0])
    np.testing.assert_array_equal(run(_gaussian(), tf.constant(1)).mean, [0.0, 1.0])


def test_loops_carry_ragged_tensors_with_gradients() -> None:
    @tf.function
    def run(x: Any, n: Any) -> Any:
        r = tf.RaggedTensor.from_row_lengths(x, [2, 1])
        while n > 0:
            r = r * r
            n -= 1
        return r

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = run(x, tf.constant(2))
        loss = tf.reduce_sum(found.flat_values)
    assert found.to_list() == [[1.0, 16.0], [81.0]]
    np.testing.assert_allclose(tape.gradient(loss, x), [4.0, 32.0, 108.0])


def test_a_ragged_tensor_may_get_more_values_where_an_invariant_says_so() -> None:
    @tf.function
    def run(r: Any) -> Any:
        for _ in tf.range(2):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(r, tf.RaggedTensorSpec([None, None], tf.int32))]
            )
            r = tf.concat([r, r], axis=1)
        return r

    found = run(tf.ragged.constant([[1], [2, 3]], dtype=tf.int32))
    assert found.to_list() == [[1, 1, 1, 1], [2, 3, 2, 3, 2, 3, 2, 3]]


def test_a_branch_chooses_a_ragged_tensor() -> None:
    @tf.function
    def run(r: Any, p: Any) -> Any:
        if p:
            r *= 2
        else:
            r = r[:, :1]
        return tf.abs(r) if p else r + 0

    r = tf.ragged.constant([[1, 2], [3]])
    assert run(r, tf.constant(True)).to_list() == [[2, 4], [6]]
    assert run(r, tf.constant(False)).to_list() == [[1], [3]]


def test_loops_and_branches_carry_sparse_tensors() -> None:
    @tf.function
    def run(s: Any, n: Any) -> Any:
        while n > 0:
            n -= 1
            if n == 1:
                s = tf.sparse.map_values(tf.multiply, s, 5.0)
            else:
                s = tf.sparse.map_values(tf.add, s, 1.0)
        return s

    found = run(tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]]), tf.constant(3))
    np.testing.assert_array_equal(tf.sparse.to_dense(found), [[0.0, 11.0], [16.0, 0.0]])


def test_composites_in_structures_of_a_loop() -> None:
    @tf.function
    def run(r: Any) -> Any:
        state = {"r": r, "d": [_gaussian()]}
        for _ in tf.range(2):
            d = state["d"][0]
            state = {"r": state["r"] + 1, "d": [Gaussian(d.mean + 1.0, d.scale)]}
        return state["r"], state["d"][0].mean

    found, mean = run(tf.ragged.constant([[1], [2, 3]]))
    assert found.to_list() == [[3], [4, 5]]
    np.testing.assert_array_equal(mean, [2.0, 3.0])


def test_a_list_of_composites_that_a_loop_changes() -> None:
    @tf.function
    def run(r: Any) -> Any:
        found = [r, r]
        for _ in tf.range(2):
            found[0] = found[0] + 1
        return found

    first, second = run(tf.ragged.constant([[1], [2, 3]]))
    assert first.to_list() == [[3], [4, 5]] and second.to_list() == [[1], [2, 3]]


def test_an_attribute_of_a_dataclass_is_still_a_symbol_of_its_own() -> None:
    import dataclasses

    @dataclasses.dataclass
    class Pair:
        x: Any
        y: Any

    @tf.function
    def run(x: Any) -> Any:
        pair = Pair(x, x)
        for _ in tf.range(3):
            pair.x += 1.0
        return pair.x, pair.y

    assert [float(v) for v in run(tf.constant(1.0))] == [4.0, 1.0]


def test_the_rows_of_a_ragged_tensor() -> None:
    @tf.function
    def run(r: Any) -> Any:
        total, longest = 0.0, 0
        for row in r:
            if tf.size(row) == 0:
                continue
            total += tf.reduce_sum(row) * tf.reduce_max(row)
            longest = tf.maximum(longest, tf.size(row))
        return total, longest

    total, longest = run(tf.ragged.constant([[1.0, 2.0], [], [3.0]]))
    assert float(total) == 15.0 and int(longest) == 2
