"""From a function object to one whose control flow goes through runtime operators.

The new function has the old one's globals, closure cells, defaults and lines: to everything but
control flow on tensors it is the old one.
"""

from __future__ import annotations

import ast
import inspect
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tfx.autograph.expressions import ExpressionConverter
from tfx.autograph.jumps import lower_jumps
from tfx.autograph.liveness import Closures, annotate
from tfx.autograph.mutations import MutationRewriter
from tfx.autograph.names import activity, parameters
from tfx.autograph.parsing import Parsed, SourceError, parse
from tfx.autograph.statements import OPERATORS, StatementConverter
from tfx.autograph.trees import statements
from tfx.runtime.surviving import survives

_FACTORY = "ag_factory"
_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_lock = survives(threading.RLock())
# Code of a function -> code of the converted one.
_converted: weakref.WeakKeyDictionary[types.CodeType, types.CodeType] = weakref.WeakKeyDictionary()
# All code made here: functions that run it are converted already.
_made: weakref.WeakSet[types.CodeType] = weakref.WeakSet()


def is_converted(function: types.FunctionType) -> bool:
    """Whether a function comes out of a conversion, itself or as a part of another one."""
    return function.__code__ in _made


def convert_function(function: types.FunctionType, operators: object) -> types.FunctionType:
    """The function with converted control flow.

    Args:
        function: Any Python function; converted ones and generators are returned as they are.
        operators: What converted code calls.

    Raises:
        SourceError: there is no source to convert.
    """
    code = function.__code__
    if code in _made or code.co_flags & _SUSPENDING:
        return function
    with _lock:
        new = _converted.get(code)
        if new is None:
            new = _converted[code] = _convert_code(function)
    return _rebuilt(function, new, operators)


def _rebuilt(
    function: types.FunctionType, code: types.CodeType, operators: object
) -> types.FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[OPERATORS] = types.CellType(operators)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    made.__doc__ = function.__doc__
    made.__annotations__ = function.__annotations__
    made.__dict__.update(function.__dict__)
    return made


def converted_tree(function: types.FunctionType) -> ast.FunctionDef:
    """The converted definition.

    Raises:
        SourceError: there is no source to convert.
    """
    return _converted_definition(parse(function))


def _convert_code(function: types.FunctionType) -> types.CodeType:
    parsed = parse(function)
    node = _converted_definition(parsed)
    free = [*function.__code__.co_freevars, OPERATORS]
    (factory,) = statements(f"def {_FACTORY}({', '.join(dict.fromkeys(free))}): pass", node)
    assert isinstance(factory, ast.FunctionDef)
    factory.body = [node, *statements(f"return {node.name}", node)]
    module = ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))
    try:
        compiled = compile(module, parsed.filename, "exec", dont_inherit=True)
    except (SyntaxError, RecursionError) as e:
        raise SourceError(f"{function.__qualname__!r} cannot be converted: {e}") from e
    outer = next(c for c in _codes(compiled) if c.co_name == _FACTORY)
    found = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    prefix = f"{_FACTORY}.<locals>.{node.name}"
    code = _renamed(found, prefix, function.__qualname__)
    code = code.replace(co_name=function.__code__.co_name)
    for part in (code, *_codes(code)):
        _made.add(part)
    return code


def _renamed(code: types.CodeType, prefix: str, name: str) -> types.CodeType:
    """The code, and all below, with qualified names as in the user's file."""

    def constant(value: Any) -> Any:
        if isinstance(value, types.CodeType):
            return _renamed(value, prefix, name)
        # A class keeps its name as a constant.
        is_name = isinstance(value, str) and value.startswith(prefix + ".<locals>.")
        return name + value.removeprefix(prefix) if is_name else value

    return code.replace(
        co_consts=tuple(map(constant, code.co_consts)),
        co_qualname=name + code.co_qualname.removeprefix(prefix),
    )


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """All code below."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _converted_definition(parsed: Parsed) -> ast.FunctionDef:
    node = parsed.node
    if parsed.class_name is not None:
        node = _PrivateNames(parsed.class_name).visit(node)
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    _convert_definition(node, _fresh_names(names))
    args = node.args
    args.defaults, args.kw_defaults = [], [None] * len(args.kwonlyargs)
    node.returns = None
    for arg in ast.walk(args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    if hasattr(node, "type_params"):
        node.type_params = []
    return node


def _fresh_names(taken: set[str]) -> Callable[[str], str]:
    counts: dict[str, int] = {}

    def fresh(base: str) -> str:
        while True:
            counts[base] = counts.get(base, 0) + 1
            name = f"{base}_{counts[base]}"
            if name not in taken:
                return name

    return fresh


def _convert_definition(node: ast.FunctionDef, fresh: Callable[[str], str]) -> None:
    """Convert a function in place, the functions in it first."""
    before = activity(node.body)
    _convert_nested(node.body, fresh)
    lower_jumps(node, fresh)
    found = activity(node.body)
    local = (found.bound | set(parameters(node.args))) - found.declared
    rewriter = MutationRewriter(local, OPERATORS, fresh)
    node.body = _flat([rewriter.visit(s) for s in node.body])
    closures = Closures(node)
    annotate(node, closures)
    converter = StatementConverter(node, closures, fresh)
    node.body = converter.block(node.body)
    plain = [*node.args.posonlyargs, *node.args.args]
    expressions = ExpressionConverter(plain[0].arg if plain else None)
    node.body = [expressions.visit(s) for s in node.body]
    # What only blocks bind now, and what was bound in code that nothing reached, must be bound by
    # the function for the compiler to know its scope.
    lost = (before.bound - before.declared) - found.bound
    unbound = (converter.shared | lost) - set(parameters(node.args))
    if unbound:
        text = "".join(f"{name} = " for name in sorted(unbound))
        place = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body[place:place] = statements(f"if 0: {text}None", node)


def _flat(items: list[Any]) -> list[ast.stmt]:
    return [s for item in items for s in (item if isinstance(item, list) else [item])]


def _convert_nested(block: list[ast.stmt], fresh: Callable[[str], str]) -> None:
    for stmt in block:
        if isinstance(stmt, ast.FunctionDef):
            if not _suspends(stmt):
                _convert_definition(stmt, fresh)
        elif not isinstance(stmt, ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                _convert_nested(getattr(stmt, name, []), fresh)
            for part in (*getattr(stmt, "handlers", []), *getattr(stmt, "cases", [])):
                _convert_nested(part.body, fresh)


def _suspends(node: ast.AST) -> bool:
    """Whether a nested function is a generator."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Yield | ast.YieldFrom):
            return True
        scoped = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        if not isinstance(child, scoped) and _suspends(child):
            return True
    return False


class _PrivateNames(ast.NodeTransformer):
    """Gives private names (``self.__x``) the form that they have inside their class."""

    def __init__(self, class_name: str) -> None:
        self._prefix = "_" + class_name.lstrip("_")

    def _mangled(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__") and "." not in name
        return self._prefix + name if private and self._prefix != "_" else name

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._mangled(node.arg)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node
