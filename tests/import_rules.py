"""Who may import whom, and what a module imports.

Owns the order of the layers and the few exceptions; tests/test_layers.py applies it to the code.
The decision: imports are read from the syntax tree, wherever they stand. One inside a function or
under TYPE_CHECKING is knowledge of the imported layer just the same, and counts.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

# Bottom to top. A package may import itself and those in the rows above it here; packages in one
# row do not know each other.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"core"}),
    frozenset({"runtime", "bundle", "kernels"}),
    frozenset({"graph"}),
    frozenset({"framework"}),
    frozenset({"ops"}),
    frozenset({"control_flow"}),
    frozenset({"autodiff"}),
    frozenset({"autograph"}),
    frozenset({"function"}),
    frozenset({"sparse_ops"}),
    frozenset({"vectorize", "linalg_ops", "nn_ops", "script_ops", "ragged_ops"}),
    frozenset({"parsing", "linear_operators"}),
    frozenset(
        {
            "numpy_ops",
            "distribute",
            "initializers",
            "optimizers",
            "lookup_ops",
            "summary",
            "testing",
        }
    ),
    frozenset({"train"}),
    frozenset({"data"}),
    frozenset({"feature_column"}),
    frozenset({"loaders"}),
    frozenset({"importing"}),
    frozenset({"exporters"}),
    frozenset({"saved_model"}),
    frozenset({"adapt"}),
    frozenset({"cli"}),
    frozenset({"model_zoo", "keras_backend"}),
)
RANK = {package: rank for rank, row in enumerate(LAYERS) for package in row}

# The public face is `tfx` itself, the single modules beside it such as tfx/math.py, and these
# packages of names. It may import every layer, and no layer imports it.
FACES = frozenset({"compat", "config", "experimental", "mixed_precision", "queue", "raw_ops"})

# Packages that may import less than what is below them.
NARROWED: Mapping[str, frozenset[str]] = {
    # Reading a bundle must work, and start fast, without onnx and without the tracing packages.
    "loaders": frozenset({"core", "bundle", "runtime"}),
    # Models are written as a user would write them: with the facade alone.
    "model_zoo": frozenset(),
}

# Packages that are written with the public names, as programs are.
WRITTEN_LIKE_PROGRAMS = frozenset({"model_zoo", "keras_backend"})

# Foreign packages that one or two packages keep to themselves.
HOMES: Mapping[str, frozenset[str]] = {
    "onnx": frozenset({"graph"}),
    "onnxruntime": frozenset({"runtime"}),
    "google.protobuf": frozenset({"bundle", "compat", "graph", "parsing", "summary"}),
    "optree": frozenset({"core"}),
    "click": frozenset({"cli"}),
    "keras": frozenset({"exporters", "keras_backend", "keras_hook"}),
    "rich": frozenset({"cli", "model_zoo"}),
}

# Folders of the checkout that must be imported by their installed names, or not at all.
NOT_INSTALLED = frozenset({"exporters", "cli", "loaders", "model_zoo", "tests", "tools", "bench"})

When = Literal["module", "function", "typing"]


@dataclass(frozen=True, slots=True)
class Import:
    """One import of ``target`` by ``importer``."""

    importer: str
    target: str
    line: int
    when: When


class _Collector(ast.NodeVisitor):
    """Gathers the imports of one module, with names as written."""

    def __init__(self, importer: str, known: Collection[str]) -> None:
        self.importer = importer
        self.known = known
        self.when: When = "module"
        self.found: list[Import] = []

    def add(self, target: str, node: ast.stmt | ast.expr) -> None:
        self.found.append(Import(self.importer, target, node.lineno, self.when))

    def within(self, when: When, nodes: list[ast.stmt]) -> None:
        outer, self.when = self.when, when
        for node in nodes:
            self.visit(node)
        self.when = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.within("function", node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            self.within("typing", node.body)
            self.within(self.when, node.orelse)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name, node)
            if alias.asname is None and alias.name.startswith("tfx."):
                self.add("tfx", node)  # `import tfx.core` binds the facade

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:  # ruff bans these; they are resolved all the same, so as to hide nothing
            is_package = any(name.startswith(self.importer + ".") for name in self.known)
            parts = self.importer.split(".") + ["__init__"] * is_package
            base = ".".join([*parts[: -node.level], *filter(None, [base])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            self.add(inner if inner in self.known else base, node)

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        if called.endswith("import_module") or called == "__import__":
            match node.args[:1]:
                case [ast.Constant(value=str(name))]:
                    self.add(name, node)
        self.generic_visit(node)


def imports_of(importer: str, source: str, known: Collection[str]) -> list[Import]:
    """List what the module ``importer`` imports; ``known`` are all the project's module names."""
    collector = _Collector(importer, known)
    collector.visit(ast.parse(source))
    return collector.found


def package_of(module: str) -> str | None:
    """Give ``graph`` for ``tfx.graph.ir``, None for ``tfx`` itself."""
    return module.split(".")[1] if "." in module else None


def is_facade(module: str) -> bool:
    """Tell the public face from a layer; test_layers.py sees to it that every package is one."""
    return module == "tfx" or (module.startswith("tfx.") and package_of(module) not in RANK)


def refusal(found: Import) -> str | None:
    """Say why an import is not allowed, or None."""
    importer, target = package_of(found.importer), found.target
    if target.split(".")[0] in NOT_INSTALLED:
        return f"is not installed under that name: import tfx.{target} or move what is shared"
    for foreign, homes in HOMES.items():
        if target == foreign or target.startswith(foreign + "."):
            return None if importer in homes else f"is for tfx.{', tfx.'.join(sorted(homes))} only"
    if target.split(".")[0] != "tfx":
        return None
    if package_of(target) == "model_zoo" and importer != "model_zoo":
        return "is what users might write: nothing imports it"
    if is_facade(found.importer):
        return None
    return _refusal_between(str(importer), target)


def _refusal_between(importer: str, target: str) -> str | None:
    """Judge an import by a package of one of ours."""
    if is_facade(target):
        if importer in WRITTEN_LIKE_PROGRAMS:
            return None
        return "is the facade: write `from tfx.<layer> import <module>`"
    imported = str(package_of(target))
    if imported == importer:
        return None
    if importer in NARROWED:
        allowed = ", ".join(sorted(NARROWED[importer])) or "the facade"
        return None if imported in NARROWED[importer] else f"is out of bounds: only {allowed}"
    if RANK[imported] >= RANK[importer]:
        return f"is not below tfx.{importer}: move what is shared down, or pass it in"
    return None


def violations(imports: Collection[Import]) -> Iterator[str]:
    """Tell every import that breaks a rule."""
    for found in imports:
        reason = refusal(found)
        if reason:
            yield f"{found.importer}:{found.line} imports {found.target}, which {reason}"
