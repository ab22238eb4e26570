"""From a function object to one whose control flow goes through runtime operators.

The new function has the old one's globals, closure cells, defaults and lines: to everything but
control flow on tensors it is the old one.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import re
import threading
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tfx.autograph.by_identity import ByIdentity
from tfx.autograph.expressions import ExpressionConverter
from tfx.autograph.jumps import lower_jumps
from tfx.autograph.left_alone import FrameError, is_excluded, looks_at_frame, suspends
from tfx.autograph.liveness import Closures, annotate
from tfx.autograph.names import activity, parameters
from tfx.autograph.parsing import Parsed, SourceError, parse
from tfx.autograph.private_names import PrivateNames
from tfx.autograph.statements import LATER, OPERATORS, StatementConverter
from tfx.autograph.stores import StoreRewriter
from tfx.autograph.trees import statements, walk
from tfx.runtime.fork_safe_locks import fork_safe

_FACTORY = "ag_factory"
_MADE = "ag_made"
# A block in a qualified name.
_BLOCK = re.compile(r"ag_\w+\.<locals>\.")
# Annotations of inner functions are never evaluated where the program's module asks for that.
_FUTURES = __future__.annotations.compiler_flag
_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_lock = fork_safe(threading.RLock())
# Code of a function -> code of the converted one. By identity: code of two files may be equal.
_converted: ByIdentity[types.CodeType, types.CodeType] = ByIdentity()
# All code made here: functions that run it are converted already.
_made: ByIdentity[types.CodeType, bool] = ByIdentity()


def is_converted(function: types.FunctionType) -> bool:
    """True if a function comes out of a conversion, itself or as a part of another one."""
    return _made.get(function.__code__) is not None


def convert_function(function: types.FunctionType, operators: object) -> types.FunctionType:
    """The function with converted control flow.

    Args:
        function: Any Python function; converted ones and generators are returned as they are.
        operators: What converted code calls.

    Raises:
        SourceError: there is no source to convert.
    """
    code = function.__code__
    if is_converted(function) or code.co_flags & _SUSPENDING:
        return function
    with _lock:
        new = _converted.get(code)
        if new is None:
            new = _convert_code(function)
            _converted.set(code, new)
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
    return _converted_definition(parse(function), function.__globals__)


def _convert_code(function: types.FunctionType) -> types.CodeType:
    parsed = parse(function)
    node = _converted_definition(parsed, function.__globals__)
    node.name = _MADE  # its own name may stand for something else where it is called
    free = [*function.__code__.co_freevars, OPERATORS]
    (factory,) = statements(f"def {_FACTORY}({', '.join(dict.fromkeys(free))}): pass", node)
    assert isinstance(factory, ast.FunctionDef)
    factory.body = [node, *statements(f"return {node.name}", node)]
    module = ast.Module(body=[factory], type_ignores=[])
    try:
        compiled = _compiled(module, parsed.filename, function.__code__.co_flags & _FUTURES)
    except (SyntaxError, RecursionError) as e:
        raise SourceError(f"{function.__qualname__!r} cannot be converted: {e}") from e
    outer = next(c for c in _codes(compiled) if c.co_name == _FACTORY)
    found = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    prefix = f"{_FACTORY}.<locals>.{node.name}"
    code = _renamed(found, prefix, function.__qualname__)
    code = code.replace(co_name=function.__code__.co_name)
    for part in (code, *_codes(code, classes=False)):
        _made.set(part, True)
    return code


def _compiled(module: ast.Module, filename: str, futures: int) -> types.CodeType:
    compiled: types.CodeType
    try:
        compiled = compile(module, filename, "exec", futures, dont_inherit=True)
    except TypeError:  # some node has no position, which is rare, and takes time to repair
        module = ast.fix_missing_locations(module)
        compiled = compile(module, filename, "exec", futures, dont_inherit=True)
    return compiled


def _renamed(code: types.CodeType, prefix: str, name: str) -> types.CodeType:
    """The code, and all below, with names as in the user's file.

    Blocks have the name of the function that they are part of, so that tracebacks, debuggers and
    profilers know nothing of them; their qualified names tell.
    """

    def plain(qualified: str) -> str:
        return _BLOCK.sub("", name + qualified.removeprefix(prefix))

    def constant(value: Any) -> Any:
        if isinstance(value, types.CodeType):
            made = _renamed(value, prefix, name)
            hidden = value.co_name.startswith("ag_") or LATER in value.co_varnames[:1]
            return made.replace(co_name=own) if hidden else made
        # A class keeps its name as a constant.
        is_name = isinstance(value, str) and value.startswith(prefix + ".<locals>.")
        return plain(value) if is_name else value

    renamed = plain(code.co_qualname)
    own = _BLOCK.sub("", renamed + ".<locals>.").removesuffix(".<locals>.").split(".")[-1]
    return code.replace(co_consts=tuple(map(constant, code.co_consts)), co_qualname=renamed)


def _codes(code: types.CodeType, *, classes: bool = True) -> Iterator[types.CodeType]:
    """Yield all nested code; that of classes, whose methods are converted when called, if asked."""
    for constant in code.co_consts:
        if not isinstance(constant, types.CodeType):
            continue
        if classes or constant.co_flags & inspect.CO_OPTIMIZED:
            yield constant
            yield from _codes(constant, classes=classes)


def _converted_definition(parsed: Parsed, scope: Mapping[str, Any]) -> ast.FunctionDef:
    node = parsed.node
    if looks_at_frame(node):
        raise FrameError("it asks for its local variables (locals, vars, dir, eval or exec)")
    if parsed.class_name is not None:
        node = PrivateNames(parsed.class_name).visit(node)
    parts = walk(node)
    names = {n.id for n in parts if isinstance(n, ast.Name)}
    bound = {n.id for n in parts if isinstance(n, ast.Name) and type(n.ctx) is not ast.Load}
    bound |= {n.arg for n in parts if isinstance(n, ast.arg)}
    modules = {n for n in names - bound if isinstance(scope.get(n), types.ModuleType)}
    _convert_definition(node, _fresh_names(names | bound), modules)
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


def _convert_definition(
    node: ast.FunctionDef, fresh: Callable[[str], str], modules: Collection[str]
) -> None:
    """Convert a function in place, the functions in it first."""
    before = activity(node.body)
    _convert_nested(node.body, fresh, modules)
    lower_jumps(node, fresh)
    found = activity(node.body)
    closures = Closures(node)
    annotate(node, closures)
    converter = StatementConverter(node, closures, fresh)
    node.body = converter.block(node.body)
    node.body = StoreRewriter(OPERATORS, fresh).block(node.body)
    plain = [*node.args.posonlyargs, *node.args.args]
    expressions = ExpressionConverter(plain[0].arg if plain else None, modules)
    node.body = [expressions.visit(s) for s in node.body]
    # What only blocks bind now, and what was bound in code that nothing reached, must be bound by
    # the function for the compiler to know its scope.
    lost = (before.bound - before.declared) - found.bound
    unbound = (converter.shared | lost) - set(parameters(node.args))
    place = 1 if ast.get_docstring(node, clean=False) is not None else 0
    if unbound:
        text = "".join(f"{name} = " for name in sorted(unbound))
        node.body[place:place] = statements(f"if 0: {text}None", node)


def _convert_nested(
    block: list[ast.stmt], fresh: Callable[[str], str], modules: Collection[str]
) -> None:
    for stmt in block:
        if isinstance(stmt, ast.FunctionDef):
            if not (suspends(stmt) or is_excluded(stmt) or looks_at_frame(stmt)):
                _convert_definition(stmt, fresh, modules)
        elif not isinstance(stmt, ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                _convert_nested(getattr(stmt, name, []), fresh, modules)
            for part in (*getattr(stmt, "handlers", []), *getattr(stmt, "cases", [])):
                _convert_nested(part.body, fresh, modules)
