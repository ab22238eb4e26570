"""``to_graph`` and ``to_code``: conversion by hand."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from tfx.autograph import operators
from tfx.autograph.conversion import convert_function, converted_tree
from tfx.autograph.operators.builtin_functions import counterpart
from tfx.autograph.parsing import parse
from tfx.autograph.statements import LATER


def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Any = None,
) -> Callable[..., Any]:
    """A Python function with its control flow converted, for use in graphs.

    ``tfx.function`` does this by itself. The result behaves as the function does, but where a
    tensor of a function being traced decides: there ``if``, ``while`` and ``for`` become
    operations.

    Args:
        entity: A Python function or bound method.
        recursive: Convert the functions that it calls, too.
        experimental_optional_features: Accepted for compatibility; all features are on.

    Returns:
        The converted function.

    Raises:
        ValueError: it is no Python function, or its source is not available.

    Example:
        >>> import tfx as tf
        >>> def positive(x):
        ...     if x > 0:
        ...         return x
        ...     return -x
        >>> converted = tf.autograph.to_graph(positive)
        >>> float(tf.function(converted, autograph=False)(tf.constant(-2.0)))
        2.0
    """
    function = _function_of(entity)
    made = convert_function(function, operators if recursive else _alone())
    if inspect.ismethod(entity):
        return types.MethodType(made, entity.__self__)
    return made


def to_code(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Any = None,
) -> str:
    """The source code of a function after its conversion, to read it.

    Args:
        entity: A Python function or bound method.
        recursive: Accepted for compatibility: what the function calls is converted when called.
        experimental_optional_features: Accepted for compatibility; all features are on.

    Returns:
        Python code. ``ag__`` in it stands for the operators that decide, for each construct,
        between Python and the graph.

    Raises:
        ValueError: it is no Python function, or its source is not available.

    Example:
        >>> import tfx as tf
        >>> print(tf.autograph.to_code(lambda a, b: a and not b), end="")
        def lambda_(a, b):
            return ag__.and_(lambda: a, lambda: ag__.not_(b))
    """
    function = _function_of(entity)
    original, node = parse(function).node, converted_tree(function)
    node.args, node.returns = original.args, original.returns
    return ast.unparse(_Plain().visit(node)) + "\n"


class _Plain(ast.NodeTransformer):
    """Leaves out marks that only the operators need."""

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        if [a.arg for a in node.args.args] == [LATER]:
            node.args.args, node.args.defaults = [], []
        return node


def _function_of(entity: Any) -> types.FunctionType:
    """The Python function behind something that can be converted."""
    function = entity.__func__ if inspect.ismethod(entity) else entity
    if not isinstance(function, types.FunctionType):
        more = ""
        if hasattr(entity, "python_function"):
            more = " Pass its python_function."
        elif isinstance(entity, functools.partial):
            more = " Pass its func."
        raise ValueError(
            f"to_graph and to_code take a Python function or method; got {entity!r} of type "
            f"{type(entity).__name__}, which has no source of its own.{more}"
        )
    return function


@functools.cache
def _alone() -> Any:
    """Operators that leave what is called as it is, but for builtins."""
    names = {name: getattr(operators, name) for name in operators.__all__}

    def call(callee: Any) -> Any:
        kind = type(callee)
        if kind is types.BuiltinFunctionType or kind is type:
            return counterpart(callee, call)
        return callee

    return types.SimpleNamespace(**{**names, "call": call})
