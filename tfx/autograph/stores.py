"""Stores of items, ``x[i] = y``, as calls of an operator: it refuses keys that are tensors.

For Python values it does what the statement did.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from tfx.autograph.trees import AroundScopes, at, expression, load, statements


class StoreRewriter(AroundScopes, ast.NodeTransformer):
    """Rewrites the statements of one function whose blocks are local functions already.

    Args:
        operators: The name of the runtime operators.
        fresh: Makes a name that nothing else has.
    """

    def __init__(self, operators: str, fresh: Callable[[str], str]) -> None:
        self._operators = operators
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

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        for case in node.cases:  # patterns are no expressions
            case.body = self.block(case.body)
        return node

    # Stores

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return self._set_item(node.targets[0], node.value, node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        target = node.target
        if not isinstance(target, ast.Subscript):
            return node
        item, key = self._fresh("ag_item"), self._fresh("ag_key")
        made: list[ast.stmt] = []
        if not isinstance(target.value, ast.Name):
            owner = self._fresh("ag_owner")
            made.append(self._named(owner, target.value, node))
            target.value = load(owner, node)
        made.append(self._named(key, _key_of(target.slice, self._operators), node))
        target.slice = load(key, node)
        made += statements(f"{item} = None[{key}]", node)
        read = made[-1]
        assert isinstance(read, ast.Assign)
        assert isinstance(read.value, ast.Subscript)
        read.value.value = target.value
        changed = ast.AugAssign(
            target=ast.Name(id=item, ctx=ast.Store()), op=node.op, value=node.value
        )
        return [*made, at(changed, node), self._set_item(target, load(item, node), node)]

    def _named(self, name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
        return at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value), place)

    def _set_item(self, target: ast.Subscript, value: ast.expr, place: ast.AST) -> ast.stmt:
        call = expression(f"{self._operators}.set_item(None, None, None)", place)
        assert isinstance(call, ast.Call)
        key = _key_of(target.slice, self._operators)
        call.args = [value, target.value, key]
        return at(ast.Expr(value=call), place)


def _key_of(node: ast.expr, operators: str) -> ast.expr:
    """Return the subscript as an expression: slices become ``slice`` objects."""
    if isinstance(node, ast.Slice):
        parts = [p or ast.Constant(value=None) for p in (node.lower, node.upper, node.step)]
        made = ast.Call(func=expression(f"{operators}.slice_", node), args=parts, keywords=[])
        return at(made, node)
    if isinstance(node, ast.Tuple):
        parts = [_key_of(e, operators) for e in node.elts]
        return at(ast.Tuple(elts=parts, ctx=ast.Load()), node)
    return node
