"""Programs in C beside the tests, which include sources of the kernels."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tfx.kernels import build

FOLDER = Path(build.__file__).parent
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]


def compiler() -> list[str]:
    """The command of the C compiler; skips where there is none."""
    found = build.compilers()
    if not found:
        pytest.skip("there is no C compiler")
    return found[0]


def compiled(name: str, folder: Path, flags: Sequence[str], others: Sequence[str] = ()) -> Path:
    """A program beside this file, with other sources of the library if it does not include them.

    Skips where the compiler cannot compile anything so.
    """
    nothing = folder / "nothing.c"
    nothing.write_text("int main(void) { return 0; }")
    for source in (nothing, Path(__file__).with_name(f"{name}.c")):
        program = folder / source.stem
        command = [*compiler(), *flags, f"-I{FOLDER}", "-o", str(program), str(source)]
        command += [*[str(FOLDER / other) for other in others], "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and source is nothing:
            pytest.skip(f"this compiler has not what is asked of it: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr[-3000:]
    return program


def sanitized(
    name: str, folder: Path, extra: Sequence[str] = (), others: Sequence[str] = ()
) -> Path:
    """Likewise, under AddressSanitizer and UBSan."""
    flags = [f for f in build.FLAGS if f not in ("-O2", "-ftree-vectorize")]
    return compiled(name, folder, [*flags, *SANITIZERS, *extra], others)
