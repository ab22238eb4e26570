"""``case`` and ``switch_case``: one of several functions runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.control_flow.cond import Branching, truth
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.debugging.assertions import Assert
from tfx.ops.math.comparison import less_equal
from tfx.ops.math.reduction import reduce_sum

Function = Callable[[], Any]


def case(
    pred_fn_pairs: Any,
    default: Function | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function that belongs to the first true condition.

    Args:
        pred_fn_pairs: List of pairs of a scalar bool tensor and a function without arguments.
        default: Called if no condition is true; None: that is an error.
        exclusive: Require that at most one condition is true.
        strict: Accepted for compatibility.
        name: Prefix of the nodes' names.

    Returns:
        What the function returned.

    Raises:
        TypeError: not a list of pairs, a condition that is no tensor of bools, or something that
            cannot be called; or, in a graph, functions that return different structures.
        ValueError: no pairs.
        InvalidArgumentError: no condition is true and there is no default; or several are true
            and ``exclusive`` is set.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant(3)
        >>> tf.case([(x < 0, lambda: "negative"), (x > 0, lambda: "positive")], default=lambda: "0")
        'positive'
    """
    pairs = _pairs(pred_fn_pairs, exclusive)
    if default is not None and not callable(default):
        raise TypeError(f"'default' must be callable; got {default!r}.")
    preds = [p for p, _ in pairs]
    if exclusive:
        _require_one(preds, name)
    if current().graph is None:
        for pred, function in pairs:
            if pred:
                return function()
        if default is None:
            raise InvalidArgumentError(
                "case: None of conditions evaluated as True, and there is no default: "
                f"{[bool(p) for p in preds]}."
            )
        return default()
    if default is None:
        default = pairs[-1][1]
        any_true = preds[0]
        for pred in preds[1:]:
            any_true = ox.Or(any_true, pred)
        Assert(any_true, ["case: None of conditions evaluated as True:", *preds])
        pairs = pairs[:-1]
    return _chain(pairs, default, name)


def _chain(pairs: Sequence[tuple[Tensor, Function]], default: Function, name: str) -> Any:
    """Nested branches: each ``else`` holds what is left."""
    if not pairs:
        return default()
    (pred, function), *rest = pairs
    graph = current().graph
    assert graph is not None
    labels = ("branch", "others")
    branching = Branching(
        graph, truth(pred, "A condition"), name, labels, "The functions of tf.case"
    )
    branching.defined_by(function, default if not rest else rest[0][1])
    return branching.add(function, lambda: _chain(rest, default, name))


def _pairs(given: Any, exclusive: bool) -> list[tuple[Tensor, Function]]:
    if isinstance(given, Mapping):
        if not exclusive and current().graph is None:
            raise ValueError(
                "Unordered dictionaries are not supported for 'pred_fn_pairs' when exclusive=False "
                "in eager mode; pass a list of pairs."
            )
        given = [(getattr(p, "deref", lambda p=p: p)(), f) for p, f in given.items()]
    if not isinstance(given, list | tuple):
        raise TypeError(f"'pred_fn_pairs' must be a list of pairs; got {given!r}.")
    if not given:
        raise ValueError("'pred_fn_pairs' must have at least one pair; got none.")
    pairs = []
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple; got {pair!r}.")
        pred, function = pair
        if not isinstance(pred, Tensor):
            if current().graph is not None or not isinstance(pred, bool):
                raise TypeError(f"A condition must be a tensor of dtype bool; got {pred!r}.")
            pred = convert_to_tensor(pred)
        if pred.dtype is not dtypes.bool:
            raise TypeError(f"A condition must be a tensor of dtype bool; got {pred!r}.")
        if not callable(function):
            raise TypeError(f"fn for pred {pred!r} must be callable; got {function!r}.")
        pairs.append((pred, function))
    return pairs


