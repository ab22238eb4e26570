"""The choice of the Node.js for the JavaScript loader, among made-up ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_tree

SCRIPT = source_tree.ROOT / "tools" / "find_node.sh"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make and sh are POSIX")


def fake(folder: Path, major: int, *, npm: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("node", "npm") if npm else ("node",):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho {major}\n")
        path.chmod(0o755)
    return folder


def find(*folders: Path, node: str = "") -> tuple[int, str]:
    path = ":".join([*map(str, folders), "/usr/bin", "/bin"] if node else map(str, folders))
    # dirname is all that the script needs besides.
    tools = folders[0].parent / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "dirname").write_text('#!/bin/sh\necho "${1%/*}"\n')
    (tools / "dirname").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        env={"PATH": f"{path}:{tools}", "NODE": node},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.strip()


def test_a_node_that_is_new_enough(tmp_path: Path) -> None:
    folder = fake(tmp_path / "new", 20)
    assert find(folder) == (0, str(folder))


def test_one_that_is_old_or_has_no_npm_is_left_aside(tmp_path: Path) -> None:
    assert find(fake(tmp_path / "old", 18)) == (1, "")
    assert find(fake(tmp_path / "bare", 22, npm=False)) == (1, "")


def test_the_callers_choice_comes_first(tmp_path: Path) -> None:
    on_path, chosen = fake(tmp_path / "path", 20), fake(tmp_path / "chosen", 22)
    assert find(on_path, node=str(chosen / "node")) == (0, str(chosen))


def test_none(tmp_path: Path) -> None:
    assert find(tmp_path / "nothing") == (1, "")
