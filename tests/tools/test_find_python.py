"""The choice of the Python for .venv, among made-up interpreters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_tree

SCRIPT = source_tree.ROOT / "tools" / "find_python.sh"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make and sh are POSIX")

# Answers the two questions of the script as a Python of the given version would.
FAKE = """#!/bin/sh
case "$*" in
    --version) echo "Python {version}" ;;
    *version_info*) exec {real} -c "import sys; sys.version_info = ({tuple}); $(
        echo "$2" | {real} -c 'import sys; print(sys.stdin.read().replace("import sys;", ""))'
    )" ;;
    *ensurepip*) exit {without_venv} ;;
esac
"""


def fake(folder: Path, name: str, version: str, *, venv: bool = True) -> None:
    path = folder / name
    numbers = version.replace(".", ", ")
    path.write_text(
        FAKE.format(version=version, tuple=numbers, real=sys.executable, without_venv=int(not venv))
    )
    path.chmod(0o755)


def find(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = ["/bin/sh", str(SCRIPT), *arguments]
    done = subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        ({"python3": "3.12.1", "python3.11": "3.11.0"}, "python3"),
        ({"python3": "3.10.9", "python3.11": "3.11.0"}, "python3.11"),
        ({"python3": "3.10.9", "python3.11": "3.11.0", "python3.13": "3.13.2"}, "python3.13"),
        ({"python": "3.14.0"}, "python"),
        # No wheels of ONNX Runtime yet: taken only if there is nothing else.
        ({"python3": "3.15.0", "python3.12": "3.12.0"}, "python3.12"),
        ({"python3": "3.15.0"}, "python3"),
    ],
)
def test_choice(present: dict[str, str], chosen: str, tmp_path: Path) -> None:
    for name, version in present.items():
        fake(tmp_path, name, version)
    assert find(tmp_path) == (0, chosen, "")


def test_a_command_that_only_complains_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\necho 'not found' >&2\nexit 127\n")
    (tmp_path / "python3").chmod(0o755)
    fake(tmp_path, "python3.11", "3.11.4")
    assert find(tmp_path) == (0, "python3.11", "")


def test_nothing_found_says_what_to_do(tmp_path: Path) -> None:
    fake(tmp_path, "python3", "3.9.2")
    status, out, error = find(tmp_path)
    assert (status, out) == (1, "")
    assert "no Python 3.11 or newer" in error
    assert "make PYTHON=" in error


def test_missing_venv_module_is_told(tmp_path: Path) -> None:
    fake(tmp_path, "python3", "3.11.2", venv=False)
    status, _, error = find(tmp_path)
    assert status == 1
    assert "apt install python3-venv" in error


def test_a_named_python_is_the_only_candidate(tmp_path: Path) -> None:
    fake(tmp_path, "python3", "3.12.0")
    fake(tmp_path, "other", "3.11.0")
    fake(tmp_path, "old", "3.10.0")
    assert find(tmp_path, "other") == (0, "other", "")
    status, out, error = find(tmp_path, "old")
    assert (status, out) == (1, "")
    assert "PYTHON=old does not serve (Python 3.10.0)" in error
    assert "it does not run" in find(tmp_path, "absent")[2]
