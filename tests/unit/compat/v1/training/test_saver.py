"""``Saver``: what is written, kept and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx
import tfx.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_only_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    v = tf.get_variable("layer/v", initializer=[1.0, 2.0])
    step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver(max_to_keep=2)
    prefix = str(tmp_path / "model")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run([v.assign_add([1.0, 1.0]), step.assign_add(1)])
            path = saver.save(session, prefix, global_step=step)
    assert path == prefix + "-3"
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map()["layer/v"] == [2]
    assert reader.get_tensor("layer/v").tolist() == [4.0, 5.0]
    assert saver.last_checkpoints == [prefix + "-2", prefix + "-3"]
    assert tf.train.latest_checkpoint(tmp_path) == path
    assert sorted(p.name for p in tmp_path.glob("*.safetensors")) == [
        "model-2.safetensors",
        "model-3.safetensors",
    ]
    assert tf.train.list_variables(path) == [("global_step", []), ("layer/v", [2])]
    np.testing.assert_array_equal(tf.train.load_variable(path, "layer/v"), [4.0, 5.0])
    with tf.Session() as session:
        saver.restore(session, saver.last_checkpoints[0])
        assert session.run(v).tolist() == [3.0, 4.0]
        assert session.run(step) == 2


def test_other_names_and_some_variables(tmp_path: Path) -> None:
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2, name="w")
    path = str(tmp_path / "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver({"other": v, "w": w}).save(session, path, write_state=False)
        session.run([v.assign(5.0), w.assign(6)])
        tf.train.Saver([w]).restore(session, path)
        assert session.run([v, w]) == [5.0, 2]
        tf.train.Saver({"other": v}).restore(session, path)
        assert session.run([v, w]) == [1.0, 2]
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_restoring_is_all_or_nothing(tmp_path: Path) -> None:
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3.0, name="w")
    path = str(tmp_path / "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver({"v": v, "w": w, "u": w}).save(session, path)
        for wrong, error in [
            ({"v": v, "missing": w}, tf.errors.NotFoundError),
            ({"w": w, "u": v}, tf.errors.InvalidArgumentError),
        ]:
            session.run([v.assign([0.0, 0.0]), w.assign(0.0)])
            with pytest.raises(error):
                tf.train.Saver(wrong).restore(session, path)
            assert session.run(v).tolist() == [0.0, 0.0]
            assert session.run(w) == 0.0
        with pytest.raises(ValueError, match="when it is None"):
            tf.train.Saver().restore(session, None)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            tf.train.Saver().restore(session, path + "x")


def test_reshaping(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0, 3.0, 4.0], name="v")
    square = tf.Variable(tf.zeros([2, 2]), name="square")
    with tf.Session() as session:
        session.run(v.initializer)
        path = tf.train.Saver({"x": v}).save(session, str(tmp_path / "m"))
        tf.train.Saver({"x": square}, reshape=True).restore(session, path)
        assert session.run(square).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    tf.train.Saver(allow_empty=True)
    late = tf.train.Saver(defer_build=True)
    v = tf.Variable(1.0, name="v")
    with pytest.raises(TypeError, match="not a Variable"):
        tf.train.Saver({"x": tf.constant(1.0)})
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            late.save(session, str(tmp_path / "m"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="latest_filename"):
            late.save(session, str(tmp_path / "m"), latest_filename="mine")
        session.run(v.initializer)
        assert Path(late.save(session, tmp_path / "m") + ".safetensors").exists()


def test_checkpoints_of_both_worlds(tmp_path: Path) -> None:
    with tfx.init_scope():
        path = tfx.train.Checkpoint(w=tfx.Variable([7.0])).save(tmp_path / "c")
    w = tf.get_variable("w", [1])
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
        assert session.run(w).tolist() == [7.0]


def test_without_a_graph_the_variables_must_be_given() -> None:
    with tfx.init_scope():
        with pytest.raises(RuntimeError, match="give it a list or dict of variables"):
            tf.train.Saver()
        tf.train.Saver([tfx.Variable(1.0, name="v")])


def test_steps_are_padded_if_asked(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        saver = tf.train.Saver(pad_step_number=True)
        assert saver.save(session, str(tmp_path / "m"), 12).endswith("m-00000012")


def test_checkpoints_are_files_that_can_be_asked_for_and_removed(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        paths = [tf.train.Saver().save(session, str(tmp_path / "m"), i) for i in range(3)]
    assert all(map(tf.train.checkpoint_exists, paths))
    before, after = tf.train.get_checkpoint_mtimes([paths[0], "none", paths[2]])
    assert before <= after
    tf.train.remove_checkpoint(paths[2])
    tf.train.remove_checkpoint(paths[2])
    assert not tf.train.checkpoint_exists(paths[2])
    tf.train.update_checkpoint_state(tmp_path, paths[0], paths[1:2], None, [1.0, 2.0], 1.5)
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == paths[0]
    assert state.all_model_checkpoint_paths == (paths[1], paths[0])
    assert state.all_model_checkpoint_timestamps == (1.0, 2.0)
    assert state.last_preserved_timestamp == 1.5
    with pytest.raises(ValueError, match="must match checkpoint paths"):
        tf.train.update_checkpoint_state(tmp_path, paths[0], paths[:1], None, [1.0, 2.0])
    with pytest.raises(tfx.errors.NotFoundError):
        tf.train.update_checkpoint_state(tmp_path / "none", paths[0])
