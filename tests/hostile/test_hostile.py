"""Hostile bundles are refused with the file and the reason, by both loaders, and do nothing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import cases, make
from tests.source_tree import ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, /dev and limits on memory"),
    pytest.mark.xdist_group("hostile"),
]
# Of the cases here, those whose error says more than that the bundle is damaged.
KINDS = {
    "custom_domain": "UnimplementedError",
    "custom_python": "UnimplementedError",
    # Known as such by the library that knows operators by name.
    "custom_operator": "BundleError",
}


def state(folder: Path) -> dict[str, Any]:
    """What is in a folder, with times of changes."""
    found: dict[str, Any] = {}
    for root, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(root, name)
            status = path.lstat()
            content = b""
            if path.is_file() and not path.is_symlink():
                content = hashlib.sha256(path.read_bytes()).digest()
            found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_size, content)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "cases"
    make.make(folder)
    return folder


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Give what came of each case, by its name and the loader's."""
    bundles = sorted(map(str, folder.glob("*/bundle")))
    before = state(folder)
    run = subprocess.run(
        [sys.executable, "-m", "tests.hostile.attempt", *bundles],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == 0, run.stderr[-1500:]
    noise = [line for line in run.stderr.splitlines() if not line.startswith("at ")]
    assert noise == []  # ONNX Runtime prints some of its errors itself
    assert state(folder) == before
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return {(Path(row["folder"]).parent.name, row["loader"]): row for row in rows}


def check(outcomes: Any, folder: Path, name: str, kind: str) -> None:
    for loader in ("Bundle", "load"):
        row = outcomes[name, loader]
        assert row["kind"] is not None, f"{loader} took {name}"
        kinds = {kind, "BundleError"} if loader == "load" else {kind}
        assert row["kind"] in kinds, row
        assert str(folder / name / "bundle") in row["message"], row
        assert len(row["message"]) < 1500, row
        assert row["seconds"] < 20, row


@pytest.mark.parametrize("group", ["MANIFESTS", "STORES", "GRAPHS", "FILES"])
def test_all_are_refused_with_the_file_and_the_reason(
    outcomes: Any, folder: Path, group: str
) -> None:
    names = list(getattr(cases, group))
    assert len(names) > 12
    for name in names:
        check(outcomes, folder, name, KINDS.get(name, "BundleError"))


def test_so_are_those_for_loaders_in_every_language(outcomes: Any, folder: Path) -> None:
    found = sorted(folder.glob("hostile_*/case.json"))
    assert len(found) >= 30
    for path in found:
        kind = json.loads(path.read_text())["refused"]
        check(outcomes, folder, path.parent.name, kind if "Error" in kind else f"{kind}Error")


def test_the_bundle_that_they_are_made_from_is_taken(outcomes: Any) -> None:
    for loader in ("Bundle", "load"):
        assert outcomes["honest", loader]["kind"] is None, outcomes["honest", loader]


def test_a_bundle_that_does_something_would_be_noticed(folder: Path) -> None:
    program = (
        "from tests.hostile.attempt import watch\nwatch()\n"
        "import pathlib, sys\npathlib.Path(sys.argv[1]).write_text('x')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(folder / "written")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 7
    assert run.stderr.startswith("forbidden: open")
    assert not (folder / "written").exists()


def test_the_script_runs_by_itself(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.hostile.make", str(tmp_path / "made")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert set(cases.CASES) <= set(run.stdout.split())
