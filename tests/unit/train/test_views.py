"""Views of object graphs: what a checkpoint holds and what a restore would match."""

from __future__ import annotations

import pytest

import tfx as tf


def _module() -> tf.Module:
    module = tf.Module()
    module.a = tf.Variable(1.0)
    module.b = tf.Module()
    module.b.c = tf.Variable([2.0])
    module.layers = [tf.Variable(3.0)]
    return module


def test_numbers_and_parts(tmp_path):
    checkpoint = tf.train.Checkpoint(m=_module())
    view = tf.train.CheckpointView(checkpoint.save(str(tmp_path / "step")))
    assert view.children(0) == {"m": 1, "save_counter": 2}
    assert view.children(1) == {"a": 3, "b": 4, "layers": 5}
    assert view.descendants() == list(range(8))
    matched, only_saved, only_here = view.diff(checkpoint)
    assert (only_saved, only_here) == ([], [])
    assert matched[3] is checkpoint.m.a and matched[6] is checkpoint.m.b.c
    with pytest.raises(IndexError):
        view.children(99)
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.CheckpointView(str(tmp_path / "other"))


def test_what_only_one_side_has(tmp_path):
    view = tf.train.CheckpointView(tf.train.Checkpoint(m=_module()).save(str(tmp_path / "step")))
    other = tf.train.Checkpoint(m=tf.Module())
    other.m.a, other.m.z = tf.Variable(5.0), tf.Variable(6.0)
    matched, only_saved, only_here = view.diff(other)
    assert matched == view.match(other)
    assert list(matched) == [0, 1, 3] and matched[1] is other.m and matched[3] is other.m.a
    assert only_saved == [2, 4, 5, 6, 7]
    assert len(only_here) == 1 and only_here[0] is other.m.z


def test_a_view_of_objects():
    module = _module()
    view = tf.train.TrackableView(module)
    assert view.root is module
    assert list(view.children(module)) == list(tf.train.TrackableView.children(module))
    expected = [module, module.a, module.b, module.layers, module.b.c, module.layers[0]]
    found = view.descendants()
    assert len(found) == 6 and all(x is y for x, y in zip(found, expected, strict=True))
