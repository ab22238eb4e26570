"""Profiles of Keras models: times by layer, and what the callback for TensorBoard writes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from tfx.summary import event_pb2

keras = tf.keras
# After Keras, which imports its backend.
tensorboard = importlib.import_module("tfx.keras_backend.tensorboard")


def fitted() -> Any:
    layers = [keras.layers.Dense(4, name="first"), keras.layers.Dense(1, name="last")]
    model = keras.Sequential([keras.Input((3,)), *layers], name="net")
    model.compile("sgd", "mse")
    return model


def test_layers_have_rows() -> None:
    model, x = fitted(), np.ones((8, 3), np.float32)
    with tf.profile() as p:
        model.fit(x, x[:, :1], verbose=0)
    rows = [row.name for row in p.rows("layer")]
    for layer in ("first", "last"):
        assert any(f"/{layer}" in name for name in rows), rows


def test_callbacks_write_profiles_for_tensorboard(tmp_path: Path) -> None:
    model, x = fitted(), np.ones((8, 3), np.float32)
    tensorboard.start_trace("")  # what the callback tries first
    tensorboard.stop_trace(save=False)
    tensorboard.start_trace(str(tmp_path))
    mark = tensorboard.start_batch_trace(3)
    model.train_on_batch(x, x[:, :1])
    tensorboard.stop_batch_trace(mark)
    tensorboard.stop_trace(save=True)
    names = [path.name for path in tmp_path.glob("plugins/profile/*/*")]
    assert sorted(name.partition(".")[2] for name in names) == ["trace.json.gz", "xplane.pb"]
    (message,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    assert b"profiled_batch_3" in message.read_bytes()


def written(folder: Path) -> list[str]:
    """What stands in the event files of a folder: names of values, and graphs, with steps."""
    found = []
    for path in folder.glob("*tfevents*"):
        for record in tf.data.TFRecordDataset(str(path)):
            event = event_pb2.Event.FromString(record.numpy())
            found += [f"{event.step} {value.tag}" for value in event.summary.value]
            found += [f"{event.step} graph"] if event.graph_def else []
    return sorted(found)


def test_callback_writes_events(tmp_path: Path) -> None:
    model, x = fitted(), np.ones((8, 3), np.float32)
    callback = keras.callbacks.TensorBoard(tmp_path, histogram_freq=1)
    y = x[:, :1]
    model.fit(x, y, 2, validation_data=(x, y), verbose=0, callbacks=[callback])
    found = written(tmp_path / "train")
    assert {"0 epoch_learning_rate", "0 epoch_loss", "0 graph", "0 keras"} < set(found)
    assert [name for name in found if name.endswith("last/bias/histogram")]
    validation = ["0 epoch_loss", "4 evaluation_loss_vs_iterations"]
    assert written(tmp_path / "validation") == validation
    callback = keras.callbacks.TensorBoard(tmp_path / "steps", write_graph=False, update_freq=2)
    model.fit(x, y, 2, verbose=0, callbacks=[callback])
    found = written(tmp_path / "steps" / "train")
    assert [name for name in found if "batch" in name] == ["2 batch_loss", "4 batch_loss"]


def test_callback_profiles_batches(tmp_path: Path) -> None:
    model, x = fitted(), np.ones((8, 3), np.float32)
    callback = keras.callbacks.TensorBoard(tmp_path, profile_batch=(2, 3), write_graph=False)
    model.fit(x, x[:, :1], 2, verbose=0, callbacks=[callback])
    assert list(tmp_path.glob("train/plugins/profile/*/*.xplane.pb"))
    assert "3 batch_3" in written(tmp_path / "train")
