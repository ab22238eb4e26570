"""Operations along an axis of ragged tensors that keep its places: ``softmax``, ``cumsum``.

And ``reduce_logsumexp``, which is made of the same parts.
"""

from __future__ import annotations

from typing import Any

from tfx.ops.array.creation import zeros_like
from tfx.ops.array.where import where
from tfx.ops.math import cumulative
from tfx.ops.math.arithmetic import add, subtract, truediv
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import exp, is_finite, log
from tfx.ragged_ops.arrangement import expand_dims
from tfx.ragged_ops.conversion import from_tensor, to_tensor
from tfx.ragged_ops.elementwise import by_elements
from tfx.ragged_ops.measures import axis_of
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.reduction import reduce_max, reduce_sum


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """The exponentials along an axis, divided by their sum."""
    x = as_ragged_or_tensor(logits)
    place = axis_of(-1 if axis is None else axis, x, "softmax")
    powers = _powers(x, place)
    return by_elements(truediv, powers, reduce_sum(powers, place, True))


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The logarithms of the sums of exponentials along axes."""
    x = as_ragged_or_tensor(input_tensor)
    if axis is None:
        largest = _finite(reduce_max(x, None))
        total = reduce_sum(by_elements(lambda a: exp(subtract(a, largest)), x), None, keepdims)
        return by_elements(lambda a: add(log(a), largest), total)
    if not hasattr(axis, "__len__"):
        return _log_of_sums(x, axis_of(axis, x, "reduce_logsumexp"), keepdims)
    # The innermost first, since the numbers of those outside stay what they are.
    for place in sorted({axis_of(int(a), x, "reduce_logsumexp") for a in axis}, reverse=True):
        x = _log_of_sums(x, place, keepdims)
    return x


def _log_of_sums(x: Any, axis: int, keepdims: bool) -> Any:
    powers = by_elements(lambda a, b: exp(subtract(a, _finite(b))), x, _largest(x, axis, True))
    total, largest = reduce_sum(powers, axis), _largest(x, axis)
    found = by_elements(lambda a, b: add(log(a), _finite(b)), total, largest)
    return expand_dims(found, axis) if keepdims else found


def _finite(largest: Any) -> Any:
    """What to take off: nothing where the largest is infinite or NaN, which it then stays."""
    return stop_gradient(where(is_finite(largest), largest, zeros_like(largest)))


def _largest(x: Any, axis: int, keepdims: bool = False) -> Any:
    return by_elements(stop_gradient, reduce_max(x, axis, keepdims))


def _powers(x: Any, axis: int) -> Any:
    """Exponentials, none above 1."""
    return by_elements(lambda a, b: exp(subtract(a, b)), x, _largest(x, axis, True))


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """The sums of all elements up to each one along an axis."""
    given = as_ragged_or_tensor(x)
    return _summed(given, axis_of(axis, given, "cumsum"), exclusive, reverse)


def _summed(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    if not isinstance(x, RaggedTensor):
        return cumulative.cumsum(x, axis, exclusive, reverse)
    if axis > 1:
        return x.with_values(_summed(x.values, axis - 1, exclusive, reverse))
    # What fills rows up is 0 and adds nothing.
    filled = cumulative.cumsum(to_tensor(x), axis, exclusive, reverse)
    lengths = x.nested_row_lengths()
    return from_tensor(filled, lengths=lengths, row_splits_dtype=x.row_splits.dtype)