def _require_one(preds: Sequence[Tensor], name: str) -> None:
    counts = [ox.Cast(p, to=dtypes.int32.onnx) for p in preds]
    Assert(
        less_equal(reduce_sum(counts), 1),
        [f"{name}: more than one condition evaluated as True but exclusive=True.", *preds],
    )


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Function | None = None,
    name: str = "switch_case",
) -> Any:
    """Return ``branch_fns[branch_index]()``.

    Args:
        branch_index: An integer scalar tensor.
        branch_fns: List of functions without arguments, or of pairs of a number and such a
            function, or a dict of these; the numbers must be 0, 1, 2...
        default: Called for any other index; None: the function with the largest number is.
        name: Prefix of the nodes' names.

    Returns:
        What the function returned.

    Raises:
        TypeError: ``branch_index`` is no integer tensor, or ``branch_fns`` holds something that
            cannot be called; or, in a graph, functions that return different structures.
        ValueError: no functions, or numbers with holes.

    Example:
        >>> import tfx as tf
        >>> tf.switch_case(tf.constant(1), [lambda: "zero", lambda: "one"])
        'one'
    """
    if not isinstance(branch_index, Tensor):
        if not getattr(branch_index, "_is_tfx_variable", False):
            raise TypeError(f"'branch_index' must be a Tensor; got {branch_index!r}.")
        branch_index = convert_to_tensor(branch_index)
    if not branch_index.dtype.is_integer:
        raise TypeError(
            f"'branch_index' must be an integer; got {branch_index!r} of dtype "
            f"{branch_index.dtype.name}."
        )
    functions = _numbered(branch_fns)
    if default is None:
        default = functions[-1]
    elif not callable(default):
        raise TypeError(f"'default' must be callable; got {default!r}.")
    if current().graph is None:
        index = int(branch_index)
        return (functions[index] if 0 <= index < len(functions) else default)()
    return _search(branch_index, functions, default, name)


def _search(index: Tensor, functions: Sequence[Function], default: Function, name: str) -> Any:
    """The default, or one of the functions, found by halving."""
    inside = ox.And(
        ox.GreaterOrEqual(index, convert_to_tensor(0, index.dtype)),
        ox.Less(index, convert_to_tensor(len(functions), index.dtype)),
    )
    graph = current().graph
    assert graph is not None
    labels = ("branches", "default")
    branching = Branching(graph, inside, name, labels, "The functions of tf.switch_case")
    branching.defined_by(functions[0], default)
    return branching.add(lambda: _halved(index, functions, 0, name), default)


def _halved(index: Tensor, functions: Sequence[Function], first: int, name: str) -> Any:
    if len(functions) == 1:
        return functions[0]()
    middle = len(functions) // 2
    low = ox.Less(index, convert_to_tensor(first + middle, index.dtype))
    graph = current().graph
    assert graph is not None
    labels = (f"branch_{first}", f"branch_{first + middle}")
    branching = Branching(graph, low, name, labels, "The functions of tf.switch_case")
    branching.defined_by(functions[0], functions[middle])
    return branching.add(
        lambda: _halved(index, functions[:middle], first, name),
        lambda: _halved(index, functions[middle:], first + middle, name),
    )


def _numbered(given: Any) -> list[Function]:
    if not isinstance(given, list | tuple | dict):
        raise TypeError(f"'branch_fns' must be a list, tuple or dict; got {given!r}.")
    items = list(given.items() if isinstance(given, dict) else given)
    if not items:
        raise ValueError("'branch_fns' must have at least one function; got none.")
    if all(callable(f) for f in items):
        return items
    for item in items:
        if not isinstance(item, tuple) or len(item) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple; got {item!r}.")
        number, function = item
        if not isinstance(number, int):
            raise TypeError(f"Key must be a Python `int`; got {number!r}.")
        if not callable(function):
            raise TypeError(f"fn for key {number} must be callable; got {function!r}.")
    numbers = sorted(n for n, _ in items)
    if numbers != list(range(len(items))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(items)}) but found "
            f"{{{','.join(map(str, numbers))}}}"
        )
    return [dict(items)[n] for n in numbers]
