"""``set_loop_options`` in a loop: an argument of the operator, no call in the loop."""

from __future__ import annotations

import ast

from tfx.autograph.parsing import SourceError
from tfx.autograph.trees import at, children

_NAMES = ("parallel_iterations", "swap_memory", "maximum_iterations", "shape_invariants")
_APART = (ast.For, ast.While, ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def taken_from(loop: ast.While | ast.For) -> str:
    """Take the ``set_loop_options`` call out of a loop.

    Returns:
        A function that gives the options, as text; "None" if there are none.

    Raises:
        SourceError: the call stands inside another statement of the loop.
    """
    calls = [stmt for stmt in loop.body if _call_of(stmt) is not None]
    if calls:
        loop.body = [s for s in loop.body if s not in calls] or [at(ast.Pass(), loop)]
    for stmt in loop.body:
        _refuse_inside(stmt)
    parts: list[str] = []
    for stmt in calls:
        call = _call_of(stmt)
        assert call is not None
        parts += [_text(name, x) for name, x in zip(_NAMES, call.args, strict=False)]
        parts += [_text(k.arg, k.value) for k in call.keywords if k.arg is not None]
    return "lambda: {" + ", ".join(parts) + "}" if calls else "None"


def _call_of(stmt: ast.AST) -> ast.Call | None:
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) as call):
            # A call with other arguments stays, and says what is wrong when it is made.
            known = len(call.args) <= len(_NAMES) and all(k.arg in _NAMES for k in call.keywords)
            return call if name == "set_loop_options" and known else None
    return None


def _text(name: str, value: ast.expr) -> str:
    if name != "shape_invariants" or not isinstance(value, ast.List | ast.Tuple):
        return f"{name!r}: {ast.unparse(value)}"
    pairs = []
    for pair in value.elts:
        if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
            variable, spec = map(ast.unparse, pair.elts)
            pairs.append(f"({variable!r}, {spec})")
    return f"'shape_invariants': [{', '.join(pairs)}]"


def _refuse_inside(stmt: ast.AST) -> None:
    if _call_of(stmt) is not None:
        raise SourceError(
            f"set_loop_options must be a statement of the loop itself, and the first; line "
            f"{stmt.lineno} has it inside another statement"  # type: ignore[attr-defined]
        )
    if not isinstance(stmt, _APART) and isinstance(stmt, ast.stmt | ast.ExceptHandler):
        for child in children(stmt):
            _refuse_inside(child)
