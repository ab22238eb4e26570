"""Names like ``__x``, which Python changes inside of classes."""

from __future__ import annotations

import ast

from tfx.autograph.trees import AroundClasses


class PrivateNames(AroundClasses, ast.NodeTransformer):
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
