"""A barrier for ``recompute_grad``: what is computed behind it is not what was computed before it.

In one graph the second computation of a part would be shared with the first (by our passes and by
ONNX Runtime's), and its intermediate values would be kept after all. So it starts from copies of
the arguments that depend on the gradient, in their shape only, by a zero that no pass knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.tags import Mark

_INT64 = 7


def after(tensors: Sequence[Tensor], dy: Tensor) -> list[Tensor]:
    """The tensors, not before ``dy`` is there; in a graph.

    Args:
        tensors: Tensors of any shapes; they are not copied.
        dy: A floating tensor.

    Returns:
        Tensors with the same contents.
    """
    count = _count(dy)
    floating = [x for x in tensors if x.dtype.is_floating]
    if floating:  # the gradient may be a constant
        count = ox.Add(count, _count(floating[0]))
    zero = barrier(ox.Min(count, _ints(0)))
    return [_reshaped(x, zero) for x in tensors]


def barrier(zero: Tensor) -> Tensor:
    """Tag a zero of a graph: what is made for many elements may wait for all of them at once."""
    if isinstance(zero, SymbolicTensor) and zero._symbol.node is not None:
        zero._symbol.node.tag = Mark.BARRIER
    return zero


def _count(x: Tensor) -> Tensor:
    """1 if the first element is not a number, otherwise 0: a number that nothing foresees."""
    first = ox.Slice(ox.Reshape(x, _ints(-1)), _ints(0), _ints(1))
    found = ox.Cast(ox.IsNaN(first), to=_INT64)
    return ox.ReduceSum(found, _ints(0), keepdims=1)


def _ints(*values: int) -> Tensor:
    return convert_to_tensor(np.array(values, np.int64))


def _reshaped(x: Tensor, zero: Tensor) -> Tensor:
    if x.shape.rank == 0:  # its shape has nothing that zero could be added to
        copy = ox.Reshape(ox.Unsqueeze(x, zero), _ints())
    else:
        sizes = ox.Add(ox.Shape(x), zero)
        copy = ox.Reshape(x, sizes, allowzero=1)
    if isinstance(copy, SymbolicTensor) and isinstance(x, SymbolicTensor):
        copy.set_shape(x.shape)
    return copy
