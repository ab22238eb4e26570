from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from tfx.bundle.files import path_problem
from tfx.exporters.names import FileNames, unique_name, unique_names


def test_unique_names() -> None:
    assert unique_name("a", {"a", "a_1"}) == "a_2"
    assert unique_names(["a", "b", "a", "a", "a_1"], ["b"]) == ["a", "b_1", "a_1", "a_2", "a_1_1"]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("serving_default", "serving_default"),
        ("layers/0/call", "layers.0.call"),
        ("a b?c", "a_b_c"),
        ("../../etc", "etc"),
        ("...", "function"),
        ("ä", "_"),
        ("x" * 500, "x" * 120),
    ],
)
def test_file_stems(name: str, stem: str) -> None:
    found = FileNames().stem(name)
    assert found == stem
    assert path_problem(f"{found}.onnx") is None
    assert "/" not in found


@hypothesis.given(st.lists(st.text(max_size=8), max_size=20))
def test_file_names_are_good_and_differ(names: list[str]) -> None:
    files = FileNames()
    stems = [files.stem(name) for name in names]
    written = [f"{s}{end}".casefold() for s in stems for end in (".onnx", ".live.onnx")]
    assert len(set(written)) == len(written)
    assert all(path_problem(file) is None and "/" not in file for file in written)


def test_endings_of_files_are_kept() -> None:
    files = FileNames()
    found = [files.file(n) for n in ("a.txt", "A.txt", "a.tar.gz", "noend", ".hidden", "x. ", "y.")]
    assert found[:4] == ["a.txt", "A.1.txt", "a.tar.gz", "noend"]
    assert len({f.casefold() for f in found}) == len(found)
    assert all(path_problem(f) is None for f in found)
