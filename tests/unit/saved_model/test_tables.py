"""Tables that functions change are tables again when they are loaded."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest

import tfx as tf
from tests.unit.saved_model.damage import rewrite
from tfx.bundle.manifest import Manifest

WORDS = tf.TensorSpec([None], tf.string)


class Index(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.places = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        self.points = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.float32, [0.0, 0.5], empty_key=-1, deleted_key=-2
        )

    @tf.function(input_signature=[WORDS])
    def find(self, words: Any) -> Any:
        return self.places.lookup(words)

    @tf.function(input_signature=[WORDS, tf.TensorSpec([None], tf.int64)])
    def insert(self, words: Any, places: Any) -> None:
        self.places.insert(words, places)


def words(*texts: str) -> Any:
    return tf.constant(list(texts))


def ids(*numbers: int) -> Any:
    return tf.constant(numbers, tf.int64)


@pytest.fixture
def index() -> Index:
    made = Index()
    made.insert(words("a"), ids(5))
    made.points.insert(ids(1), tf.constant([[1.0, 2.0]]))
    return made


def test_a_loaded_table_is_changed_and_looked_up(index: Index, tmp_path: Path) -> None:
    tf.saved_model.save(index, tmp_path / "m")
    for folder in ("m", "again"):
        back = tf.saved_model.load(tmp_path / folder)
        assert isinstance(back.places, tf.lookup.experimental.MutableHashTable)
        assert (back.places.key_dtype, back.points.value_dtype) == (tf.string, tf.float32)
        assert back.points.lookup(ids(1, 2)).numpy().tolist() == [[1.0, 2.0], [0.0, 0.5]]
        back.places.insert(words("b"), ids(7))
        assert back.find(words("a", "b", "c")).numpy().tolist() == [5, 7, -1]
        back.insert(words("c"), ids(9))
        lookup = tf.function(lambda x, back=back: back.places.lookup(x) + 1)
        assert lookup(words("c", "a")).numpy().tolist() == [10, 6]
        for twin in (copy.deepcopy(back), pickle.loads(pickle.dumps(back))):
            twin.places.remove(words("a", "b", "c"))
            assert int(twin.places.size()) == 0
        back.places.remove(words("b", "c"))
        assert [x.numpy().tolist() for x in back.places.export()] == [[b"a"], [5]]
        if folder == "m":
            tf.saved_model.save(back, tmp_path / "again")


def test_its_content_is_state_like_any_other(index: Index, tmp_path: Path) -> None:
    tf.saved_model.save(index, tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    back.places.insert(words("b"), ids(7))
    path = tf.train.Checkpoint(back).write(tmp_path / "c")
    tf.train.Checkpoint(index).read(path).assert_consumed()
    assert index.find(words("b")).numpy().tolist() == [7]
    back.reload(tmp_path / "m")
    assert back.find(words("b")).numpy().tolist() == [-1]


@pytest.mark.parametrize("name", ["table_keys", "table_values", "_default", "_value_shape"])
def test_parts_that_make_no_table_are_refused(name: str, index: Index, tmp_path: Path) -> None:
    tf.saved_model.save(index, tmp_path / "m")

    def change(manifest: Manifest) -> Manifest:
        objects = tuple(
            dataclasses.replace(node, children=tuple(c for c in node.children if c.name != name))
            for node in manifest.objects
        )
        return dataclasses.replace(manifest, objects=objects)

    rewrite(tmp_path / "m", change)
    with pytest.raises(tf.errors.BundleError, match="the parts of a table do not fit together"):
        tf.saved_model.load(tmp_path / "m")
