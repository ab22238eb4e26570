"""Indices that count from the front alone.

ONNX's operators take negative indices to count from the end; TensorFlow's functions refuse them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph.ir import Node, Value
from tfx.runtime import values

_MASK = "BitwiseAnd"
_INDEX_DTYPES = (dtypes.int16, dtypes.int32, dtypes.int64)


def contents(x: Tensor) -> np.ndarray[Any, Any] | None:
    """Return a tensor's contents if they are known now and cost nothing to read, else None."""
    if isinstance(x, EagerTensor):
        return None if values.gpu_in_use else x.view()
    assert isinstance(x, SymbolicTensor)
    return x._symbol.const


def integer_indices(indices: Any, op: str) -> Tensor:
    """Indices as a tensor of a dtype that TensorFlow takes.

    Raises:
        DTypeMismatchError: not int16, int32 or int64.
    """
    where = convert_to_tensor(indices)
    if where.dtype in _INDEX_DTYPES:
        return where
    if where.dtype is dtypes.float32 and where.shape.rank == 1 and where.shape[0] == 0:
        return apply("Cast", (where,), {"to": dtypes.int64.onnx})  # [] is float32
    raise DTypeMismatchError(
        f"Value for attr 'Tindices' of {where.dtype.name} is not in the list of allowed values: "
        f"int16, int32, int64; {op} got the indices {indices!r}.",
        op=op,
    )


def from_the_front(indices: Tensor) -> Tensor:
    """Indices among which negative ones are out of range, whatever the size of the axis.

    In a graph a negative number loses its sign bit, which makes it a very large one, and a kernel
    refuses it. Known ones are looked at here and are left alone unless they are wrong. On a GPU,
    whose kernels check nothing, they are left alone.

    Args:
        indices: int32 or int64.
    """
    if isinstance(indices, EagerTensor):
        # Not view(): of these dtypes the runtime's own array will do, in a fifth of the time.
        known = None if values.gpu_in_use else indices._raw.numpy()
    else:
        known = contents(indices)
    if known is not None:
        if not known.size or known.min() >= 0:
            return indices
    elif isinstance(indices, EagerTensor):
        return indices
    if indices.dtype is dtypes.int64:
        return apply(_MASK, (indices, int64_constant(2**63 - 1)))
    return apply(_MASK, (indices, convert_to_tensor(2**31 - 1, dtypes.int32)))


def counted_from_the_front(indices: Tensor, size: Tensor) -> Tensor:
    """The places that ONNX's operators mean, for which negative indices count from the end.

    Args:
        indices: int32 or int64, all in range.
        size: How many places there are, an int64 scalar.
    """
    known = contents(indices)
    if known is not None and (not known.size or known.min() >= 0):
        return indices
    maker = indices._symbol.node if isinstance(indices, SymbolicTensor) else None
    if maker is not None and masked(maker) is not None:
        return indices
    size = ox.Cast(size, to=indices.dtype.onnx)
    zero = ox.Sub(size, size)
    wrapped = ox.Add(indices, size)
    return ox.Where(ox.Less(indices, zero), wrapped, indices)


def masked(node: Node) -> Value | None:
    """Return the indices that a node of ``from_the_front`` converts; None for other nodes."""
    if node.op != _MASK or len(node.inputs) != 2:
        return None
    indices, mask = node.inputs
    if indices is None or mask is None or mask.const is None or mask.const.shape != ():
        return None
    return indices if int(mask.const) == dtypes.from_onnx(mask.dtype).max else None
