"""Training checkpoints: managers, partial and deferred restoration, looking inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


class Net(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.zeros([1, 5]), name="w")
        self.b = tf.Variable(tf.zeros([5]), name="b")


def trained(folder: Path) -> tf.train.CheckpointManager:
    """Fifty steps, saved every ten."""
    net = Net()
    ckpt = tf.train.Checkpoint(step=tf.Variable(0), net=net)
    manager = tf.train.CheckpointManager(ckpt, str(folder), max_to_keep=3)
    ckpt.restore(manager.latest_checkpoint)
    assert manager.latest_checkpoint is None
    for _ in range(50):
        ckpt.step.assign_add(1)
        net.b.assign_add(tf.ones([5]))
        if int(ckpt.step) % 10 == 0:
            manager.save()
    return manager


def test_a_manager_keeps_the_last_ones(tmp_path: Path) -> None:
    manager = trained(tmp_path)
    names = [Path(c).name for c in manager.checkpoints]
    assert names == ["ckpt-3", "ckpt-4", "ckpt-5"]
    assert manager.latest_checkpoint == tf.train.latest_checkpoint(str(tmp_path))
    assert tf.train.latest_checkpoint(str(tmp_path / "none")) is None


def test_training_goes_on(tmp_path: Path) -> None:
    trained(tmp_path)
    net = Net()
    ckpt = tf.train.Checkpoint(step=tf.Variable(0), net=net)
    manager = tf.train.CheckpointManager(ckpt, str(tmp_path), max_to_keep=3)
    ckpt.restore(manager.latest_checkpoint).assert_consumed()
    assert int(ckpt.step) == 50
    np.testing.assert_array_equal(net.b, [50.0] * 5)
    assert Path(manager.save()).name == "ckpt-6"


def test_only_a_part(tmp_path: Path) -> None:
    trained(tmp_path)
    bias = tf.Variable(tf.zeros([5]))
    root = tf.train.Checkpoint(net=tf.train.Checkpoint(b=bias))
    status = root.restore(tf.train.latest_checkpoint(str(tmp_path)))
    np.testing.assert_array_equal(bias, [50.0] * 5)
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError):
        status.assert_consumed()


def test_later_variables_get_their_values_when_they_are_made(tmp_path: Path) -> None:
    trained(tmp_path)
    net = tf.train.Checkpoint()
    root = tf.train.Checkpoint(net=net)
    root.restore(tf.train.latest_checkpoint(str(tmp_path)))
    late = tf.Variable(tf.zeros([5]))
    assert late.numpy()[0] == 0.0
    net.b = late
    assert late.numpy()[0] == 50.0


def test_looking_inside(tmp_path: Path) -> None:
    trained(tmp_path)
    reader = tf.train.load_checkpoint(str(tmp_path))
    shapes = {
        k.removesuffix(SUFFIX): v
        for k, v in reader.get_variable_to_shape_map().items()
        if not k.startswith("_")
    }
    assert shapes == {"net/b": [5], "net/w": [1, 5], "save_counter": [], "step": []}
    key = next(k for k in reader.get_variable_to_shape_map() if k.startswith("net/b"))
    np.testing.assert_array_equal(reader.get_tensor(key), [50.0] * 5)
    assert tf.train.load_variable(str(tmp_path), "step" + SUFFIX) == 50


def test_lists_and_dicts(tmp_path: Path) -> None:
    save = tf.train.Checkpoint()
    save.listed = [tf.Variable(1.0)]
    save.listed.append(tf.Variable(2.0))
    save.mapped = {"one": save.listed[0]}
    save.mapped["two"] = save.listed[1]
    path = save.save(str(tmp_path / "containers"))

    restored = tf.train.Checkpoint()
    two = tf.Variable(0.0)
    restored.mapped = {"two": two}
    restored.restore(path)
    assert two.numpy() == 2.0
    restored.listed = []
    one = tf.Variable(0.0)
    restored.listed.append(one)
    assert one.numpy() == 1.0


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.Checkpoint(net=Net()).restore(str(tmp_path / "nothing"))
