"""The syntax tree of a function object, with the line numbers of its file.

The tree is compiled again under the file's own name, so tracebacks, debuggers and coverage show the
user's lines without any mapping. The whole file is parsed, once: text cut out of it would have to
be moved to the left, which changes strings of several lines.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import types
from dataclasses import dataclass

from tfx.autograph.trees import clone
from tfx.core.travelled_code import name_file


class SourceError(ValueError):
    """An error for code without source to convert; the message says why."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A function's definition.

    Attributes:
        node: A ``FunctionDef`` without decorators; of a lambda, one that returns its body.
        filename: Where it stands.
        class_name: The class around it, for private names; None outside of classes.
    """

    node: ast.FunctionDef
    filename: str
    class_name: str | None


def has_source(function: types.FunctionType) -> bool:
    """True if there is a file, or what stands for one, with the function's code."""
    name_file(function)
    code = function.__code__
    return bool(linecache.getlines(code.co_filename, function.__globals__))


def parse(function: types.FunctionType) -> Parsed:
    """The definition of a function.

    Raises:
        SourceError: the source is not available, or is no longer that of the function.
    """
    name_file(function)
    code = function.__code__
    filename = inspect.getsourcefile(code) or code.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        raise SourceError(
            f"the source of {function.__qualname__!r} is not available ({filename}); functions "
            "made in an interactive shell, by exec or by native code have none: define it in a file"
        )
    tree = _tree("".join(lines))
    if tree is None:
        raise SourceError(f"the source of {function.__qualname__!r} cannot be read ({filename})")
    is_lambda = code.co_name == "<lambda>"
    found = _lambda(tree, code) if is_lambda else _definition(tree, code)
    if found is None:
        raise SourceError(
            f"line {code.co_firstlineno} of {filename} does not hold {function.__qualname__!r} "
            "alone; has the file changed, or do several lambdas stand where one was expected?"
        )
    node = clone(found)
    node.decorator_list = []
    parts = function.__qualname__.split(".")
    inside = parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None
    return Parsed(node, code.co_filename, inside)


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _definition(tree: ast.Module, code: types.CodeType) -> ast.FunctionDef | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno and _arguments(node.args) == _given(code):
                return node
    return None


def _arguments(args: ast.arguments) -> tuple[str, ...]:
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    rest = [a for a in (args.vararg, args.kwarg) if a is not None]
    return tuple(a.arg.rsplit("__", 1)[-1] for a in (*named, *rest))


def _given(code: types.CodeType) -> tuple[str, ...]:
    """The same of compiled code, whose private names have the class's in front."""
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(
        code.co_flags & inspect.CO_VARKEYWORDS
    )
    count = code.co_argcount + code.co_kwonlyargcount + several
    return tuple(name.rsplit("__", 1)[-1] for name in code.co_varnames[:count])


def _lambda(tree: ast.Module, code: types.CodeType) -> ast.FunctionDef | None:
    """The lambda whose body stands where the instructions come from."""
    place = _span(code)
    matches = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and _arguments(node.args) == _given(code)
        and place
        == (
            node.body.lineno,
            node.body.col_offset,
            node.body.end_lineno,
            node.body.end_col_offset,
        )
    ]
    if len(matches) != 1:
        return None
    (found,) = matches
    returned = ast.copy_location(ast.Return(value=found.body), found.body)
    made = ast.parse("def lambda_(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = found.args, [returned]
    return ast.copy_location(made, found)


def _span(code: types.CodeType) -> tuple[int, int, int, int] | None:
    """Return the range from the first to the last character that instructions come from."""
    spans = [p for p in code.co_positions() if None not in p and p[3]]
    if not spans:
        return None
    begin = min((p[0], p[2]) for p in spans)
    end = max((p[1], p[3]) for p in spans)
    return (*begin, *end)  # type: ignore[return-value]
