"""``defun``: the older name of ``function``, whose variables are static locals of a trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, overload

from tfx.function.tracing.function import Function, make_function
from tfx.function.tracing.parameters import Parameters


@overload
def defun(
    func: Callable[..., Any],
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Function: ...
@overload
def defun(
    func: None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Callable[[Callable[..., Any]], Function]: ...
def defun(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Compile a Python function into graphs, as ``function`` does, but for variables.

    A variable that the Python function creates is a static local of the trace: created and
    initialised when the arguments are of a new kind, and kept for all later calls of that kind.
    Each kind of arguments has variables of its own, which live as long as the function.
    (``function`` lets variables be created once for all traces, and keeps none alive.)

    Args:
        func: The function; None makes a decorator.
        input_signature: ``TensorSpec`` (or nests of them) for all arguments; then the function may
            not take ``**kwargs``.
        autograph: As in ``function``.
        experimental_autograph_options: Accepted for compatibility.
        experimental_relax_shapes: Generalise a dimension once it has varied.

    Returns:
        A ``Function``, or a decorator.

    Raises:
        TypeError: ``input_signature`` is not a sequence of ``TensorSpec``.
        ValueError: there is an ``input_signature`` and the function takes ``**kwargs``.

    Example:
        >>> import tfx as tf
        >>> def fn():
        ...     x = tf.Variable(0.0)
        ...     x.assign_add(1.0)
        ...     return x.read_value()
        >>> float(fn()), float(fn())
        (1.0, 1.0)
        >>> compiled = tf.defun(fn)
        >>> float(compiled()), float(compiled())
        (1.0, 2.0)
    """

    def decorate(python_function: Any) -> Function:
        if input_signature is not None:
            _refuse_keywords(python_function)
        relax = experimental_relax_shapes
        made = make_function(python_function, input_signature, relax, autograph)
        made.keep_created_variables()
        return made

    return decorate if func is None else decorate(func)


def _refuse_keywords(python_function: Any) -> None:
    parameters = Parameters(getattr(python_function, "__func__", python_function))
    names = [
        p.name
        for p in parameters.signature.parameters.values()
        if p.kind is inspect.Parameter.VAR_KEYWORD
    ]
    if names:
        raise ValueError(
            f"defun cannot take an input_signature for a function with keyword arguments "
            f"**{names[0]}: a signature has a place for each argument. Give the arguments names "
            "of their own, or leave out the signature."
        )
