"""Stores that may be seen outside of the function, as calls of operators that watch them.

Attributes, items, names declared global or nonlocal, and what ``+=`` changes in place: while a
branch or loop body is traced, such a change must be one that the statement knows of. For Python
values the operators do what the statement did.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from tfx.autograph.trees import Transformer, at, expression, load, statements


class StoreRewriter(Transformer, ast.NodeTransformer):
    """Rewrites the statements of one function whose blocks are local functions already.

    Args:
        declared: Names that it declares ``global`` or ``nonlocal``.
        operators: The name of the runtime operators.
        later: Parameter of the lambdas made here.
        fresh: Makes a name that nothing else has.
    """

    def __init__(
        self, declared: set[str], operators: str, later: str, fresh: Callable[[str], str]
    ) -> None:
        self._declared = declared
        self._operators = operators
        self._later = later
        self._fresh = fresh

    def block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewritten statements."""
        made: list[ast.stmt] = []
        for stmt in block:
            found = self.visit(stmt)
            made += found if isinstance(found, list) else [found]
        return made

    # Left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Nested functions are rewritten on their own; the setters write what the graph made.
        if node.name.startswith("ag_") and not node.name.startswith(("ag_get_", "ag_set_")):
            node.body = self.block(node.body)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        node.subject = self.visit(node.subject)
        for case in node.cases:  # patterns are no expressions
            case.body = self.block(case.body)
        return node

    # Stores

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        node.value = self.visit(node.value)
        if len(node.targets) == 1:
            (target,) = node.targets
            match target:
                case ast.Attribute():
                    return self._set_attr(target, node.value, node)
                case ast.Subscript():
                    return self._set_item(target, node.value, node)
                case ast.Name(id=name) if name in self._declared:
                    node.value = self._rebinding(name, node.value)
                    return node
        checks = [c for target in node.targets for c in self._checks(target, node)]
        return [*checks, node]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt]:
        if node.value is None:
            return node
        node.value = self.visit(node.value)
        return [*self._checks(node.target, node), node]

    def visit_Delete(self, node: ast.Delete) -> ast.AST | list[ast.stmt]:
        return [*(c for t in node.targets for c in self._checks(t, node)), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        node.value = self.visit(node.value)
        target = node.target
        if isinstance(target, ast.Name) and target.id not in self._declared:
            if isinstance(node.value, ast.Constant) and isinstance(node.op, ast.Add | ast.Sub):
                return node
            return [*statements(f"{self._operators}.extending({target.id})", node), node]
        item = self._fresh("ag_item")
        changed = at(
            ast.AugAssign(target=ast.Name(id=item, ctx=ast.Store()), op=node.op, value=node.value),
            node,
        )
        if isinstance(target, ast.Name):
            first = statements(f"{item} = {target.id}", node)
            last = at(
                ast.Assign(
                    targets=[target],
                    value=self._rebinding(target.id, load(item, node)),
                ),
                node,
            )
            return [*first, changed, last]
        owner = self._fresh("ag_owner")
        begin = self._named(owner, self.visit(target.value), node)
        if isinstance(target, ast.Attribute):
            first = statements(f"{item} = {owner}.{target.attr}", node)
            target.value = load(owner, node)
            return [begin, *first, changed, self._set_attr(target, load(item, node), node)]
        key = self._fresh("ag_key")
        second = self._named(key, key_of(self.visit(target.slice), self._operators), node)
        first = statements(f"{item} = {owner}[{key}]", node)
        target.value, target.slice = load(owner, node), load(key, node)
        return [begin, second, *first, changed, self._set_item(target, load(item, node), node)]

    def _named(self, name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
        return at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value), place)

    def _set_attr(self, target: ast.Attribute, value: ast.expr, place: ast.AST) -> ast.stmt:
        call = expression(f"{self._operators}.set_attr(None, None, {target.attr!r})", place)
        assert isinstance(call, ast.Call)
        call.args[:2] = [value, self.visit(target.value)]
        return at(ast.Expr(value=call), place)

    def _set_item(self, target: ast.Subscript, value: ast.expr, place: ast.AST) -> ast.stmt:
        call = expression(f"{self._operators}.set_item(None, None, None)", place)
        assert isinstance(call, ast.Call)
        key = key_of(self.visit(target.slice), self._operators)
        call.args = [value, self.visit(target.value), key]
        return at(ast.Expr(value=call), place)

    def _rebinding(self, name: str, value: ast.expr) -> ast.expr:
        text = f"{self._operators}.rebinding(None, lambda {self._later}=None: {name}, {name!r})"
        call = expression(text, value)
        assert isinstance(call, ast.Call)
        call.args[0] = value
        return call

    def _checks(self, target: ast.expr, place: ast.AST) -> list[ast.stmt]:
        """What looks at a store before it happens, where its value is not known."""
        match target:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [c for part in parts for c in self._checks(part, place)]
            case ast.Starred(value=value):
                return self._checks(value, place)
            case ast.Attribute(value=owner, attr=name):
                return [self._storing(owner, name, place)]
            case ast.Subscript(value=owner):
                return [self._storing(owner, None, place)]
        return []

    def _storing(self, owner: ast.expr, name: str | None, place: ast.AST) -> ast.stmt:
        text = (
            f"{self._operators}.storing(lambda {self._later}=None: {ast.unparse(owner)}, {name!r})"
        )
        return at(ast.Expr(value=expression(text, place)), place)

    # New containers

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return self._made(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        return self._made(node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        return self._made(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        return self._made(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        self.generic_visit(node)
        return self._made(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        self.generic_visit(node)
        return self._made(node)

    def _made(self, node: ast.expr) -> ast.expr:
        call = expression(f"{self._operators}.made(None)", node)
        assert isinstance(call, ast.Call)
        call.args[0] = node
        return call


def key_of(node: ast.expr, operators: str) -> ast.expr:
    """What is between the brackets as an expression: slices become ``slice`` objects."""
    if isinstance(node, ast.Slice):
        parts = [p or ast.Constant(value=None) for p in (node.lower, node.upper, node.step)]
        made = ast.Call(func=expression(f"{operators}.slice_", node), args=parts, keywords=[])
        return at(made, node)
    if isinstance(node, ast.Tuple):
        parts = [key_of(e, operators) for e in node.elts]
        return at(ast.Tuple(elts=parts, ctx=ast.Load()), node)
    return node
