"""``and``, ``or``, ``not`` and chains of comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tfx.autograph.operators.conditionals import both, either
from tfx.autograph.operators.staging import is_staged
from tfx.autograph.operators.symbols import as_unbound_local
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import logical_not

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda item, container: operator.contains(container, item),
    "not in": lambda item, container: not operator.contains(container, item),
}


def and_(*operands: Callable[[], Any]) -> Any:
    """``a and b and ...``: an operand is computed only if those before it are true."""
    try:
        return _all(operands)
    except NameError as e:
        raise as_unbound_local(e) from None


def _all(operands: Sequence[Callable[[], Any]]) -> Any:
    value: Any = True
    for number, operand in enumerate(operands):
        value = operand()
        rest = operands[number + 1 :]
        if rest and is_staged(value):
            return both(value, partial(_all, rest), "and")
        if rest and not value:
            return value
    return value


def or_(*operands: Callable[[], Any]) -> Any:
    """``a or b or ...``: an operand is computed only if those before it are false."""
    try:
        return _any(operands)
    except NameError as e:
        raise as_unbound_local(e) from None


def _any(operands: Sequence[Callable[[], Any]]) -> Any:
    value: Any = False
    for number, operand in enumerate(operands):
        value = operand()
        rest = operands[number + 1 :]
        if rest and is_staged(value):
            return either(value, partial(_any, rest), "or")
        if rest and value:
            return value
    return value


def not_(value: Any) -> Any:
    """``not value``."""
    if isinstance(value, TensorList):
        return value.count <= 0
    if not is_staged(value):
        return not value
    tensor = convert_to_tensor(value)
    known = tensor.dtype in (dtypes.bool, dtypes.string)  # of a string, the operation complains
    return logical_not(tensor if known else cast(tensor, dtypes.bool))


def compare(symbols: Sequence[str], first: Any, *others: Callable[[], Any]) -> Any:
    """``a < b < c``: each operand is computed once, and only if the comparisons before it hold."""
    try:
        other = others[0]()
    except NameError as e:
        raise as_unbound_local(e) from None
    result = _COMPARISONS[symbols[0]](first, other)
    if len(symbols) == 1:
        return result
    if is_staged(result):
        return both(result, lambda: compare(symbols[1:], other, *others[1:]), "comparison")
    return compare(symbols[1:], other, *others[1:]) if result else result
