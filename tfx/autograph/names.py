"""The names that a piece of a function reads and binds. Knows nothing of tensors.

A *symbol* is a plain name (``x``) or an attribute path on names (``self.x``, ``a.b.c``): what code
can assign to. Comprehensions, lambdas and nested functions have scopes of their own: of those, what
they take from outside counts as read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from tfx.autograph.trees import Visitor


@dataclass(slots=True)
class Activity:
    """The uses of symbols in a piece of code.

    Attributes:
        read: Names read.
        bound: Names bound: assigned, deleted, imported, defined.
        attributes: Attribute paths assigned, such as ``self.x``.
        items: Names and paths whose items are assigned under a plain key (``x[i] = y``).
        changed: Names and paths whose objects are changed in place some other way: by a method
            (``x.append(y)``), an augmented assignment, under a computed key.
        assigned: Those of ``bound`` and ``attributes`` that are not only augmented.
        declared: Names declared ``global`` or ``nonlocal``.
    """

    read: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)


# Methods of lists and dicts that change them.
_CHANGING = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "setdefault", "update")
)


def activity(nodes: Iterable[ast.AST]) -> Activity:
    """Return the names that statements or expressions read and bind in their own scope."""
    collector = _Collector()
    for node in nodes:
        collector.visit(node)
    return collector.found


def path_of(node: ast.AST) -> str | None:
    """``"a.b.c"`` for a name or a chain of attributes on one; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def parameters(args: ast.arguments) -> list[str]:
    """Names of a function's parameters."""
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    rest = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [a.arg for a in (*named, *rest)]


def free_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Names that a nested function takes from around it (globals included)."""
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    found = activity(body)
    own = (found.bound | set(parameters(node.args))) - found.declared
    return (found.read | (found.bound & found.declared)) - own


class _Collector(Visitor, ast.NodeVisitor):
    def __init__(self) -> None:
        self.found = Activity()

    def _bind(self, name: str) -> None:
        self.found.bound.add(name)
        self.found.assigned.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.found.read.add(node.id)
        else:
            self._bind(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = path_of(node)
        if path is not None and not isinstance(node.ctx, ast.Load):
            self.found.attributes.add(path)
            self.found.assigned.add(path)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        path = _holder(node)
        if path is not None and not isinstance(node.ctx, ast.Load):
            plain = isinstance(node.slice, ast.Constant | ast.Name)
            (self.found.items if plain else self.found.changed).add(path)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            path = _holder(node.func.value)
            if path is not None and "." not in path:
                self.found.changed.add(path)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        path = path_of(target)
        if path is None:
            self.generic_visit(node)
            return
        self.found.changed.add(path)
        if isinstance(target, ast.Name):
            self.found.read.add(path)
            self.found.bound.add(path)
        elif isinstance(target, ast.Attribute):
            self.found.attributes.add(path)
            self.visit(target.value)
        self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        self.found.declared.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.found.declared.update(node.names)

    def visit_alias(self, node: ast.alias) -> None:
        self._bind((node.asname or node.name).split(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._bind(node.rest)
        self.generic_visit(node)

    # Scopes of their own

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name)
        for part in (*node.decorator_list, *_evaluated(node.args)):
            self.visit(part)
        self.found.read |= free_names(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in _evaluated(node.args):
            self.visit(part)
        self.found.read |= free_names(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        inner = activity(node.body)
        self.found.read |= inner.read

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._comprehension([node.elt], node.generators)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.visit_ListComp(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension([node.key, node.value], node.generators)

    def _comprehension(self, results: list[ast.expr], parts: list[ast.comprehension]) -> None:
        inner = _Collector()
        for part in parts:
            inner.visit(part.target)
        own = set(inner.found.bound)
        for part in parts:
            inner.visit(part.iter)
            for test in part.ifs:
                inner.visit(test)
        for result in results:
            inner.visit(result)
        # ``:=`` inside binds in the scope around.
        self.found.bound |= inner.found.bound - own
        self.found.read |= inner.found.read - own
        self.found.assigned |= inner.found.assigned - own
        self.found.attributes |= inner.found.attributes
        self.found.items |= inner.found.items - own
        self.found.changed |= inner.found.changed - own


def _holder(node: ast.expr) -> str | None:
    """The path of what an item, an item of an item and so on belongs to."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return path_of(node)


def _evaluated(args: ast.arguments) -> list[ast.expr]:
    """Return the expressions that a function definition evaluates in place: its defaults."""
    return [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
