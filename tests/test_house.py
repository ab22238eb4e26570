"""What keeps the source easy to find a way in: small folders, facts of operators in one place."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator

import pytest

from tests import source_tree
from tfx.graph import schema
from tfx.graph.traits import operators

MOST_FILES = 30
# What stands beside the README.
ROOT_FOLDERS = {".ci", "bench", "cli", "docs", "exporters", "loaders", "model_zoo", "tests", "tfx"}
ROOT_FOLDERS |= {"tools"}
ROOT_FILES = {".clang-format", ".gitignore", "CHANGELOG.md", "LICENSE", "MANIFEST.in", "Makefile"}
ROOT_FILES |= {"README.md", "conftest.py", "keras_tfx.py", "pyproject.toml", "setup.py"}
# Names of operators that mean something to one file alone.
MOST_SETS = 5
# Lines of which the type checker is told to look away.
MOST_IGNORED = 40


def test_a_folder_has_few_files() -> None:
    counts = Counter(path.parent for path in source_tree.modules().values())
    full = {str(folder): n for folder, n in counts.items() if n > MOST_FILES + 1}
    assert not full, "divide these by subject"


def test_the_root_holds_what_is_known() -> None:
    if shutil.which("git") is None or not (source_tree.ROOT / ".git").exists():
        pytest.skip("only git tells what is left out of a checkout on purpose")
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, cwd=source_tree.ROOT, capture_output=True, text=True, check=True)
    present = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    unknown = present - ROOT_FOLDERS - ROOT_FILES
    assert not unknown, "what wrote these here? Examples and tests write to a temporary folder"


def _collections_of_operators() -> Iterator[str]:
    names = {*schema.operator_names(), *operators(lambda t: t.bodies)}
    for module, path in source_tree.modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            value = getattr(node, "value", None)
            if not isinstance(node, ast.Assign | ast.AnnAssign) or value is None:
                continue
            called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
            if not isinstance(value, ast.Set | ast.Tuple) and called not in ("frozenset", "set"):
                continue
            texts = [n.value for n in ast.walk(value) if isinstance(n, ast.Constant)]
            listed = [text for text in texts if text in names]
            if len(listed) >= 2 and len(listed) > len(texts) / 2:
                yield f"{module}:{node.lineno}"


def test_facts_about_operators_are_in_their_table() -> None:
    found = list(_collections_of_operators())
    assert len(found) <= MOST_SETS, "make these columns of graph/traits.py:\n" + "\n".join(found)


def test_the_type_checker_sees_nearly_everything() -> None:
    ignored = [
        f"{path}:{number}"
        for path in source_tree.modules().values()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "# type: ignore" in line and "_pb2" not in path.name
    ]
    assert len(ignored) <= MOST_IGNORED, "say the type instead:\n" + "\n".join(ignored)


# Below this a body is a line or two, which may be alike by chance.
LEAST_DUMP = 250


def test_no_function_is_written_twice() -> None:
    bodies: dict[str, list[str]] = {}
    for module, path in source_tree.modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            documented = ast.get_docstring(node, clean=False) is not None
            body = ast.Module(node.body[1:] if documented else node.body, [])
            text = ast.dump(body) + ast.dump(node.args)
            if body.body and len(text) > LEAST_DUMP:
                bodies.setdefault(text, []).append(f"{module}:{node.lineno} {node.name}")
    twice = [found for found in bodies.values() if len(found) > 1]
    assert not twice, "write these once, where the lower of the two packages can have it"


# Keras calls these by their names.
CALLED_BY_OTHERS = ("tfx.keras_backend", "tfx.keras_hook")


def _top_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """What a module defines for others or itself; decorators may register what they decorate."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(decorator_list=[]) | ast.ClassDef(decorator_list=[]):
                yield node.name, node.lineno
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node.lineno


def test_what_modules_define_is_used() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in source_tree.modules().values()}
    others = [p for f in ("tests", "tools", "bench") for p in (source_tree.ROOT / f).rglob("*.py")]
    others += [source_tree.ROOT / "pyproject.toml", source_tree.ROOT / "setup.py"]
    words: Counter[str] = Counter()
    for text in (*texts.values(), *(path.read_text(encoding="utf-8") for path in others)):
        words.update(re.findall(r"\w+", text))
    unused = [
        f"{module}:{line} {name}"
        for module, path in source_tree.modules().items()
        if "_pb2" not in module and not module.startswith(CALLED_BY_OTHERS)
        for name, line in _top_names(ast.parse(texts[path]))
        if words[name] < 2
    ]
    assert not unused, "nothing uses these: take them out"
