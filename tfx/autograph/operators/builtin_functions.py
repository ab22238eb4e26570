"""Builtins that mean something for tensors of a graph: ``print``, ``len``, ``range``, ``int``...

Each is Python's own unless it gets a tensor that has no contents yet.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from tfx.autograph.operators.iteration import Counted, counted
from tfx.autograph.operators.staging import is_staged
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.control_flow import map_fn
from tfx.core import dtypes, nest
from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array import ranges, shape, sort
from tfx.ops.array.gather import gather
from tfx.ops.debugging import print as print_ops
from tfx.ops.math import arithmetic, comparison, elementwise, reduction
from tfx.ops.math.cast import cast

_PYTHON_PRINT = builtins.print


def counterpart(function: Any, convert: Callable[[Any], Any]) -> Any:
    """Return the replacement of a builtin for converted code.

    Args:
        function: A builtin function or type.
        convert: Converts functions that a builtin is given to call.
    """
    taking = _TAKING_FUNCTIONS.get(function)
    if taking is not None:
        return functools.partial(taking, convert)
    return _COUNTERPARTS.get(function, function)


def _map(convert: Callable[[Any], Any], function: Any, *iterables: Any, **kwargs: Any) -> Any:
    called = convert(function)
    if not any(is_staged(x) or isinstance(x, Counted) for x in iterables):
        return map(called, *iterables, **kwargs)
    together = _zip(*iterables)
    return Counted(together.length, together.known, lambda n: called(*together.item(n)))


def _filter(convert: Callable[[Any], Any], function: Any, iterable: Any, /) -> Any:
    if is_staged(iterable) or isinstance(iterable, Counted):
        raise OperatorNotAllowedInGraphError(
            f"filter takes no tensor of the graph; got {iterable!r}. Use tf.boolean_mask, or a "
            "`for` statement with `continue`."
        )
    test = function if function is None else convert(function)
    return filter(test, iterable)


def _reduce(convert: Callable[[Any], Any], function: Any, iterable: Any, /, *initial: Any) -> Any:
    called = convert(function)
    if not is_staged(iterable):
        return functools.reduce(called, iterable, *initial)
    return map_fn.foldl(called, iterable, *initial)


def _with_key(builtin: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin whose ``key`` is a function."""

    def called(convert: Callable[[Any], Any], /, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("key") is not None:
            kwargs["key"] = convert(kwargs["key"])
        return builtin(*args, **kwargs)

    return called


def _any_staged(values: Any) -> bool:
    return any(is_staged(v) or isinstance(v, TensorList) for v in nest.flatten(list(values)))


def _print(*objects: Any, sep: str | None = " ", end: str | None = "\n", **kwargs: Any) -> Any:
    # Outside of loops and branches it is Python's, as in TensorFlow: it tells that a trace is made.
    # Inside of them there is no such moment that would mean anything, so it acts whenever they run.
    if not (getattr(current().graph, "is_body", False) and _any_staged(objects)):
        return _PYTHON_PRINT(*objects, sep=sep, end=end, **kwargs)
    stream = kwargs.get("file")
    options = {} if stream is None else {"output_stream": stream}
    return print_ops.print(
        *objects, sep=" " if sep is None else sep, end="\n" if end is None else end, **options
    )


def _len(x: Any) -> Any:
    if isinstance(x, TensorList):
        return x.size()
    if not is_staged(x):
        return len(x)
    tensor = convert_to_tensor(x)
    if tensor.shape.rank == 0:
        raise TypeError(f"len requires a tensor with a first dimension; got the scalar {tensor!r}.")
    first = tensor.shape[0] if tensor.shape.rank is not None else None
    return first if first is not None else shape.shape(tensor)[0]


def _range(*limits: Any) -> Any:
    return ranges.range(*limits) if _any_staged(limits) else range(*limits)


def _int(x: Any = 0, *args: Any, **kwargs: Any) -> Any:
    return cast(x, dtypes.int32) if is_staged(x) else int(x, *args, **kwargs)


def _float(x: Any = 0.0, /) -> Any:
    return cast(x, dtypes.float32) if is_staged(x) else float(x)


def _bool(x: Any = False, /) -> Any:
    return cast(x, dtypes.bool) if is_staged(x) else bool(x)


def _abs(x: Any, /) -> Any:
    return elementwise.abs(x) if is_staged(x) else abs(x)


def _max(*args: Any, **kwargs: Any) -> Any:
    if not _any_staged(args) or kwargs:
        return max(*args, **kwargs)
    return _extreme(args, arithmetic.maximum, reduction.reduce_max, "max")


def _min(*args: Any, **kwargs: Any) -> Any:
    if not _any_staged(args) or kwargs:
        return min(*args, **kwargs)
    return _extreme(args, arithmetic.minimum, reduction.reduce_min, "min")


def _extreme(
    args: tuple[Any, ...],
    two: Callable[[Any, Any], Any],
    reduce: Callable[[Any], Any],
    name: str,
) -> Any:
    if len(args) == 1 and is_staged(args[0]):
        tensor = convert_to_tensor(args[0])
        if tensor.shape.rank == 0:
            raise TypeError(f"{name} of one argument needs a vector; got the scalar {tensor!r}.")
        return reduce(tensor)
    values = list(args[0] if len(args) == 1 else args)
    tensors = [x for x in values if isinstance(x, Tensor)]
    for x in tensors:
        if x.shape.rank:
            raise ValueError(
                f"{name} of several arguments compares scalars; got {x!r}. Use "
                f"tf.{'maximum' if name == 'max' else 'minimum'}, which works element by element."
            )
    result = values[0]
    for x in values[1:]:
        result = two(result, x)
    return result


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    if is_staged(iterable):
        total = reduction.reduce_sum(iterable, axis=0)
        return total if isinstance(start, int) and start == 0 else arithmetic.add(total, start)
    return sum(iterable, start)


def _any(iterable: Any, /) -> Any:
    if is_staged(iterable):
        return reduction.reduce_any(iterable)
    values = list(iterable) if _is_sized(iterable) else iterable
    if _is_sized(values) and _any_staged(values):
        result: Any = False
        for x in values:
            result = comparison.logical_or(result, x)
        return result
    return any(values)


def _all(iterable: Any, /) -> Any:
    if is_staged(iterable):
        return reduction.reduce_all(iterable)
    values = list(iterable) if _is_sized(iterable) else iterable
    if _is_sized(values) and _any_staged(values):
        result: Any = True
        for x in values:
            result = comparison.logical_and(result, x)
        return result
    return all(values)


def _is_sized(iterable: Any) -> bool:
    """True if looking at the elements has no effect."""
    return isinstance(iterable, list | tuple)


def _sorted(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> Any:
    if not is_staged(iterable):
        return sorted(iterable, key=key, reverse=reverse)
    direction = "DESCENDING" if reverse else "ASCENDING"
    if key is None:
        return sort.sort(iterable, direction=direction)
    raise OperatorNotAllowedInGraphError(
        "sorted of a tensor of the graph takes no key; sort by tf.argsort of the keys."
    )


def _is_dataset(x: Any) -> bool:
    """True if it is a dataset in a function that is traced, whose loops are the graph's."""
    return current().graph is not None and hasattr(type(x), "element_spec") and hasattr(x, "zip")


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    if _is_dataset(iterable):
        return iterable.enumerate(start)
    steps = counted(iterable)
    if steps is None:
        return enumerate(iterable, start)
    first = convert_to_tensor(start)
    return Counted(
        steps.length,
        steps.known,
        lambda number: (arithmetic.add(cast(number, first.dtype), first), steps.item(number)),
    )


def _zip(*iterables: Any, strict: bool = False) -> Any:
    if iterables and not strict and all(_is_dataset(x) for x in iterables):
        return type(iterables[0]).zip(*iterables)
    if not any(is_staged(x) or isinstance(x, Counted) for x in iterables):
        return zip(*iterables, strict=strict)
    every = [counted(x) or _listed(x) for x in iterables]
    length, known = every[0].length, every[0].known
    for steps in every[1:]:
        if known is not None and steps.known is not None:
            known = min(known, steps.known)
            length = int64_constant(known)
        else:
            known = None
            length = ox.Min(length, steps.length)
    return Counted(length, known, lambda number: tuple(s.item(number) for s in every))


def _listed(iterable: Any) -> Counted:
    """A Python sequence beside tensors: its elements as one tensor."""
    steps = counted_eager(convert_to_tensor(list(iterable)))
    return steps


def counted_eager(tensor: Tensor) -> Counted:
    """Steps over a tensor whose contents are known."""
    length = tensor.shape[0]
    assert isinstance(length, int)
    return Counted(int64_constant(length), length, lambda number: gather(tensor, number))


def _reversed(sequence: Any, /) -> Any:
    steps = counted(sequence)
    if steps is None:
        return reversed(sequence)
    last = ox.Sub(steps.length, int64_constant(1))
    return Counted(steps.length, steps.known, lambda number: steps.item(ox.Sub(last, number)))


def _next(iterator: Any, /, *default: Any) -> Any:
    if isinstance(iterator, Counted) or is_staged(iterator):
        raise OperatorNotAllowedInGraphError(
            f"next takes no tensor of the graph; got {iterator!r}. Take an element by its index, "
            "or use a `for` statement."
        )
    return next(iterator, *default)


_TAKING_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    filter: _filter,
    functools.reduce: _reduce,
    map: _map,
    max: _with_key(_max),
    min: _with_key(_min),
    sorted: _with_key(_sorted),
}
_COUNTERPARTS: dict[Any, Callable[..., Any]] = {
    abs: _abs,
    all: _all,
    any: _any,
    bool: _bool,
    enumerate: _enumerate,
    float: _float,
    int: _int,
    len: _len,
    next: _next,
    print: _print,
    range: _range,
    reversed: _reversed,
    sum: _sum,
    zip: _zip,
}
