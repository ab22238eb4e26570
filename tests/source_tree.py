"""Where the project's modules and packages are, for tests about the code itself.

Owns the translation between folders and installed names, which it reads from pyproject.toml so
that there is one mapping; knows nothing of what the modules contain.
"""

from __future__ import annotations

import functools
import os
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def pyproject() -> dict[str, Any]:
    """Read pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_roots() -> dict[str, Path]:
    """Map each installed name that has a folder of its own to that folder."""
    mapping = pyproject()["tool"]["setuptools"]["package-dir"]
    return {name: ROOT / folder for name, folder in mapping.items()}


@functools.cache
def packages() -> dict[str, Path]:
    """Map the name of every package to its folder; a folder with Python files counts as one."""
    found = {}
    for root_name, root in package_roots().items():
        for folder, _, files in os.walk(root):  # does not go through the links in tfx/
            if any(name.endswith(".py") for name in files):
                parts = Path(folder).relative_to(root).parts
                found[".".join((root_name, *parts))] = Path(folder)
    return dict(sorted(found.items()))


@functools.cache
def modules() -> dict[str, Path]:
    """Map the name of every module, packages included, to its file."""
    found = {}
    for package, folder in packages().items():
        for path in folder.glob("*.py"):
            found[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path
    return dict(sorted(found.items()))
