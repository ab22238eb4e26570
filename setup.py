"""What pyproject.toml cannot say: a file that stands beside the packages, and a library in C.

``keras_tfx.pth`` lets ``KERAS_BACKEND=tfx`` do without an ``import tfx`` before ``import keras``.
Python reads it when it starts; where the variable says something else it does nothing.

The fused kernels are built where there is a C compiler, and the wheel is then one for this
platform. Without them everything works, some of it slower. ``TFX_WHEEL_PLATFORM`` names another
platform of ``PLATFORMS`` in `tfx/kernels/build.py` to build the wheel for (see `make wheels`).
"""

import os
import runpy
import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

KERNELS = runpy.run_path(str(Path(__file__).parent / "tfx/kernels/build.py"))

OTHER = os.environ.get("TFX_WHEEL_PLATFORM")
FILE_NAME = KERNELS["PLATFORMS"][OTHER].file_name if OTHER else KERNELS["FILE_NAME"]
STARTUP = 'import os; os.environ.get("KERAS_BACKEND") == "tfx" and __import__("keras_tfx")\n'


class BuildWithKernels(build_py):
    """Copies the modules, writes the file that Python reads when it starts, and compiles the C."""

    def run(self) -> None:
        """Build, unless the installation is editable, which has no folder to write to."""
        if not self.editable_mode:
            # Else a wheel has the modules of earlier builds, and the library of another platform.
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            Path(self.build_lib, "keras_tfx.pth").write_text(STARTUP, encoding="utf-8")
            problem = KERNELS["build"](self.kernels, ["-s"], OTHER)
            if problem and (OTHER or os.environ.get("TFX_BUILD_KERNELS") == "require"):
                raise RuntimeError(f"The fused kernels cannot be built: {problem}")
            if problem:
                print(f"tfx is built without its fused kernels: {problem}", file=sys.stderr)

    @property
    def kernels(self) -> Path:
        """Where the library is put."""
        return Path(self.build_lib, "tfx", "kernels", FILE_NAME)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """The files that were written, for whoever installs them."""
        written = super().get_outputs(include_bytecode)
        library = [str(self.kernels)] if self.kernels.exists() else []
        return [*written, str(Path(self.build_lib, "keras_tfx.pth")), *library]


class WheelForPlatform(bdist_wheel):
    """A wheel for any Python 3; for one platform where it holds the library."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, its binary interface, platform."""
        if not self.get_finalized_command("build_py").kernels.exists():
            return super().get_tag()
        self.root_is_pure = False
        return "py3", "none", OTHER or super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithKernels, "bdist_wheel": WheelForPlatform})
