"""Numbers at equal distances: ``range`` and ``linspace``.

While a function is traced they are nodes that make the numbers when the graph runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_unless, settled
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    is_tensor_like,
    numpy_as_integers,
    required_int,
    scalar_like,
    tensor,
)
from tfx.ops.common.counts import counted
from tfx.ops.common.dynamic_axis import found_axis
from tfx.ops.common.shapes import (
    as_vector,
    concat_shape,
    known_rank,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
)

# From the narrowest to the widest: arguments of several are brought to the last of theirs.
_RANGE_DTYPES = (
    *(dtypes.int32, dtypes.int64),
    *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64),
)


def range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """The numbers from ``start`` up to but not including ``limit``, ``delta`` apart.

    Args:
        start: First number; the limit if ``limit`` is None, and 0 is then the first.
        limit: Upper limit, exclusive.
        delta: Difference between neighbours.
        dtype: Element type; None takes the widest of the arguments'.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: ``delta`` is 0 or leads away from ``limit`` (as far as the numbers are
            known while tracing, and of integers whenever the function runs).

    Example:
        >>> import tfx as tf
        >>> tf.range(3, 18, 3).numpy()
        array([ 3,  6,  9, 12, 15], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    made = [_bound(v, wanted) for v in (start, limit, delta)]
    if wanted is None:
        for x in made:
            if x.dtype not in _RANGE_DTYPES:
                raise DTypeMismatchError(
                    f"range takes {', '.join(d.name for d in _RANGE_DTYPES)}; got {x.dtype.name}. "
                    "Pass dtype= to choose one.",
                    op="Range",
                )
        wanted = max((x.dtype for x in made), key=_RANGE_DTYPES.index)
    if wanted.is_floating:
        made = [cast_to(x, wanted) for x in made]
        return _of_floats(*made)
    # ONNX has no ranges of the small types: their numbers are exact in the wide ones.
    wide = wanted if wanted in _RANGE_DTYPES else dtypes.int64
    return cast_to(_of_integers(*[cast_to(x, wide) for x in made]), wanted)


def _of_floats(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """Return the range of floats; its length is a quotient of the dtype, its elements multiples."""
    numbers = [_number(x) for x in (start, limit, delta)]
    _check_range(*numbers)
    first, last, step = numbers
    if first is not None and last is not None and step is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            size = float(np.ceil(np.abs((last - first) / step)))
        if not size < 2.0**63:
            raise InvalidArgumentError(
                f"Requires ((limit - start) / delta) <= {2**63 - 1}; got range({first}, {last}, "
                f"{step}).",
                op="Range",
            )
        places = ox.Range(*tuple(map(int64_constant, (0, int(size), 1))))
    elif first == 0 and step == 1 and start.dtype.size >= 4:
        return ox.Range(start, limit, delta)
    else:
        quotient = ox.Ceil(ox.Div(ox.Sub(limit, start), delta))
        count = ox.Max(cast_to(quotient, dtypes.int64), int64_constant(0))
        places = ox.Range(int64_constant(0), count, int64_constant(1))
    return ox.Add(ox.Mul(cast_to(places, start.dtype), delta), start)


def _of_integers(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """Far from zero the count is not left to type inference, which overflows."""
    first, last, step = (_number(x) for x in (start, limit, delta))
    _check_range(first, last, step)
    if first is None or last is None or step is None:
        return ox.Range(*_towards([start, limit, delta], step))
    if max(abs(int(v)) for v in (first, last, step)) >= _FAR:
        count = -(-abs(int(last) - int(first)) // abs(int(step)))
        places = ox.Range(*tuple(map(int64_constant, (0, count, 1))))
        multiples = ox.Mul(cast_to(places, start.dtype), delta)
        return ox.Add(multiples, start)
    return ox.Range(start, limit, delta)


# Numbers below it cannot overflow int32, and their quotients are right in float64.
_FAR = 2**30


def _towards(made: list[Tensor], step: Any) -> list[Tensor]:
    """Start, limit and delta, checked when the graph runs: the steps must lead to the limit."""
    checked = next((i for i in (1, 0, 2) if not settled(made[i])), None)
    if checked is None:
        return made
    start, limit, delta = made
    # Compared, not subtracted: numbers far apart would wrap around.
    upwards = ox.GreaterOrEqual(limit, start)
    downwards = ox.LessOrEqual(limit, start)
    if step is None:
        rises = ox.Greater(delta, scalar_like(0, delta))
        reason, fine = Refusal.RANGE, ox.Where(rises, upwards, downwards)
    elif step > 0:
        reason, fine = Refusal.RANGE_UPWARDS, upwards
    else:
        reason, fine = Refusal.RANGE_DOWNWARDS, downwards
    made[checked] = refused_unless(fine, made[checked], reason)
    return made


def _bound(value: Any, dtype: DType | None) -> Tensor:
    x = tensor(value) if is_tensor_like(value) else convert_to_tensor(value, dtype)
    return ox.Reshape(x, int64_constant([])) if raw_shape(x) == (1,) else x


def _number(x: Tensor) -> Any:
    """A scalar's value where it is known."""
    if isinstance(x, EagerTensor):
        return x.view()[()]
    assert isinstance(x, SymbolicTensor)
    const = x._symbol.const
    return None if const is None else const[()]


def _check_range(start: Any, limit: Any, delta: Any) -> None:
    if delta is None:
        return
    if delta == 0:
        raise InvalidArgumentError(f"Requires delta != 0: {delta}", op="Range")
    if start is None or limit is None:
        return
    if delta > 0 and not start <= limit:
        raise InvalidArgumentError(
            f"Requires start <= limit when delta > 0: {start}/{limit}", op="Range"
        )
    if delta < 0 and not start >= limit:
        raise InvalidArgumentError(
            f"Requires start >= limit when delta < 0: {start}/{limit}", op="Range"
        )


def _with_axis(x: Tensor, axis: int) -> Tensor:
    """A new axis, counted from the end; broadcasting makes those in front of the first."""
    rank = known_rank(x, "linspace")
    return ox.Unsqueeze(x, int64_constant([axis])) if rank >= -axis - 1 else x


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: Any = 0) -> Tensor:
    """``num`` numbers at equal distances from ``start`` to ``stop``, both included.

    Args:
        start: First number; a tensor gives as many rows of numbers.
        stop: Last number, of the same dtype.
        num: How many.
        name: Accepted for compatibility.
        axis: Where the axis of the numbers stands in the result.

    Raises:
        ValueError: ``stop`` has another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.linspace(10.0, 12.0, 3).numpy()
        array([10., 11., 12.], dtype=float32)
    """
    first = tensor(start)
    if is_tensor_like(stop) and tensor(stop).dtype is not first.dtype:
        raise InvalidArgumentError(
            f"stop: Tensor conversion requested dtype {first.dtype.name} for Tensor with dtype "
            f"{tensor(stop).dtype.name}: {stop!r}"
        )
    last = convert_to_tensor(stop, first.dtype)
    if first.dtype.is_integer:
        wide = dtypes.float32 if first.dtype.size < 4 else dtypes.float64
        first, last = cast_to(first, wide), cast_to(last, wide)
    late = found_axis(axis, first, "linspace")
    if late is None and rank_of(last) is None:
        late = int64_constant([required_int(axis, "axis of linspace")])
    if late is not None:
        return _late_linspace(first, last, num, late)
    rank = max(known_rank(first, "linspace"), known_rank(last, "linspace"))
    axis = required_int(axis, "axis of linspace")
    place = axis + rank + 1 if axis < 0 else axis
    if not 0 <= place <= rank:
        raise InvalidArgumentError(f"axis {axis} of linspace is not in [{-rank - 1}, {rank + 1}).")
    one = int64_constant(1)
    count = ox.Reshape(
        as_vector(counted(numpy_as_integers(num), "num", "LinSpace")), int64_constant([])
    )
    # The end gets stop itself, not what steps add up to; a single number is start.
    end = ox.Max(ox.Sub(count, one), one)
    steps = ox.Range(int64_constant(0), count, one)
    column = int64_constant([-1] + [1] * (rank - place))
    steps = ox.Reshape(steps, column) if rank - place else steps
    first, last = _with_axis(first, place - rank - 1), _with_axis(last, place - rank - 1)
    slope = ox.Div(ox.Sub(last, first), cast_to(end, first.dtype))
    line = ox.Add(first, ox.Mul(slope, cast_to(steps, first.dtype)))
    return ox.Where(ox.Equal(steps, end), last, line)


def _late_linspace(first: Tensor, last: Tensor, num: Any, axis: Tensor) -> Tensor:
    """``linspace`` of tensors of whose rank, or axis, only a run tells."""
    ranks = rank_of(first), rank_of(last)
    first = ox.Expand(first, shape_vector(last))
    last = ox.Expand(last, shape_vector(first))
    shape = shape_vector(first)
    length = ox.Add(ox.Shape(shape), int64_constant([1]))
    negative = ox.Less(axis, int64_constant([0]))
    place = ox.Where(negative, ox.Add(axis, length), axis)
    before = ox.Slice(shape, int64_constant([0]), place)
    after = ox.Slice(shape, place, int64_constant([INT64_MAX]))
    flat = concat_shape(product(before), product(after))
    line = linspace(reshape_to(first, flat), reshape_to(last, flat), num, axis=1)
    result = reshape_to(line, concat_shape(before, shape_vector(line, 1, 2), after))
    if ranks[0] is not None and ranks[1] is not None:
        result.set_shape([None] * (max(ranks[0], ranks[1]) + 1))
    return result
