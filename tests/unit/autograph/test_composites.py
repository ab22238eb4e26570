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


class Scaled(tf.experimental.ExtensionType):
    values: tf.Tensor
    unit: str = "m"

    def times(self, factor: int) -> Scaled:
        return Scaled(self.values * factor, self.unit)


def _doubled(x: Any) -> Any:
    if isinstance(x, Scaled):
        return x.times(2)
    if isinstance(x, tf.IndexedSlices):
        return tf.IndexedSlices(x.values * 2, x.indices)
    return x * 2


def _flat(x: Any) -> list[int]:
    parts = {Scaled: "values", tf.IndexedSlices: "values", tf.SparseTensor: "values"}
    return getattr(x, parts.get(type(x), "flat_values")).numpy().tolist()  # type: ignore[no-any-return]


VALUES = {
    "ragged": lambda: tf.ragged.constant([[1], [2, 3]]),
    "sparse": lambda: tf.SparseTensor([[0, 0], [1, 1], [1, 2]], [1, 2, 3], [2, 3]),
    "slices": lambda: tf.IndexedSlices(tf.constant([1, 2, 3]), tf.constant([0, 1, 2])),
    "extension": lambda: Scaled([1, 2, 3]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_branches_choose_each_kind(kind: str) -> None:
    @tf.function
    def chosen(x: Any, condition: tf.Tensor) -> Any:
        if condition:  # noqa: SIM108
            y = _doubled(x)
        else:
            y = x
        return y

    @tf.function
    def returned(x: Any, condition: tf.Tensor) -> Any:
        if condition:
            return _doubled(x)
        return x

    @tf.function
    def expression(x: Any, condition: tf.Tensor) -> Any:
        return _doubled(x) if condition else x

    x = VALUES[kind]()
    for function in (chosen, returned, expression):
        assert _flat(function(x, tf.constant(True))) == [2, 4, 6]
        same = function(x, tf.constant(False))
        assert type(same) is type(x)
        assert _flat(same) == [1, 2, 3]


@pytest.mark.parametrize("kind", VALUES)
def test_loops_carry_each_kind(kind: str) -> None:
    @tf.function
    def counted(x: Any, count: tf.Tensor) -> Any:
        for _ in tf.range(count):
            x = _doubled(x)
        return x

    @tf.function
    def conditional(x: Any, limit: tf.Tensor) -> tuple[Any, Any]:
        steps = 0
        while steps < limit:
            if steps == 2:
                break
            x = _doubled(x)
            steps += 1
        return x, steps

    x = VALUES[kind]()
    assert _flat(counted(x, tf.constant(3))) == [8, 16, 24]
    found, steps = conditional(x, tf.constant(5))
    assert (_flat(found), int(steps)) == ([4, 8, 12], 2)


def test_rows_may_get_longer_in_a_loop() -> None:
    @tf.function
    def repeated(x: tf.RaggedTensor, count: tf.Tensor) -> tf.RaggedTensor:
        for _ in tf.range(count):
            x = tf.concat([x, x], 1)
        return x

    found = repeated(tf.ragged.constant([[1], [2, 3]]), tf.constant(2))
    assert found.to_list() == [[1] * 4, [2, 3] * 4]


class Labelled(tf.experimental.ExtensionType):
    rows: tf.RaggedTensor
    label: str = "a"


def test_rows_of_fields_and_structures_may_get_longer_in_a_loop() -> None:
    def longer(x: tf.RaggedTensor) -> tf.RaggedTensor:
        return tf.concat([x, x], 1)

    @tf.function
    def repeated(x: tf.RaggedTensor, count: tf.Tensor) -> Any:
        whole, found = Labelled(x, "b"), {"rows": [x]}
        for _ in tf.range(count):
            whole = Labelled(longer(whole.rows), whole.label)
            found = {"rows": [longer(found["rows"][0])]}
        return whole, found["rows"][0]

    whole, found = repeated(tf.ragged.constant([[1], [2, 3]]), tf.constant(2))
    assert found.to_list() == whole.rows.to_list() == [[1] * 4, [2, 3] * 4]
    assert whole.label == "b"


def test_the_number_of_rows_stays_without_an_invariant() -> None:
    @tf.function
    def repeated(x: tf.RaggedTensor, count: tf.Tensor) -> tf.RaggedTensor:
        for _ in tf.range(count):
            x = tf.concat([x, x], 0)
        return x

    with pytest.raises(ValueError, match=r"'x' has shape .*shape_invariants"):
        repeated(tf.ragged.constant([[1], [2, 3]]), tf.constant(2))


def test_gradients_go_through_loops_and_branches() -> None:
    @tf.function
    def total(x: tf.RaggedTensor) -> tf.Tensor:
        for _ in tf.range(3):
            x = x * 2.0
        if tf.reduce_sum(x) > 0:
            x = x * x
        return tf.reduce_sum(x)

    values = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = total(tf.RaggedTensor.from_row_splits(values, [0, 1, 3]))
    assert tape.gradient(y, values).numpy().tolist() == [128.0, 256.0, 384.0]


def test_rows_of_a_signature_and_rows_of_rows() -> None:
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def weighted(x: tf.RaggedTensor) -> tf.Tensor:
        total = 0
        for row in x:
            if tf.size(row) == 0:
                continue
            total += tf.reduce_sum(row) * tf.size(row)
            if total > 40:
                break
        return total

    x = tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2], [6]])
    assert int(weighted(x)) == 9 * 4 + 16 * 3
    assert int(weighted(x[3:])) == 6
    assert int(weighted(x[:0])) == 0

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, None], tf.int32)])
    def longest(x: tf.RaggedTensor) -> tf.Tensor:
        found = tf.constant(0, tf.int64)
        for rows in x:
            found = tf.maximum(found, rows.nrows())
        return found

    assert int(longest(tf.ragged.constant([[[1], [2, 3]], [[4]], [[], [], [1]]]))) == 3
