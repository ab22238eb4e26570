"""Which public operations take sparse tensors, and what carries them out then.

Owns the table, by public names. It must not know how an operation finds out that it was given one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import as_dtype
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.sparse_ops import rows
from tfx.sparse_ops.conversion import to_dense
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of

Handler = Callable[..., Any]

# Operations that give 0 for 0: of the values alone, in the same places.
_UNARY = """
    abs asin asinh atan atanh cast identity negative sign sin sqrt square stop_gradient tan tanh
    math.bessel_i0e math.bessel_i1e math.erf
"""


def table() -> dict[str, Callable[[Handler], Handler]]:
    """For each public name what makes the implementation for sparse tensors of the plain one."""
    made: dict[str, Callable[[Handler], Handler]] = {}
    for name in _UNARY.split():
        made[name] = _of_values
    made["shape"] = lambda plain: _shape
    made["size"] = lambda plain: _size
    made["rank"] = lambda plain: _rank
    made["math.bincount"] = lambda plain: bincount
    return made


def _of_values(plain: Handler) -> Handler:
    first = next(iter(inspect.signature(plain).parameters))

    def carry_out(*args: Any, **kwargs: Any) -> Any:
        x, rest = (args[0], args[1:]) if args else (kwargs.pop(first), ())
        return x.with_values(plain(x.values, *rest, **kwargs))

    return carry_out


def _shape(input: SparseTensor, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    found: Tensor = cast_to(input.dense_shape, as_dtype(out_type or dtypes.int32))
    return found


def _size(input: SparseTensor, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    count = ox.ReduceProd(input.dense_shape, keepdims=0)
    return cast_to(count, as_dtype(out_type or dtypes.int32))


def _rank(input: SparseTensor, name: str | None = None) -> Tensor:
    return convert_to_tensor(known_rank_of(input, "Rank"), dtypes.int32)


def bincount(
    arr: SparseTensor,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Counts as a dense tensor: those of the entries, and not of what is not written down."""
    given = weights.values if isinstance(weights, SparseTensor) else weights
    found = rows.bincount(
        arr,
        None if given is None else arr.with_values(given),
        0 if axis is None else axis,
        minlength,
        maxlength,
        binary_output,
    )
    dense = to_dense(found)
    return dense if given is not None else cast_to(dense, as_dtype(dtype))
