"""Small pieces of syntax trees."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

_T = TypeVar("_T", bound=ast.AST)
# Texts below this length recur.
_SHORT = 80


def at(node: _T, place: ast.AST) -> _T:
    """The node with the position of another, and everything in it that has none."""
    position = _position(place)
    _set(node, position)
    stack = list(children(node))
    while stack:
        child = stack.pop()
        if "lineno" in child.__dict__:
            continue  # and so has what is in it
        if "lineno" in child._attributes:
            _set(child, position)
        stack += children(child)
    return node


def clone(node: _T) -> _T:
    """A copy of a tree, much faster than by ``copy.deepcopy``."""
    made = type(node).__new__(type(node))
    fields = made.__dict__
    for name, value in node.__dict__.items():
        if isinstance(value, ast.AST):
            fields[name] = clone(value)
        elif type(value) is list:
            fields[name] = [clone(x) if isinstance(x, ast.AST) else x for x in value]
        else:
            fields[name] = value
    return made


def _position(place: ast.AST) -> tuple[int, int, int, int]:
    """Return a node's position; for statements with blocks, that of their head's first line."""
    if isinstance(place, ast.stmt) and place.end_lineno != place.lineno:
        head = getattr(place, "test", getattr(place, "iter", None))
        end = place.col_offset + 1
        if head is not None and head.end_lineno == place.lineno:
            end = head.end_col_offset
        if head is not None or hasattr(place, "body"):
            return place.lineno, place.col_offset, place.lineno, end
    return place.lineno, place.col_offset, place.end_lineno, place.end_col_offset  # type: ignore[attr-defined]


def _set(node: ast.AST, position: tuple[int, int, int, int]) -> None:
    fields = node.__dict__
    (
        fields["lineno"],
        fields["col_offset"],
        fields["end_lineno"],
        fields["end_col_offset"],
    ) = position


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
    position = _position(place)
    body = [clone(stmt) for stmt in _parsed(text)] if len(text) < _SHORT else ast.parse(text).body
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if "lineno" in node.__dict__:
            _set(node, position)
        stack += children(node)
    return body


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def expression(text: str, place: ast.AST) -> ast.expr:
    """One parsed expression."""
    (stmt,) = statements(text, place)
    assert isinstance(stmt, ast.Expr)
    return stmt.value


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in order."""
    found: list[ast.AST] = []
    fields = node.__dict__
    for name in node._fields:
        value = fields.get(name)
        if type(value) is list:
            found += [x for x in value if isinstance(x, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, in no particular order."""
    found, stack = [], [node]
    while stack:
        part = stack.pop()
        found.append(part)
        stack += children(part)
    return found


class Visitor:
    """Calls ``visit_Name`` and so on for each node, ``generic_visit`` where there is none.

    What the classes of ``ast`` do, several times faster: a function of 200 lines has 20,000 visits.
    """

    _methods: ClassVar[dict[type[ast.AST], str]]

    def __init_subclass__(cls) -> None:
        cls._methods = {}

    def visit(self, node: ast.AST) -> Any:
        """Visit a node."""
        kind = type(node)
        name = self._methods.get(kind)
        if name is None:
            name = f"visit_{kind.__name__}"
            name = self._methods[kind] = name if hasattr(self, name) else "generic_visit"
        return getattr(self, name)(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:  # noqa: N802
        """Return the constant, which has no children."""
        return node

    def generic_visit(self, node: ast.AST) -> Any:
        """Visit what is below a node."""
        for child in children(node):
            self.visit(child)


class Transformer(Visitor):
    """Puts what the methods return in place of the nodes; a list in place of statements."""

    def generic_visit(self, node: ast.AST) -> Any:
        """Transform what is below a node."""
        fields = node.__dict__
        for name in node._fields:
            value = fields.get(name)
            if type(value) is list:
                made: list[Any] = []
                for x in value:
                    new = self.visit(x) if isinstance(x, ast.AST) else x
                    if type(new) is list:
                        made += new
                    else:
                        made.append(new)
                value[:] = made
            elif isinstance(value, ast.AST):
                fields[name] = self.visit(value)
        return node


class AroundClasses(Transformer, ast.NodeTransformer):
    """A transformer that leaves classes as they are."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


class AroundScopes(AroundClasses, ast.NodeTransformer):
    """One that leaves asynchronous functions as they are, too."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node
