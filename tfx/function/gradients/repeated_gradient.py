"""Custom gradients of functions that call themselves in their gradient.

``f``'s gradient may be made of ``f``, as that of ``exp`` is: its derivatives have no last one.
While the gradient of ``f`` is traced, ``f`` gets a marker whose gradient is traced when it is asked
for. By then the graph around it may be finished, so it must need nothing of it but the arguments:
``f`` is called again, in a graph of its own. That computes its results a second time; what is equal
in both becomes one when the graph is compiled.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType
from typing import Any

from tfx.core import nest
from tfx.core.errors import NotFoundError, UnimplementedError
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import Tensor
from tfx.function.gradients.gradient_marker import CUSTOM_GRADIENT
from tfx.graph.custom_gradients import CustomGradient
from tfx.graph.ir import Graph
from tfx.ops.array.creation import zeros_like

# From flat arguments, the same as tensors (without None) and gradients of the results to gradients.
Differentiate = Callable[[Sequence[Any], Sequence[Tensor], Sequence[Tensor]], Sequence[Any]]

_traced: ContextVar[tuple[CodeType, ...]] = ContextVar("_traced", default=())
# How many functions deep a closure is searched for tensors.
_DEPTH = 3


@contextlib.contextmanager
def tracing_gradient_of(function: Callable[..., Any]) -> Iterator[None]:
    """A context in which the gradient of a function is traced."""
    code = _code_of(function)
    token = _traced.set(_traced.get() if code is None else (*_traced.get(), code))
    try:
        yield
    finally:
        _traced.reset(token)


def nesting(function: Callable[..., Any]) -> int:
    """How many gradients of a function, or of others with its code, are being traced around."""
    code = _code_of(function)
    return 0 if code is None else _traced.get().count(code)


def is_closed(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a function uses no tensors but its arguments, so that it can be called at any time.

    Args:
        function: The function.
        kwargs: Its keyword arguments.
    """
    return not (_holds_tensors(function, _DEPTH) or any(map(_is_tensor, nest.flatten(kwargs))))


def unknown_gradient(
    name: str, inputs: Sequence[Tensor], results: Sequence[Tensor]
) -> CustomGradient:
    """The tag of a marker whose gradient is not traced any more.

    Args:
        name: Of the function.
        inputs: What the gradient is taken with respect to.
        results: What it returned, flat.
    """

    def refuse() -> Graph:
        raise NotFoundError(
            f"No gradient defined: the custom_gradient {name} calls itself in its gradient and "
            "uses tensors or variables beside its arguments, so a traced function knows as many "
            "derivatives of it as were traced. Take further ones eagerly, or pass these tensors as "
            "arguments.",
            op=CUSTOM_GRADIENT,
        )

    present = tuple([x.dtype.has_gradients for x in inputs])
    return CustomGradient(refuse, present, len(results))


def repeated_gradient(
    name: str, arguments: Sequence[Any], results: Sequence[Tensor], differentiate: Differentiate
) -> CustomGradient:
    """The tag of a marker whose gradient is traced when it is asked for.

    Args:
        name: Of the function.
        arguments: What it was called with, flat. The marker's inputs are the results and, twice,
            these but None.
        results: What it returned, flat.
        differentiate: Calls the function and its gradient.
    """
    given = [x for x in arguments if x is not None]
    inputs = [type_of(convert_to_tensor(x)) for x in given]
    outputs = [type_of(y) for y in results]
    present = tuple([convert_to_tensor(x).dtype.has_gradients for x in given])
    # Python values decide what the function does: they stay what they were.
    fixed = [None if _is_tensor(x) else x for x in arguments]
    missing = [x is None for x in arguments]

    def trace() -> Graph:
        traced = FuncGraph(f"{name}_gradient")
        with using(graph=traced, tapes=(), scope="", device=None):
            dys = [traced.add_argument(f"dy{i}", *kind) for i, kind in enumerate(outputs)]
            stand_ins = [traced.add_argument(f"x{i}", *kind) for i, kind in enumerate(inputs)]
            each = iter(stand_ins)
            flat = [
                None if none else value if value is not None else tensor
                for none, value in zip(missing, fixed, strict=True)
                for tensor in ([None] if none else [next(each)])
            ]
            found = differentiate(flat, stand_ins, dys)
            traced.graph.outputs = [
                traced.value_of(zeros_like(x) if g is None else g)
                for g, x in zip(found, stand_ins, strict=True)
                if x.dtype.has_gradients
            ]
        if traced.states:
            names = [s.name for s in traced.states.values()]
            raise UnimplementedError(
                f"The gradient of {name} calls {name} itself, and reads the variables or draws "
                f"from the generators {names}. Take further derivatives eagerly, or pass "
                "the values as arguments."
            )
        return traced.graph

    return CustomGradient(trace, present, len(results))


def type_of(x: Tensor) -> tuple[int, Any]:
    """The dtype and shape of an argument; names of sizes belong to the graph that they are from."""
    rank = x.shape.rank
    return x.dtype.onnx, None if rank is None else tuple(x.shape.as_list())


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _code_of(function: Any) -> CodeType | None:
    return getattr(inspect.unwrap(function), "__code__", None)


def _holds_tensors(function: Any, depth: int) -> bool:
    """Whether a function has tensors in its closure, or is a method, whose object may have some."""
    if inspect.ismethod(function):
        return True
    for cell in getattr(inspect.unwrap(function), "__closure__", None) or ():
        try:
            held = cell.cell_contents
        except ValueError:  # assigned later
            continue
        if any(map(_is_tensor, nest.flatten(held))):
            return True
        if depth and inspect.isroutine(held) and _holds_tensors(held, depth - 1):
            return True
    return False
