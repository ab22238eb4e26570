"""The specification's numbers and names are those of the programs that follow it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tfx.bundle import limits
from tfx.bundle.check import KNOWN_FEATURES
from tfx.bundle.dtypes import BY_NAME
from tfx.bundle.records import FORMAT_VERSION
from tfx.core import errors
from tfx.loaders.onnx_file import MAX_EXPANDED_NODES
from tfx.loaders.open_files import MAX_GRAPH_BYTES

SPEC = Path(__file__).parents[3] / "loaders" / "SPEC.md"
TEXT = SPEC.read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
    assert found, title
    return found[1]


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and not line.startswith("|--") and "---" not in line
    ]


def test_version_and_features():
    assert f"The bundle format, version {FORMAT_VERSION}" in TEXT
    assert TEXT.rstrip().endswith("Features of format 1 so far: none.") == (not KNOWN_FEATURES)


def test_element_types():
    found = {}
    for names, numbers, stored, _ in rows(section("4. Tensors"))[1:]:
        each = [item.strip() for item in names.split(",")]
        numbers = [int(item) for item in numbers.split(",")]
        if stored in ("encoded", ""):
            stored = ",".join([""] * len(each))
        codes = [item.strip() for item in stored.split(",")]
        found.update(dict(zip(each, zip(numbers, codes, strict=True), strict=True)))
    assert found == {row.name: (row.number, row.safetensors) for row in BY_NAME.values()}


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("the manifest", f"{limits.MAX_MANIFEST_BYTES >> 20} MiB"),
        ("a graph file", "2^31 - 1 bytes"),
        ("a safetensors header; an index", f"{limits.MAX_TENSOR_HEADER_BYTES:,} bytes"),
        ("a constant inline", f"{limits.MAX_INLINE_CONSTANT_BYTES >> 20} MiB"),
        ("a path", f"{limits.MAX_PATH_LENGTH} characters"),
        ("a name", f"{limits.MAX_NAME_LENGTH:,} characters"),
        ("dimensions of a tensor", str(limits.MAX_RANK)),
        ("nesting of values", str(limits.MAX_STRUCTURE_DEPTH)),
        ("nodes of a graph with local functions expanded", f"{MAX_EXPANDED_NODES:,}"),
    ],
)
def test_limits(what, value):
    assert dict(rows(section("13. Limits"))[1:])[what] == value
    assert MAX_GRAPH_BYTES == 2**31 - 1
    assert limits.MAX_INDEX_BYTES == limits.MAX_TENSOR_HEADER_BYTES
    assert limits.MAX_ELEMENTS == 2**63 - 1
    assert limits.MAX_SHARD_BYTES == 4 << 30


def test_errors_have_the_names_of_the_specification():
    for cell, _ in rows(section("12. Refusals and errors"))[1:]:
        for name in re.findall(r"`(\w+)`", cell):
            kind = getattr(errors, name if name.endswith("Error") else f"{name}Error")
            assert issubclass(kind, errors.OpError)
