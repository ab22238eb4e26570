"""Build the library of fused kernels: ``python -m tfx.kernels.build``.

The machine's C compiler is used (``CC`` names another one), or ``ziglang`` from the package index
where it is installed. It takes about two seconds. Nothing of tfx is imported: packages are built
where it is not installed. Little else is, until something is built: whoever loads the library asks
here whether it is whole.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
# Not a name that Python would take for a module of its own.
FILE_NAME = "libtfx_kernels." + {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so.1")
SOURCES = (
    "program.c",
    "tiles.c",
    "windows.c",
    "winograd.c",
    "depthwise.c",
    "lstm.c",
    "softmax.c",
    "attention.c",
    "matmul.c",
    "sums.c",
    "distinct.c",
    "integer_products.c",
    "operator.c",
)
# Small code: the loops are short. No errno and no traps of floating point, which nobody reads; no
# products and sums in one step, so that results are those of the operators one by one.
FLAGS = (
    "-std=c11",
    "-O2",
    "-ftree-vectorize",
    "-fno-asynchronous-unwind-tables",
    "-fno-align-loops",
    "-fno-align-functions",
    "-fno-align-jumps",
    "-fno-align-labels",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fvisibility=hidden",
)
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wno-sign-conversion", "-Werror")


@dataclass(frozen=True)
class Platform:
    """Another kind of machine that ``ziglang`` builds the library for.

    Attributes:
        target: What zig calls it.
        file_name: Of the library.
        flags: What is asked of every processor of this kind.
    """

    target: str
    file_name: str
    flags: tuple[str, ...] = ()


# By the tag of wheels; those that ONNX Runtime has wheels for.
PLATFORMS = {
    "manylinux_2_28_x86_64": Platform(
        "x86_64-linux-gnu.2.28", "libtfx_kernels.so.1", ("-mcpu=x86_64_v2+avx2+fma",)
    ),
    "manylinux_2_28_aarch64": Platform("aarch64-linux-gnu.2.28", "libtfx_kernels.so.1"),
    "macosx_14_0_arm64": Platform("aarch64-macos.14.0", "libtfx_kernels.dylib"),
    "win_amd64": Platform(
        "x86_64-windows-gnu", "libtfx_kernels.dll", ("-mcpu=x86_64_v2+avx2+fma",)
    ),
    "win_arm64": Platform("aarch64-windows-gnu", "libtfx_kernels.dll"),
}

_SEAL = 4  # bytes


def compilers() -> list[list[str]]:
    """The C compilers that there are, as commands, the preferred one first."""
    import importlib.util
    import shlex
    import shutil

    found = []
    if os.environ.get("CC"):
        found.append(shlex.split(os.environ["CC"]))
    found += [[name] for name in ("cc", "gcc", "clang") if shutil.which(name)]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "cc"])
    return found


def sealed(content: bytes) -> bytes:
    """A library with its checksum behind it: loading one that was cut ends the process."""
    return content + zlib.crc32(content).to_bytes(_SEAL, "big")


def is_whole(content: bytes) -> bool:
    """True if a library is as it was built."""
    return len(content) > _SEAL and sealed(content[:-_SEAL]) == content


def machine_flags() -> list[str]:
    """What is asked of every processor of this kind; wider vectors are asked for at run time."""
    import platform

    return ["-mavx2", "-mfma"] if platform.machine().lower() in ("x86_64", "amd64") else []


def _of_this_machine() -> tuple[list[list[str]], Platform]:
    """Compilers and what they are given here."""
    return compilers(), Platform("", FILE_NAME, tuple(machine_flags()))


def _of_others(platform: str) -> tuple[list[list[str]], Platform]:
    """Likewise for a platform of ``PLATFORMS``."""
    import importlib.util

    other = PLATFORMS[platform]
    if importlib.util.find_spec("ziglang") is None:
        return [], other
    return [[sys.executable, "-m", "ziglang", "cc", "-target", other.target]], other


def build(target: Path, extra: Sequence[str] = (), platform: str | None = None) -> str:
    """Build the library.

    Args:
        target: The file to write; it is replaced as a whole.
        extra: More flags.
        platform: The tag of a platform to build it for, by ``ziglang``; None: this machine.

    Returns:
        An empty string, or why it could not be built.
    """
    import subprocess
    import tempfile

    commands, machine = _of_this_machine() if platform is None else _of_others(platform)
    if not commands:
        known = "cc, gcc, clang, or " if platform is None else ""
        return f"there is no C compiler ({known}the package ziglang)"
    problem = ""
    on_windows = machine.file_name.endswith(".dll")
    shared = ["-shared"] if on_windows else ["-shared", "-fPIC"]
    libraries = [] if on_windows else ["-lm"]
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder, target.name)
        for command in commands:
            sources = [str(_HERE / name) for name in SOURCES]
            whole = [
                *command,
                *FLAGS,
                *machine.flags,
                *extra,
                *shared,
                "-o",
                str(made),
                *sources,
                *libraries,
            ]
            try:
                done = subprocess.run(whole, capture_output=True, text=True, check=False)
            except OSError as e:
                problem = f"{command[0]}: {e}"
                continue
            if done.returncode == 0:
                made.write_bytes(sealed(made.read_bytes()))
                made.replace(target)
                return ""
            problem = f"{' '.join(command)}: {done.stderr.strip()[-500:]}"
    return problem


def main() -> int:
    """Build the library beside this file."""
    try:
        problem = build(_HERE / FILE_NAME, ["-s"])
    except OSError as e:  # a folder that cannot be written to
        problem = str(e)
    if problem:
        print(f"The fused kernels were not built: {problem}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
