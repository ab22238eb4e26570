"""The library on other machines: what the processor has, what zig compiles for each platform."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.kernels.compiling import FOLDER, compiled
from tfx.kernels import build

# The first bytes of a library, and the number of its processor with the place of that number.
FORMS = {
    "manylinux_2_28_x86_64": (b"\x7fELF", 18, 0x3E),
    "manylinux_2_28_aarch64": (b"\x7fELF", 18, 0xB7),
    "macosx_14_0_arm64": (b"\xcf\xfa\xed\xfe", 4, 0x0C),
    "win_amd64": (b"MZ", None, 0x8664),
    "win_arm64": (b"MZ", None, 0xAA64),
}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="asks Linux on x86-64"
)
def test_the_processor_has_what_the_system_says(tmp_path: Path) -> None:
    flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    program = compiled("processor_check", tmp_path, build.FLAGS)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    wide = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}
    assert done.stdout.split() == [str(int({"avx2", "fma"} <= flags)), str(int(wide <= flags))]


def test_every_source_of_the_library_is_in_the_package() -> None:
    """Who builds it from a wheel has no more than that."""
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"tfx.kernels" = ["*.c", "*.h", "*.inc"]' in text
    assert {path.suffix for path in FOLDER.iterdir() if path.is_file()} <= {
        *(".c", ".h", ".inc", ".py", ".dll", ".dylib"),
        *(".1", ".so"),
    }


def test_platforms_without_their_compiler_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for name in build.PLATFORMS:
        problem = build.build(tmp_path / "library", platform=name)
        assert problem == "there is no C compiler (the package ziglang)"
    assert os.listdir(tmp_path) == []


@pytest.mark.proof
@pytest.mark.parametrize("name", sorted(build.PLATFORMS))
def test_zig_compiles_the_library_without_a_warning(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang (438 MB)")
    target = tmp_path / build.PLATFORMS[name].file_name
    flags = ["-s", *build.WARNINGS, "-Wno-ignored-optimization-argument"]  # some are gcc's alone
    assert build.build(target, flags, platform=name) == ""
    content = target.read_bytes()
    assert build.is_whole(content)
    head, place, machine = FORMS[name]
    assert content.startswith(head)
    if place is None:  # behind the signature of a PE file
        place = int.from_bytes(content[60:64], "little") + 4
    assert int.from_bytes(content[place : place + 2], "little") == machine
    assert b"RegisterCustomOps" in content
