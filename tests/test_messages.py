"""Advice that can be followed: each public name in a message of ours exists."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import source_tree

# Dotted names, not those of files (tfx.toml) or of keys in them: messages have blanks.
_NAME = re.compile(r"\btfx?\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_FOLDERS = ("tfx", "exporters", "loaders", "cli")


def messages() -> Iterator[tuple[Path, int, str]]:
    """Give the texts in the code that are no docstrings."""
    for folder in _FOLDERS:
        for path in sorted((source_tree.ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
            for node in ast.walk(tree):
                if not isinstance(node, ast.Constant) or id(node) in docs:
                    continue
                if isinstance(node.value, str) and " " in node.value:
                    yield path, node.lineno, node.value


def exists(name: str) -> bool:
    parts = name.split(".")
    found: Any = importlib.import_module("tfx")
    for i, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(["tfx", *parts[: i + 1]]))
            except ImportError:
                return False
    return True


def test_names_in_messages_exist() -> None:
    wrong = {
        f"{path.relative_to(source_tree.ROOT)}:{line}: {name}"
        for path, line, text in messages()
        for name in _NAME.findall(text)
        if not exists(name) and not exists(name.removesuffix("s"))
    }
    assert not wrong


@pytest.mark.parametrize(("name", "found"), [("nn.relu", True), ("nn.rleu", False)])
def test_the_search_itself(name: str, found: bool) -> None:
    assert exists(name) is found
