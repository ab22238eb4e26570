"""Pools over more axes than there are kernels for."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import tfx as tf

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("batch", [2, "n"])
def test_windows_along_two_of_four_axes(op: str, batch: int | str) -> None:
    window = {"kernel_shape": [1, 2, 3, 1], "strides": [1, 2, 1, 1]}
    node = helper.make_node(op, ["x"], ["y"], pads=[0, 0, 1, 0, 0, 0, 1, 0], **window)
    ports = [
        helper.make_tensor_value_info("x", 1, [1, 1, batch, 4, 5, 3]),
        helper.make_tensor_value_info("y", 1, None),
    ]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    opset = [helper.make_opsetid("", 21)]
    model = tf.import_onnx(helper.make_model(graph, opset_imports=opset, ir_version=10))
    x = RNG.normal(size=(1, 1, 2, 4, 5, 3)).astype(np.float32)
    wide = np.pad(x[0, 0], ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=np.nan)
    windows = np.stack([wide[:, :, i : i + 5] for i in range(3)])
    windows = np.stack([windows[:, :, 0::2], windows[:, :, 1::2]])
    expected = (np.nanmax if op == "MaxPool" else np.nanmean)(windows, axis=(0, 1))
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        y = model(given)
        loss = tf.reduce_sum(y)
    np.testing.assert_allclose(y.numpy()[0, 0], expected, rtol=1e-5)
    total = tape.gradient(loss, given).numpy().sum()
    np.testing.assert_allclose(total, expected.size, rtol=1e-5)
