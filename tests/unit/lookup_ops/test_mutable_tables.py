"""Tables that functions change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core import errors

Mutable = tf.lookup.experimental.MutableHashTable


def counts(table: Any) -> dict[Any, Any]:
    keys, values = table.export()
    return dict(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_against_a_dict(traced: bool) -> None:
    table = Mutable(tf.int64, tf.int64, -1)
    insert, remove, lookup = table.insert, table.remove, table.lookup
    if traced:
        spec = tf.TensorSpec([None], tf.int64)
        insert = tf.function(insert, input_signature=[spec, spec])
        remove = tf.function(remove, input_signature=[spec])
        lookup = tf.function(lambda k: table.lookup(k), input_signature=[spec])
    rng, expected = np.random.default_rng(0), {}
    for _ in range(12):
        keys, values = rng.integers(0, 9, 5), rng.integers(0, 99, 5)
        insert(tf.constant(keys), tf.constant(values))
        expected.update(zip(keys.tolist(), values.tolist(), strict=True))
        gone = rng.integers(0, 12, 2)
        remove(tf.constant(gone))
        for key in gone.tolist():
            expected.pop(key, None)
        assert counts(table) == expected
        asked = rng.integers(0, 12, 6)
        found = lookup(tf.constant(asked)).numpy().tolist()
        assert found == [expected.get(key, -1) for key in asked.tolist()]
        assert int(table.size()) == len(expected)


def test_words_and_vectors() -> None:
    table = Mutable(tf.string, tf.float32, [0.0, 9.0])
    table.insert(tf.constant([["a"], ["b"]]), [[[1.0, 2.0]], [[3.0, 4.0]]])
    found = table[tf.constant([["b", "x"]])]
    np.testing.assert_array_equal(found.numpy(), [[[3, 4], [0, 9]]])


def test_nothing_is_nothing() -> None:
    table = Mutable(tf.string, tf.int64, -1)
    assert table.lookup(tf.constant(["a"])).numpy().tolist() == [-1]
    table.insert(tf.constant([], tf.string), tf.constant([], tf.int64))
    table.remove(tf.constant([], tf.string))
    table.remove(tf.constant(["a"]))
    assert int(table.size()) == 0


def test_it_is_state(tmp_path: Path) -> None:
    module = tf.Module()
    module.table = Mutable(tf.string, tf.int64, -1)
    spec = tf.TensorSpec([None], tf.string)
    module.count = tf.function(
        lambda w: module.table.insert(w, tf.ones(tf.shape(w), tf.int64)), input_signature=[spec]
    )
    module.look = tf.function(lambda w: module.table.lookup(w), input_signature=[spec])
    module.count(tf.constant(["a"]))
    path = tf.train.Checkpoint(module).write(str(tmp_path / "c"))
    tf.saved_model.save(module, tmp_path / "m", {"count": module.count, "look": module.look})
    module.count(tf.constant(["b"]))
    tf.train.Checkpoint(module).restore(path)
    assert counts(module.table) == {b"a": 1}
    back = tf.saved_model.load(tmp_path / "m")
    back.count(tf.constant(["c"]))
    assert back.look(tf.constant(["a", "b", "c"])).numpy().tolist() == [1, -1, 1]


def test_mistakes() -> None:
    table = Mutable(tf.string, tf.int64, -1)
    with pytest.raises(TypeError, match=r"must be tf.string"):
        table.lookup(tf.constant([1]))
    with pytest.raises(errors.InvalidArgumentError, match="a value for each key"):
        table.insert(tf.constant(["a", "b"]), tf.constant([1], tf.int64))
    with pytest.raises(errors.InvalidArgumentError, match="two different keys"):
        tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 5, 5)


def test_dense() -> None:
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2
    )
    table.insert(tf.constant([4], tf.int64), tf.constant([40], tf.int64))
    table.erase(tf.constant([9], tf.int64))
    assert table.lookup(tf.constant([4, 5], tf.int64)).numpy().tolist() == [40, -1]


@pytest.mark.parametrize("kind", [tf.int64, tf.string], ids=str)
@pytest.mark.parametrize("name", ["empty_key", "deleted_key"])
def test_keys_of_dense_tables_that_may_not_be_used(kind: Any, name: str) -> None:
    special: Any = {"empty_key": -1, "deleted_key": -2}
    if kind == tf.string:
        special = {"empty_key": "", "deleted_key": "<gone>"}
    table = tf.lookup.experimental.DenseHashTable(kind, tf.int64, 0, **special)
    keys = tf.constant([special[name]], kind)
    for use in (
        table.lookup,
        table.remove,
        lambda keys: table.insert(keys, tf.constant([1], tf.int64)),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=f"Using the {name} .* not allowed"):
            use(keys)
    assert int(table.size()) == 0
