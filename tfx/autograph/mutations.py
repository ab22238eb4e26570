"""Changes of local containers as assignments: ``x[i] = y``, ``x.append(y)`` and ``x.pop()``.

Only where ``x`` is a local name: then the name is bound again to what the operator returns, which
for every Python object is the object itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tfx.autograph.stores import key_of
from tfx.autograph.trees import Transformer, at, children, statements


class MutationRewriter(Transformer, ast.NodeTransformer):
    """Rewrites the statements of one function, nested functions left out.

    Args:
        local: Names that are local to the function.
        operators: The name of the runtime operators.
        fresh: Makes a name that nothing else has.
    """

    def __init__(self, local: set[str], operators: str, fresh: Callable[[str], str]) -> None:
        self._local = local
        self._operators = operators
        self._fresh = fresh

    def statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        """What takes the place of a statement.

        A name whose object a call in the statement changes is bound again, to the same object: so
        it belongs to what a branch or loop changes.
        """
        changed = sorted(_changed(stmt) & self._local)
        found = self.visit(stmt)
        made = found if isinstance(found, list) else [found]
        return [*(s for name in changed for s in statements(f"{name} = {name}", stmt)), *made]

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """What takes the place of statements."""
        return [made for stmt in block for made in self.statement(stmt)]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rewrite the blocks of a statement."""
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                setattr(node, name, self.block(inner))
        for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            part.body = self.block(part.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if len(node.targets) != 1:
            return node
        (target,) = node.targets
        if isinstance(target, ast.Subscript) and self._is_local(target.value):
            assert isinstance(target.value, ast.Name)
            name = target.value.id
            (made,) = statements(f"{name} = {self._operators}.set_item(None, {name}, None)", node)
            assert isinstance(made, ast.Assign)
            assert isinstance(made.value, ast.Call)
            made.value.args[0] = node.value
            made.value.args[2] = key_of(target.slice, self._operators)
            return made
        if isinstance(target, ast.Name) and target.id in self._local:
            popped = self._pop(node.value, target.id, node)
            if popped is not None:
                return popped
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        target = node.target
        if not (isinstance(target, ast.Subscript) and self._is_local(target.value)):
            return node
        assert isinstance(target.value, ast.Name)
        name = target.value.id
        key, item = self._fresh("ag_key"), self._fresh("ag_item")
        first, second, third = statements(
            f"{key} = None\n{item} = {name}[{key}]\n"
            f"{name} = {self._operators}.set_item({item}, {name}, {key})",
            node,
        )
        assert isinstance(first, ast.Assign)
        first.value = key_of(target.slice, self._operators)
        changed = at(
            ast.AugAssign(target=ast.Name(id=item, ctx=ast.Store()), op=node.op, value=node.value),
            node,
        )
        return [first, second, changed, third]

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            return node
        func = call.func
        plain = len(call.args) == 1 and not call.keywords
        if func.attr == "append" and plain and self._is_local(func.value):
            if isinstance(call.args[0], ast.Starred):
                return node
            assert isinstance(func.value, ast.Name)
            name = func.value.id
            (made,) = statements(f"{name} = {self._operators}.list_append({name}, None)", node)
            assert isinstance(made, ast.Assign)
            assert isinstance(made.value, ast.Call)
            made.value.args[1] = call.args[0]
            return made
        popped = self._pop(call, self._fresh("ag_popped"), node)
        return node if popped is None else popped

    def _pop(self, value: ast.expr, target: str, place: ast.stmt) -> list[ast.stmt] | None:
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), keywords=[]):
                if name not in self._local or name == target or len(value.args) > 1:
                    return None
                if any(isinstance(a, ast.Starred) for a in value.args):
                    return None
                (made,) = statements(
                    f"{name}, {target} = {self._operators}.list_pop({name})", place
                )
                assert isinstance(made, ast.Assign)
                assert isinstance(made.value, ast.Call)
                made.value.args += value.args
                return [made]
        return None

    def _is_local(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._local


# Methods of lists and dicts that change them, and are no statements of their own here.
_METHODS = frozenset(("pop", "extend", "insert", "clear", "update", "setdefault", "popitem"))


def _changed(node: ast.AST) -> set[str]:
    """Names on which a statement calls, in any case, such a method."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return):
        return set() if node.value is None else _called_on(node.value)
    return set()


def _called_on(node: ast.expr) -> set[str]:
    match node:
        case ast.BoolOp(values=[first, *_]):
            return _called_on(first)
        case ast.IfExp(test=test):
            return _called_on(test)
        case ast.Compare(left=left, comparators=[second, *_]):
            return _called_on(left) | _called_on(second)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return set()
    found: set[str] = set()
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _METHODS:
            found.add(name)
        case ast.Call(func=ast.Attribute(value=ast.Subscript() as part, attr=attr)):
            holder: ast.expr = part
            while isinstance(holder, ast.Subscript):
                holder = holder.value
            if isinstance(holder, ast.Name) and attr in (*_METHODS, "append"):
                found.add(holder.id)
    for child in children(node):
        inner = child.value if isinstance(child, ast.keyword) else child
        if isinstance(inner, ast.expr):
            found |= _called_on(inner)
    return found
