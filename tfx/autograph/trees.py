"""Small pieces of syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T", bound=ast.AST)


def at(node: _T, place: ast.AST) -> _T:
    """The node with the position of another, and everything in it that has none."""
    ast.copy_location(node, place)
    ast.fix_missing_locations(node)
    return node


def load(name: str, place: ast.AST) -> ast.Name:
    """A name that is read."""
    return at(ast.Name(id=name, ctx=ast.Load()), place)


def constant(value: object) -> ast.Constant:
    """A constant; the position comes from what it is put into."""
    return ast.Constant(value=value)  # type: ignore[arg-type]


def assign(name: str, value: ast.expr, place: ast.AST) -> ast.Assign:
    """``name = value``."""
    target = ast.Name(id=name, ctx=ast.Store())
    return at(ast.Assign(targets=[target], value=value), place)


def negated(names: Sequence[str], place: ast.AST) -> ast.expr:
    """``not a and not b``."""
    tests: list[ast.expr] = [
        at(ast.UnaryOp(op=ast.Not(), operand=load(name, place)), place) for name in names
    ]
    return tests[0] if len(tests) == 1 else at(ast.BoolOp(op=ast.And(), values=tests), place)


def statements(text: str, place: ast.AST) -> list[ast.stmt]:
    """Parsed text, all of it with one position."""
    body = ast.parse(text).body
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword):
                ast.copy_location(node, place)
    return body


def expression(text: str, place: ast.AST) -> ast.expr:
    """One parsed expression."""
    (stmt,) = statements(text, place)
    assert isinstance(stmt, ast.Expr)
    return stmt.value
