"""docs/architecture.md is true of the tree: layers, files that it names, passes, corrections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests import documents, import_rules, source_tree

PAGE = documents.text_of("docs/architecture.md")
ROOT = source_tree.ROOT
# Folders that the page leaves out of paths.
BASES = ("", "tfx", "tfx/graph", "loaders")
# What passes and corrections are made with, and data of others.
NO_PASSES = {"claims", "pipeline"}
NO_CORRECTIONS = {"cuda_kernels", "gpu_probe"}


def section(heading: str) -> str:
    return PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of tables, without their heads."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| looked for"):
            yield line.strip("| ").split(" | ")


def stems(folder: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}


def found(text: str, folders: list[Path]) -> list[Path]:
    """What a text of the page names: a path of the checkout, or a file beside one named before."""
    tried = [ROOT / base for base in BASES] + folders
    endings = ("", ".py")
    return [path for folder in tried for end in endings for path in folder.glob(f"{text}{end}")]


def test_layers_stand_in_their_order() -> None:
    (block,) = documents.blocks("docs/architecture.md", "")[:1]
    named = [name for name in re.findall(r"\b(\w+)/", block) if name in import_rules.RANK]
    assert set(named) == set(import_rules.RANK)
    ranks = [import_rules.RANK[name] for name in named]
    assert ranks == sorted(ranks, reverse=True)
    assert all(f"`{name}/`" in PAGE for name in import_rules.FACES)


def test_files_exist() -> None:
    missing = []
    for cells in rows(section("Where is what")):
        folders: list[Path] = []
        for text in re.findall(r"`([^`]+)`", cells[1]):
            if "/" not in text and not text.endswith((".py", ".ts")):
                continue
            paths = found(text.replace("…", "*"), folders)
            folders += [path if path.is_dir() else path.parent for path in paths[:1]]
            missing += [text] * (not paths)
    assert not missing, "the page says that something stands in these"


def test_passes_and_corrections_are_listed() -> None:
    listed = {
        name.rpartition("/")[2]
        for cells in rows(section("Graphs"))
        for name in re.findall(r"`([\w/]+)`", " ".join(cells))
    }
    passes = stems("tfx/graph/passes") | stems("tfx/graph/passes/kernel_operators")
    assert not passes - NO_PASSES - listed, "add these to the table of passes"
    unlisted = stems("tfx/graph/kernels") - NO_CORRECTIONS - listed
    assert not unlisted, "add these to the table of corrections"


def test_what_is_listed_exists() -> None:
    there = stems("tfx/graph/passes") | stems("tfx/graph/kernels")
    there |= stems("tfx/graph/passes/kernel_operators")
    named = {
        name.rpartition("/")[2]
        for cells in rows(section("Graphs"))
        for name in re.findall(r"`([\w/]+)`", cells[0])
    }
    assert len(named) > 30
    assert not named - there
