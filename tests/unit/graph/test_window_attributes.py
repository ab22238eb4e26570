"""Attributes of convolutions and pools that mean nothing: one clear error, at the user's line."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx import raw

X = tf.constant(np.ones((1, 4, 6, 6), np.float32))
W = tf.constant(np.ones((4, 2, 3, 3), np.float32))
GROUPED = {"group": 2}
POOLS = ("MaxPool", "AveragePool", "LpPool")
CASES = [
    *[(op, GROUPED | bad) for op in ("Conv", "ConvTranspose") for bad in (
        {"group": 0}, {"group": -1}, {"group": 3}, {"group": 2**40},
        {"strides": [0, 1]}, {"strides": [1, 1, 1]}, {"strides": [-1, 2]},
        {"dilations": [0, 0]}, {"dilations": [1]}, {"pads": [1]}, {"pads": [1] * 6},
        {"kernel_shape": [2, 2]}, {"kernel_shape": [3]}, {"kernel_shape": [0, 0]},
        {"auto_pad": "JUNK"},
    )],
    ("ConvTranspose", GROUPED | {"output_padding": [1]}),
    ("ConvTranspose", GROUPED | {"output_padding": [-1, 0]}),
    ("ConvTranspose", GROUPED | {"output_shape": [0, 0]}),
    *[(op, {"kernel_shape": [2, 2]} | bad) for op in POOLS for bad in (
        {"strides": [0, 1]}, {"strides": [1]}, {"dilations": [-1, 1]}, {"pads": [100] * 4},
        {"pads": [-1, 0, 0, 0]}, {"pads": [1]}, {"kernel_shape": [0, 0]}, {"kernel_shape": [3]},
        {"kernel_shape": []}, {"auto_pad": ""},
    )],
    ("MaxPool", {"kernel_shape": [2, 2], "storage_order": 9}),
    ("LpPool", {"kernel_shape": [2, 2], "p": 0}),
]  # fmt: skip


def run(op, attributes):
    inputs = [X, W] if op.startswith("Conv") else [X]
    found = getattr(raw, op)(*inputs, **attributes)
    return tf.reduce_sum(found[0] if isinstance(found, tuple) else found)


def taped(op, attributes):
    with tf.GradientTape() as tape:
        tape.watch([X, W])
        y = run(op, attributes)
    return tape.gradient(y, X)


@pytest.mark.parametrize(("op", "attributes"), CASES, ids=str)
@pytest.mark.parametrize("work", [run, taped])
def test_what_no_kernel_can_take(op, attributes, work):
    for call in (work, tf.function(work, autograph=False)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_window_attributes\.py"):
            call(op, attributes)


def test_what_is_right_is_taken():
    assert run("Conv", GROUPED | {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}).shape == ()
    assert run("ConvTranspose", GROUPED | {"strides": [2, 2]}).shape == ()
    assert run("MaxPool", {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}).shape == ()
    assert taped("Conv", GROUPED | {"auto_pad": "SAME_UPPER"}).shape == X.shape
