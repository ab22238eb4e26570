"""Functions that must stay as they are: generators, users of their frame, excluded ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfx.autograph.parsing import SourceError
from tfx.autograph.trees import children

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
# Called without arguments, they give the local variables; the others see them.
_FRAME = frozenset(("locals", "vars", "dir"))
_CODE = frozenset(("eval", "exec"))


class FrameError(SourceError):
    """A function looks at its frame, where it would find what the conversion added."""


def suspends(node: ast.AST) -> bool:
    """True if a nested function is a generator."""
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _own(node))


def looks_at_frame(node: ast.AST) -> bool:
    """True if a function calls ``locals()`` or the like, which sees its variables."""
    for part in _own(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            name = part.func.id
            if name in _CODE or (name in _FRAME and not part.args):
                return True
    return False


def is_excluded(node: ast.FunctionDef) -> bool:
    """True if a nested function is decorated so that it stays as it is."""
    return any(_excludes(part) for part in node.decorator_list)


def _excludes(decorator: ast.expr) -> bool:
    for part in ast.walk(decorator):
        match part:
            case ast.keyword(arg="autograph", value=ast.Constant(value=False)):
                return True
        name = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", None)
        if name in ("do_not_convert", "py_function", "numpy_function"):
            return True
    return False


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, except those of nested functions."""
    stack = children(node)
    while stack:
        part = stack.pop()
        yield part
        if not isinstance(part, _SCOPES):
            stack += children(part)
