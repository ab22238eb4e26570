"""Profiles of Keras models: times by layer, and what callbacks start and stop."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf

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
