"""Products with weights of few bits, against the runtime's kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.nn.fused import check, model_of

RNG = np.random.default_rng(0)
ROWS = 6


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def packed(width: int, block: int, bits: int) -> tuple[Any, Any, Any]:
    """Numbers, scales and zero points."""
    count = -(-width // block)
    numbers = RNG.integers(0, 256, (ROWS, count, block * bits // 8)).astype(np.uint8)
    zeros = RNG.integers(0, 256, (ROWS, -(-count * bits // 8))).astype(np.uint8)
    return numbers, np.abs(drawn(ROWS, count)), zeros


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("width", "block"), [(64, 32), (40, 16)])
def test_gradients_are_those_of_the_weights_spread_out(width: int, block: int, bits: int) -> None:
    numbers, scales, zeros = packed(width, block, bits)
    attrs = {"K": width, "N": ROWS, "block_size": block, "bits": bits}
    x = drawn(2, 3, width)
    check("MatMulNBits", [x, numbers, scales], attrs, by=(0, 2))
    check("MatMulNBits", [x, numbers, scales, zeros, None, drawn(ROWS)], attrs, by=(0, 2, 5))
    if bits < 8:  # the kernel has no others
        check("MatMulNBits", [x, numbers, scales, drawn(*scales.shape)], attrs, by=(0, 2))


def test_an_order_of_the_inputs_has_no_gradient() -> None:
    numbers, scales, _ = packed(64, 32, 4)
    inputs = [drawn(2, 64), numbers, scales, None, np.zeros(64, np.int32)]
    attrs = {"K": 64, "N": ROWS, "block_size": 32, "bits": 4}
    model = tf.import_onnx(model_of("MatMulNBits", inputs, attrs))
    given = [tf.constant(x) for x in inputs if x is not None]
    with tf.GradientTape() as tape, pytest.raises(tf.errors.UnimplementedError, match="g_idx"):
        tape.watch(given[0])
        tape.gradient(model(*given), given[0])
