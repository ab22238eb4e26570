"""Operations that no ONNX operator carries out: Python computes them from arrays.

Eagerly that happens at once, in a function as a step of its plan. A function with such a step is
refused when it is saved, by the operation's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.graph.ir import HOST, HostCall, RawShape


def by_python(
    kind: str,
    compute: Callable[..., Sequence[Any]],
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, RawShape]],
    *,
    effect: bool = False,
    gradient: Callable[..., Any] | None = None,
) -> tuple[Tensor, ...]:
    """Results that Python computes.

    Args:
        kind: The operation, for messages: ``"strings.substr"``.
        compute: Takes an array for each input (strings are ``bytes`` in an object array), returns
            an array for each output.
        inputs: The operands.
        outputs: Dtype and raw shape of each result.
        effect: Whether it must run although nothing uses its results.
        gradient: Rule as in ``framework.rules``; None: no gradient flows through it.
    """

    def run(given: Sequence[EagerTensor]) -> list[Tensor]:
        try:
            found = compute(*[x.view() for x in given])
        except ValueError as e:
            if isinstance(e, OpError):
                raise
            # What NumPy says of operands whose shapes do not fit.
            raise InvalidArgumentError(f"{kind}: {e}") from e
        return [_tensor(y, dtype) for y, (dtype, _) in zip(found, outputs, strict=True)]

    call = HostCall(kind, run, effect=effect, portable=False, gradient=gradient)
    results = host_call(call, inputs, outputs)
    context = current()
    if gradient is not None and context.graph is None:  # in a graph the host call tells the tapes
        for tape in context.tapes:
            tape.record(HOST, {"call": call}, inputs, results)
    return results


def _tensor(value: Any, dtype: DType) -> Tensor:
    if dtype is dtypes.string and isinstance(value, np.ndarray):
        return from_array(np.array(value, object))
    if isinstance(value, np.ndarray | np.generic):
        with np.errstate(over="ignore"):  # what is too large for the type is infinite
            return from_array(np.array(value, dtype.as_numpy_dtype))
    return convert_to_tensor(value, dtype)


def each(function: Callable[..., Any], dtype: Any, *arrays: Any) -> Any:
    """A Python function of single elements applied to arrays, with broadcasting.

    Args:
        function: Takes one element of each array, as Python's number or ``bytes``.
        dtype: NumPy dtype of the results.
        *arrays: The operands.
    """
    wide = np.broadcast_arrays(*arrays) if len(arrays) > 1 else [np.asarray(arrays[0])]
    found = map(function, *[a.reshape(-1).tolist() for a in wide])
    return np.fromiter(found, dtype, wide[0].size).reshape(wide[0].shape)
