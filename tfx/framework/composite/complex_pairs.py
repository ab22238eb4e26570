"""Complex tensors as real ones: ``parts`` and ``joined``, the same bytes seen in another way.

A pair is a real tensor with a last axis of 2: real and imaginary parts. Gradients of complex
numbers are TensorFlow's: of a real function of ``x + iy`` the gradient is ``df/dx + i df/dy``,
which is what the pairs' gradients are, seen as complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.context import current
from tfx.framework.host_call import host_call
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.graph.complex_pairs import CALLS, PairCall, joined_array, parts_of_array
from tfx.graph.ir import HOST


def parts(z: Tensor) -> Tensor:
    """Real and imaginary parts of complex numbers, along a new last axis.

    Args:
        z: complex64 or complex128.

    Returns:
        float32 or float64.
    """
    shape = z.shape.symbolic
    return _seen(_PARTS, z, z.dtype.real_dtype, None if shape is None else (*shape, 2))


def joined(pairs: Tensor) -> Tensor:
    """The complex numbers whose parts are along the last axis.

    Args:
        pairs: float32 or float64, of a last axis of 2.

    Returns:
        complex64 or complex128.
    """
    kind = dtypes.complex64 if pairs.dtype is dtypes.float32 else dtypes.complex128
    shape = pairs.shape.symbolic
    return _seen(_JOINED, pairs, kind, None if shape is None else shape[:-1])


def _seen(call: PairCall, x: Tensor, dtype: dtypes.DType, shape: Any) -> Tensor:
    results = host_call(call, [x], [(dtype, shape)])
    context = current()
    if context.graph is None:  # in a graph the host call tells the tapes
        for tape in context.tapes:
            tape.record(HOST, {"call": call}, (x,), results)
    return results[0]


def _call(
    kind: str,
    view: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    gradient: Callable[[Tensor], Tensor],
    *,
    joins: bool,
) -> PairCall:
    def run(given: Sequence[EagerTensor]) -> list[Tensor]:
        return [from_array(view(given[0].view()), owned=True)]

    def rule(op: OpRecord, dy: Tensor) -> list[Tensor]:
        return [gradient(dy)]

    return PairCall(kind, run, effect=False, portable=False, gradient=rule, joins=joins)


_PARTS = _call("complex_parts", parts_of_array, joined, joins=False)
_JOINED = _call("complex_numbers", joined_array, parts, joins=True)
CALLS.update({False: _PARTS, True: _JOINED})
