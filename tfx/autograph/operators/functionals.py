"""Functions that take functions: those are converted before they are handed on.

``tf.cond(x > 0, f, g)`` in converted code: ``f`` and ``g`` are the user's, like what is called
directly.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

_TAKING_FUNCTIONS = frozenset(
    (
        "tfx.control_flow.cond.cond",
        "tfx.control_flow.case.case",
        "tfx.control_flow.case.switch_case",
        "tfx.control_flow.while_loop.while_loop",
        "tfx.control_flow.map_fn.foldl",
        "tfx.control_flow.map_fn.foldr",
        "tfx.control_flow.map_fn.map_fn",
        "tfx.control_flow.map_fn.scan",
        "tfx.core.nest.map_structure",
        "tfx.core.nest.map_structure_up_to",
        "tfx.core.nest.map_structure_with_path",
        "tfx.function.gradients.custom_gradient.custom_gradient",
        "tfx.function.gradients.custom_gradient.grad_pass_through",
        "tfx.function.gradients.custom_gradient.recompute_grad",
    )
)
# Whole packages whose functions do: derivatives and vectorised forms.
_TAKING_PACKAGES = ("tfx.autodiff.", "tfx.vectorize.")
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def with_converted(
    function: types.FunctionType, convert: Callable[[Any], Any]
) -> Callable[..., Any]:
    """A function of tfx; if it takes functions, one that converts them first.

    Args:
        function: The function.
        convert: Converts one.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    whole = name.startswith(_TAKING_PACKAGES) and "." not in function.__qualname__
    if name not in _TAKING_FUNCTIONS and not whole:
        return function

    def called(*args: Any, **kwargs: Any) -> Any:
        given = [_converted(x, convert) for x in args]
        return function(*given, **{k: _converted(x, convert) for k, x in kwargs.items()})

    return called


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    """An argument with the functions in it converted."""
    if isinstance(value, _FUNCTIONS):
        return convert(value)
    if type(value) is dict:
        return {k: _converted(v, convert) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_converted(v, convert) for v in value)
    # An object with a ``__call__`` of the user's, such as a Module.
    if callable(value) and type(type(value).__call__) is types.FunctionType:
        return convert(value)
    return value
