"""Imports only go down: the rules of tests/import_rules.py, applied to the whole source tree."""

from __future__ import annotations

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import import_rules, source_tree
from tests.import_rules import Import

# Imports inside of functions, of modules that few programs need.
MOST_LATE = 10


@functools.cache
def all_imports() -> list[Import]:
    known = source_tree.modules()
    return [
        found
        for name, path in known.items()
        for found in import_rules.imports_of(name, path.read_text(encoding="utf-8"), known)
    ]


def test_imports_only_go_down() -> None:
    broken = list(import_rules.violations(all_imports()))
    assert not broken, "\n".join(["Against the layers of tests/import_rules.py:", *broken])


def test_every_package_has_a_place_among_the_layers() -> None:
    present = {name.split(".")[1] for name in source_tree.packages() if "." in name}
    placed = import_rules.RANK.keys() | import_rules.FACES
    assert not present - placed, "add these packages to LAYERS or FACES in import_rules.py"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    known = source_tree.modules()
    graph: dict[str, set[str]] = {}
    for found in all_imports():
        # Those in functions count too: they only hide that two modules need each other.
        ours = found.target in known and found.target != found.importer
        if found.when != "typing" and ours:
            graph.setdefault(found.importer, set()).add(found.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_functions_import_little() -> None:
    # Commands import what they do when they run, so that help and completion are instant.
    late = {
        (found.importer, found.target)
        for found in all_imports()
        if found.when == "function"
        and found.target.startswith("tfx")
        and not found.importer.startswith("tfx.cli")
    }
    assert len(late) <= MOST_LATE, "import these at the top:\n" + "\n".join(map(str, late))


def _checkout_sources() -> Iterator[tuple[str, str]]:
    for folder in ("tests", "bench", "tools"):
        for path in sorted((source_tree.ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(source_tree.ROOT)), path.read_text(encoding="utf-8")


def test_tests_and_tools_use_the_installed_names() -> None:
    wrong = source_tree.package_roots().keys() - {"tfx"}
    wrong_roots = {name.removeprefix("tfx.") for name in wrong}
    broken = [
        f"{where}:{found.line} imports {found.target}: write tfx.{found.target}"
        for where, text in _checkout_sources()
        for found in import_rules.imports_of(where, text, ())
        if found.target.split(".")[0] in wrong_roots
    ]
    assert not broken, "\n".join(broken)


def test_loading_bundles_imports_neither_onnx_nor_the_tracing_packages() -> None:
    # What the rules promise module by module, seen from outside: import it all and look.
    loaders = [name for name in source_tree.modules() if name.startswith("tfx.loaders")]
    program = f"import sys, {', '.join(loaders)}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=source_tree.ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    ours = {import_rules.package_of(name) for name in loaded if name.startswith("tfx.")}
    layers = ours & import_rules.RANK.keys()
    assert layers <= import_rules.NARROWED["loaders"] | {"loaders"}
    assert "onnx" not in loaded


KNOWN = {"tfx", "tfx.core", "tfx.core.dtypes", "tfx.graph", "tfx.graph.ir", "tfx.nn", "tfx.ops"}


@pytest.mark.parametrize(
    ("importer", "source", "complaint"),
    [
        ("tfx.core.dtypes", "from tfx.graph import ir", "imports tfx.graph.ir, which is not below"),
        ("tfx.core.dtypes", "def f():\n    import tfx.graph.ir as ir", "not below tfx.core"),
        ("tfx.core.dtypes", "async def f():\n    from tfx.graph import ir", "not below tfx.core"),
        (
            "tfx.core.dtypes",
            "if TYPE_CHECKING:\n    import tfx.graph.ir as g",
            "not below tfx.core",
        ),
        ("tfx.core.dtypes", "from ..graph.ir import Graph", "not below tfx.core"),
        ("tfx.core", "from ..graph import ir", "not below tfx.core"),
        ("tfx.core.dtypes", "importlib.import_module('tfx.graph.ir')", "not below tfx.core"),
        ("tfx.bundle.files", "from tfx.runtime import session", "not below tfx.bundle"),
        ("tfx.graph.ir", "import tfx.core.dtypes", "which is the facade"),
        ("tfx.graph.ir", "import tfx as tf", "which is the facade"),
        ("tfx.graph.ir", "from tfx import Tensor", "which is the facade"),
        ("tfx.graph.ir", "from tfx import nn", "which is the facade"),
        ("tfx.graph.ir", "from tfx.config import threading", "which is the facade"),
        ("tfx.ops.math", "import onnx.helper", "is for tfx.graph only"),
        ("tfx.nn", "from onnx import helper", "is for tfx.graph only"),
        ("tfx.graph.ir", "import onnxruntime as ort", "is for tfx.runtime only"),
        ("tfx.exporters.native", "import exporters.writer", "not installed under that name"),
        ("tfx.ops.math", "from tests import source_tree", "not installed under that name"),
        ("tfx.loaders.load", "from tfx.graph import ir", "only bundle, core, runtime"),
        ("tfx.loaders.load", "import onnx", "is for tfx.graph only"),
        ("tfx.model_zoo.digits", "from tfx.ops import math", "out of bounds: only the facade"),
        ("tfx.nn", "import tfx.model_zoo.digits", "nothing imports it"),
    ],
)
def test_rules_catch(importer: str, source: str, complaint: str) -> None:
    found = import_rules.imports_of(importer, source, KNOWN)
    assert any(complaint in message for message in import_rules.violations(found))


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("tfx.graph.ir", "from tfx.core import dtypes\nimport tfx.core.dtypes as d, onnx.defs"),
        ("tfx.graph", "from .ir import Graph"),
        ("tfx.graph.ir", "from tfx.graph.schema import find"),
        ("tfx.runtime.session", "from onnxruntime.capi import onnxruntime_pybind11_state"),
        ("tfx.nn", "from tfx.ops import math\nfrom tfx.exporters import native"),
        ("tfx", "from tfx.exporters import native"),
        ("tfx.loaders.load", "from tfx.runtime import session\nfrom tfx.bundle import files"),
        ("tfx.cli.show", "import click, rich\nfrom tfx.loaders import load"),
        ("tfx.model_zoo.digits.train", "import tfx as tf\nfrom tfx.model_zoo.digits import model"),
    ],
)
def test_rules_let_pass(importer: str, source: str) -> None:
    found = import_rules.imports_of(importer, source, KNOWN)
    assert found
    assert list(import_rules.violations(found)) == []


def test_collector_tells_when_an_import_runs() -> None:
    source = """
        import a
        if TYPE_CHECKING:
            import b
        else:
            import c
        try:
            import d
        except ImportError:
            def late():
                import e
    """
    tree = ast.unparse(ast.parse("if True:\n" + source))
    found = import_rules.imports_of("tfx.core.x", tree, ())
    assert {i.target: i.when for i in found} == {
        "a": "module", "b": "typing", "c": "module", "d": "module", "e": "function",
    }  # fmt: skip
