"""``python tools/build_wheels.py [FOLDER] [PLATFORM ...]``: wheels for other platforms, built here.

``ziglang`` from the package index compiles the fused kernels for each; it is installed, with what
builds the wheels, into a virtual environment below ``build/``. Nothing of the result is run.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS = runpy.run_path(str(ROOT / "tfx/kernels/build.py"))["PLATFORMS"]
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def environment() -> Path:
    """The Python of an environment that has what builds wheels."""
    folder = ROOT / "build" / "wheels-env"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    packages = ["setuptools>=77", "ziglang"]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def main(arguments: list[str] | None = None) -> int:
    """Build the wheels that are asked for; all without a name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    # argparse takes "none given" for a choice, too.
    parser.add_argument("platforms", nargs="*", choices=[[], *PLATFORMS], metavar="PLATFORM")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    python = environment()
    for platform in given.platforms or PLATFORMS:
        settings = os.environ | {"TFX_WHEEL_PLATFORM": platform}
        command = [str(python), "-c", BUILD, str(given.folder.resolve())]
        done = subprocess.run(
            command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
            print(f"The wheel for {platform} was not built.", file=sys.stderr)
            return 1
        wheels = given.folder.glob(f"*{platform}.whl")
        print(max(wheels, key=lambda wheel: wheel.stat().st_mtime))  # beside older ones, perhaps
    return 0


if __name__ == "__main__":
    sys.exit(main())
