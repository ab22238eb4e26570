"""Calls, logic, ternaries and comparisons as calls of runtime operators.

Operands that Python may leave out are wrapped in lambdas. What binds a name with ``:=`` stays as it
is, because inside a lambda it would bind another one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from tfx.autograph.names import path_of
from tfx.autograph.statements import LATER, OPERATORS
from tfx.autograph.trees import AroundScopes, at, children, expression

# Called where they stand: they look at the frame, or are syntax in disguise.
_UNTOUCHED = frozenset(("locals", "globals", "vars", "eval", "exec", "dir", "super", "breakpoint"))
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class ExpressionConverter(AroundScopes, ast.NodeTransformer):
    """Converts the expressions of a function.

    Args:
        first: The first parameter, for ``super()``; None if there is none.
        modules: Names that stand for modules, which have no properties.
    """

    def __init__(self, first: str | None, modules: Collection[str] = ()) -> None:
        self._first = first
        self._modules = modules

    # What must stay as it is

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not node.name.startswith("ag_"):  # nested functions are converted on their own
            return node
        node.body = [self.visit(s) for s in node.body]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        node.subject = self.visit(node.subject)
        for case in node.cases:  # patterns are no expressions
            if case.guard is not None:
                case.guard = self.visit(case.guard)
            case.body = [self.visit(s) for s in case.body]
        return node

    # Constructs

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        if isinstance(func, ast.Attribute) and _is_operators(func.value):
            if func.attr != "read":
                node.args = [self.visit(x) for x in node.args]
            return node
        if isinstance(func, ast.Name) and func.id in _UNTOUCHED:
            self.generic_visit(node)
            if func.id == "super" and not node.args and not node.keywords and self._first:
                node.args = [
                    expression("__class__", node),
                    expression(self._first, node),
                ]
            return node
        if isinstance(func, ast.Attribute):  # a method
            func.value = self.visit(func.value)
        else:
            node.func = self.visit(func)
        node.args = [self.visit(x) for x in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        wrapped = expression(f"{OPERATORS}.call(None)", func)
        assert isinstance(wrapped, ast.Call)
        wrapped.args[0] = node.func
        node.func = wrapped
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        path = path_of(node)
        if path is not None and path.split(".")[0] in self._modules:
            return node
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return node
        call = expression(f"{OPERATORS}.attribute(None, None)", node)
        assert isinstance(call, ast.Call)
        call.args = [node.value, at(ast.Constant(value=node.attr), node)]
        return call

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if any(_binds(v) for v in node.values):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        call = expression(f"{OPERATORS}.{name}()", node)
        assert isinstance(call, ast.Call)
        call.args = [_later(v) for v in node.values]
        return call

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        call = expression(f"{OPERATORS}.not_(None)", node)
        assert isinstance(call, ast.Call)
        call.args[0] = node.operand
        return call

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        text = ast.unparse(node)
        self.generic_visit(node)
        if _binds(node.body) or _binds(node.orelse):
            return node
        call = expression(f"{OPERATORS}.if_exp(None, None, None, {text!r})", node)
        assert isinstance(call, ast.Call)
        call.args[:3] = [node.test, _later(node.body), _later(node.orelse)]
        return call

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        symbols = tuple(_COMPARISONS[type(op)] for op in node.ops)
        if len(symbols) == 1:
            if symbols[0] not in ("in", "not in"):
                return node
            call = expression(f"{OPERATORS}.contains({symbols[0] == 'in'}, None, None)", node)
            assert isinstance(call, ast.Call)
            call.args[1:] = [node.left, node.comparators[0]]
            return call
        if any(_binds(v) for v in node.comparators):
            return node
        call = expression(f"{OPERATORS}.compare({symbols!r}, None)", node)
        assert isinstance(call, ast.Call)
        call.args[1:] = [node.left, *map(_later, node.comparators)]
        return call


def _is_operators(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == OPERATORS


def _later(value: ast.expr) -> ast.expr:
    """A function of nothing that computes the value."""
    made = expression(f"lambda {LATER}=None: None", value)
    assert isinstance(made, ast.Lambda)
    made.body = value
    return at(made, value)


def _binds(node: ast.AST) -> bool:
    """True if an expression binds a name, or yields: neither can move into a lambda."""
    if isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await):
        return True
    if isinstance(node, ast.Lambda):
        return False
    return any(_binds(child) for child in children(node))
