"""Files, modules and headings that documents and docstrings speak of exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests import source_tree

# Where a path may begin.
_ROOTS = ("", "tfx", "tfx/graph", "loaders", "tests")


def _texts() -> Iterator[tuple[str, str]]:
    root = source_tree.ROOT
    for path in [*sorted(root.glob("docs/*.md")), root / "README.md"]:
        yield path.name, path.read_text(encoding="utf-8")
    for name, path in source_tree.modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield name, ast.get_docstring(node) or ""


def _quoted() -> Iterator[tuple[str, str]]:
    for where, text in _texts():
        for found in re.findall(r"`{1,2}([\w./]+)`{1,2}", text):
            yield where, found


def test_paths_exist() -> None:
    named = {(where, text) for where, text in _quoted() if "/" in text and text.endswith(".py")}
    assert len(named) > 50
    missing = [
        f"{where}: {text}"
        for where, text in sorted(named)
        if not any((source_tree.ROOT / base / text).exists() for base in _ROOTS)
    ]
    assert not missing, "\n".join(missing)


def test_modules_and_their_names_exist() -> None:
    known = source_tree.modules()
    packages = {name.split(".")[1] for name in source_tree.packages() if "." in name}
    missing = []
    for where, text in set(_quoted()):
        parts = text.removeprefix("tfx.").split(".")
        if "/" in text or len(parts) < 2 or parts[0] not in packages:
            continue
        length = max(i for i in range(len(parts) + 1) if ".".join(["tfx", *parts[:i]]) in known)
        rest = parts[length:]
        source = known[".".join(["tfx", *parts[:length]])].read_text(encoding="utf-8")
        # Members of objects that share the name of a package (``graph.outputs``) are no modules.
        if length > 1 and rest and not re.search(rf"\b{rest[0]}\b", source):
            missing.append(f"{where}: {text}")
    assert not missing, "\n".join(sorted(missing))


def _anchors(path: Path) -> set[str]:
    """What links call the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.strip().lower()).replace(" ", "-") for text in headings}


def test_links_of_documents_lead_somewhere() -> None:
    root = source_tree.ROOT
    documents = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("loaders/*/README.md")]
    documents += [root / "loaders" / "SPEC.md", *root.glob("model_zoo/**/*.md")]
    broken = []
    for document in documents:
        text = re.sub(
            r"^```.*?^```$", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            place, _, heading = link.partition("#")
            target = document.parent / place if place else document
            if link.startswith("http"):
                continue
            if not target.exists() or (heading and heading not in _anchors(target)):
                broken.append(f"{document.relative_to(root)}: {link}")
    assert not broken, "\n".join(broken)
