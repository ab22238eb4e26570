"""Results of branches and bodies: leaves as tensors of the body, and their names in messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.control_flow.tensor_array_state import ArrayState
from tfx.core import nest
from tfx.core.source import SourceLocation
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable


def trace(body: BodyGraph, function: Callable[..., Any], *args: Any) -> Any:
    """Return the result of ``function``, whose operations become nodes of ``body``."""
    with using(graph=body, tapes=()):
        return function(*args)


def own(body: BodyGraph, leaf: Any) -> Any:
    """A leaf of a result as a tensor of the body; None and tensor arrays stay."""
    if leaf is None or isinstance(leaf, ArrayState):
        return leaf
    with using(graph=body, tapes=()):
        if isinstance(leaf, Variable):
            return body.read(leaf)
        tensor = leaf if isinstance(leaf, Tensor) else convert_to_tensor(leaf)
        return SymbolicTensor(body.value_of(tensor), body)


def own_all(body: BodyGraph, results: Any) -> list[Any]:
    """The leaves of a structure as ``own`` makes them."""
    return [own(body, leaf) for leaf in nest.flatten(results, True)]


def place_of(function: Any) -> str:
    """Return where a function was defined, for messages: ``model.py:12 in step``."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    inner = getattr(function, "func", None)
    if code is None and inner is not None:
        return place_of(inner)
    if code is None:
        return f"{function!r}"
    return SourceLocation(code.co_filename, code.co_firstlineno, code.co_qualname).text()


def spelled(leaf: Any) -> str:
    """``float32 (2, None)`` for messages."""
    if leaf is None:
        return "None"
    if isinstance(leaf, Tensor):
        made = (
            leaf._symbol.node.source
            if isinstance(leaf, SymbolicTensor) and leaf._symbol.node
            else None
        )
        where = f" [{made.text()}]" if made else ""
        return f"{leaf.dtype.name} {leaf.shape}{where}"
    return f"{type(leaf).__name__}"


def spelled_all(results: Any) -> str:
    """A structure of leaves for messages."""
    leaves = [_Text(spelled(x)) for x in nest.flatten(results, True)]
    return repr(nest.pack_sequence_as(results, leaves, True))


class _Text(str):
    """Text that shows without quotes."""

    def __repr__(self) -> str:
        return str(self)
