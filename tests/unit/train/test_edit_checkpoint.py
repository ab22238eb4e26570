"""Checkpoints renamed and merged on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core import errors
from tfx.train.checkpoint_listing import describe_checkpoint, list_checkpoints
from tfx.train.edit_checkpoint import merge_checkpoints, rename_variables


def dense(value: float) -> tf.Module:
    module = tf.Module()
    module.kernel = tf.Variable([[value, 2.0]])
    module.words = tf.Variable(["a", "bc"])
    return module


def trained(path: Path, value: float = 1.0) -> str:
    model = tf.Module()
    model.dense, model.scale = dense(value), tf.Variable(value)
    optimizer = tf.optimizers.Adam()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.dense.kernel * model.scale)
    weights = [model.dense.kernel, model.scale]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    written: str = tf.train.Checkpoint(model=model, optimizer=optimizer).write(str(path))
    return written


def values(path: Any) -> dict[str, Any]:
    with tf.train.load_checkpoint(str(path)) as reader:
        return {name: reader.get_tensor(name) for name, _ in tf.train.list_variables(str(path))}


def test_an_object_is_renamed_with_its_slots(tmp_path: Path) -> None:
    path = trained(tmp_path / "a")
    before = values(path)
    changed = rename_variables(path, tmp_path / "b", {"model/dense": "model/head"})
    assert changed == {
        "model/dense/kernel": "model/head/kernel",
        "model/dense/words": "model/head/words",
        "optimizer/m/model/dense/kernel": "optimizer/m/model/head/kernel",
        "optimizer/v/model/dense/kernel": "optimizer/v/model/head/kernel",
    }
    after = values(tmp_path / "b")
    assert after.keys() == {changed.get(name, name) for name in before}
    for name, array in before.items():
        np.testing.assert_array_equal(after[changed.get(name, name)], array)


def test_what_was_renamed_is_restored_slots_too(tmp_path: Path) -> None:
    path = trained(tmp_path / "a", 3.0)
    rename_variables(path, tmp_path / "b", {"model/dense": "model/head"})
    model = tf.Module()
    model.head, model.scale = dense(0.0), tf.Variable(0.0)
    optimizer = tf.optimizers.Adam()
    status = tf.train.Checkpoint(model=model, optimizer=optimizer).restore(str(tmp_path / "b"))
    optimizer.build([model.head.kernel, model.scale])
    status.assert_consumed()
    np.testing.assert_array_equal(
        model.head.kernel.numpy(), values(tmp_path / "a")["model/dense/kernel"]
    )


def test_an_object_with_two_names_keeps_the_other(tmp_path: Path) -> None:
    model = tf.Module()
    model.one = model.two = dense(5.0)
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "a"))
    rename_variables(path, tmp_path / "b", {"model/two": "model/three"})
    for name in ("one", "three"):
        other = tf.Module()
        setattr(other, name, dense(0.0))
        tf.train.Checkpoint(model=other).restore(str(tmp_path / "b"))
        assert float(getattr(other, name).kernel[0, 0]) == 5


def test_names_can_be_exchanged(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(str(tmp_path / "x"))
    rename_variables(path, tmp_path / "y", {"a": "b", "b": "a"})
    assert values(tmp_path / "y") == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ({"model/dens": "x"}, errors.NotFoundError, "model has no 'dens'; did you mean 'dense'"),
        ({"nothing/at/all": "x"}, errors.NotFoundError, "the root has no 'nothing'"),
        ({"model/scale": "model/dense"}, errors.AlreadyExistsError, "something at 'model/dense'"),
        ({"model/scale": ""}, errors.InvalidArgumentError, "the new path is empty"),
        ({"": "x"}, errors.NotFoundError, "nothing at ''"),
    ],
    ids=["near", "far", "taken", "empty", "root"],
)
def test_mistaken_names(tmp_path: Path, names: Any, error: Any, message: str) -> None:
    path = trained(tmp_path / "a")
    with pytest.raises(error, match=message):
        rename_variables(path, tmp_path / "b", names)
    assert not list(tmp_path.glob("b*"))


def test_an_existing_checkpoint_is_kept(tmp_path: Path) -> None:
    path, other = trained(tmp_path / "a"), trained(tmp_path / "b", 2.0)
    with pytest.raises(errors.AlreadyExistsError, match="of this name already"):
        rename_variables(path, other, {"model/scale": "model/factor"})
    assert "model/scale" in values(other)
    rename_variables(path, other, {"model/scale": "model/factor"}, overwrite=True)
    assert "model/factor" in values(other)


def test_merging(tmp_path: Path) -> None:
    one = tf.train.Checkpoint(encoder=dense(1.0)).write(str(tmp_path / "one"))
    two = tf.train.Checkpoint(decoder=dense(2.0)).write(str(tmp_path / "two"))
    given = merge_checkpoints([("", one), ("", two), ("old/copy", one)], tmp_path / "all")
    assert list(given.values()) == [4, 2]
    found = values(tmp_path / "all")
    assert sorted(found) == sorted(
        f"{place}/{name}"
        for place in ("encoder", "decoder", "old/copy/encoder")
        for name in ("kernel", "words")
    )
    assert found["decoder/words"].tolist() == [b"a", b"bc"]
    model = tf.Module()
    model.encoder, model.decoder = dense(0.0), dense(0.0)
    tf.train.Checkpoint(model).restore(str(tmp_path / "all")).expect_partial()
    assert float(model.decoder.kernel[0, 0]) == 2


def test_two_values_of_one_name(tmp_path: Path) -> None:
    one, two = trained(tmp_path / "one"), trained(tmp_path / "two", 7.0)
    sources = [("", one), ("", two)]
    with pytest.raises(errors.AlreadyExistsError, match="has another value in a checkpoint before"):
        merge_checkpoints(sources, tmp_path / "x")
    merge_checkpoints(sources, tmp_path / "first", prefer="first")
    merge_checkpoints(sources, tmp_path / "last", prefer="last")
    for name, expected in (("first", one), ("last", two)):
        found, wanted = values(tmp_path / name), values(expected)
        assert found.keys() == wanted.keys()
        for key in found:
            np.testing.assert_array_equal(found[key], wanted[key])


def test_equal_values_are_no_conflict(tmp_path: Path) -> None:
    one = trained(tmp_path / "one")
    assert merge_checkpoints([("", one), ("", one)], tmp_path / "x") == {one: len(values(one))}


def test_a_variable_and_an_object_of_one_name(tmp_path: Path) -> None:
    one = tf.train.Checkpoint(a=tf.Variable(1.0)).write(str(tmp_path / "one"))
    two = tf.train.Checkpoint(a=dense(1.0)).write(str(tmp_path / "two"))
    for sources in ([("", one), ("", two)], [("", two), ("", one)]):
        with pytest.raises(errors.AlreadyExistsError, match="'a' is a"):
            merge_checkpoints(sources, tmp_path / "x")


def test_listing(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), t=tf.Variable("text"))
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=3)
    manager.save()
    manager.save()
    checkpoint.write(str(tmp_path / "extra"))
    found = list_checkpoints(tmp_path)
    assert [Path(item.path).name for item in found] == ["ckpt-1", "ckpt-2", "extra"]
    assert [item.is_latest for item in found] == [False, True, False]
    assert found[0].saved
    assert found[0].variables == 3
    shown = describe_checkpoint(tmp_path, verify=True, values=True)
    rows = {v.name: (v.type, v.value) for v in shown.variables}
    assert rows["v"] == ("float32[2]", "[1. 2.]")
    assert rows["t"][0] == "string[]"
    with pytest.raises(errors.NotFoundError, match="no such folder"):
        list_checkpoints(tmp_path / "no")
