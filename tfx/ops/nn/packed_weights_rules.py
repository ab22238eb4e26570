"""Gradients of products with weights of few bits, which imported language models have.

``MatMulNBits`` of ``com.microsoft`` runs by ONNX Runtime's own kernel. Its gradient is that of the
product with the weights as they are spread out: by the other factor, the bias, and the scales.
"""

from __future__ import annotations

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.rules import OpRecord, formula
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like


@formula("com.microsoft::MatMulNBits")
def _matmul_n_bits(op: OpRecord) -> Tensor:
    """``a @ w.T``; a row of ``w`` is cut into blocks, each with a scale and a zero point."""
    a, packed, scales, zeros, order, bias = [*op.inputs, *(None,) * 6][:6]
    if order is not None:
        raise UnimplementedError(f"{op.op} with g_idx has no gradient", op=op.op)
    attrs = op.attrs
    width, rows, block = int(attrs["K"]), int(attrs["N"]), int(attrs["block_size"])
    bits = int(attrs.get("bits", 4))
    count = -(-width // block)
    kind = a.dtype
    numbers = ox.Reshape(_unpacked(packed, bits), int64_constant([rows, count, block]))
    if zeros is None:
        shift = scalar_like(float(1 << (bits - 1)), a)
    elif zeros.dtype is dtypes.uint8:
        each = ox.Reshape(_unpacked(zeros, bits), int64_constant([rows, -1]))
        each = ox.Slice(each, int64_constant([0]), int64_constant([count]), int64_constant([1]))
        shift = ox.Reshape(cast_to(each, kind), int64_constant([rows, count, 1]))
    else:
        shift = ox.Reshape(cast_to(zeros, kind), int64_constant([rows, count, 1]))
    scale = ox.Reshape(cast_to(scales, kind), int64_constant([rows, count, 1]))
    blocks = ox.Mul(ox.Sub(cast_to(numbers, kind), shift), scale)
    weights = ox.Reshape(blocks, int64_constant([rows, count * block]))
    if count * block != width:
        ends = int64_constant([0]), int64_constant([width]), int64_constant([1])
        weights = ox.Slice(weights, *ends)
    y = ox.MatMul(a, ox.Transpose(weights, perm=(1, 0)))
    return y if bias is None else ox.Add(y, bias)


def _unpacked(x: Tensor, bits: int) -> Tensor:
    """The numbers in bytes, the lowest bits first, along a new last axis."""
    if bits == 8:
        return x
    axis, mask = int64_constant([-1]), embed(np.array((1 << bits) - 1, np.uint8))
    parts = []
    for start in range(0, 8, bits):
        moved = ox.BitShift(x, embed(np.array(start, np.uint8)), direction="RIGHT")
        parts.append(ox.Unsqueeze(ox.BitwiseAnd(moved, mask), axis))
    return ox.Concat(*parts, axis=-1)
