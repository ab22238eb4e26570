"""The name under which Keras, once it looks for outside backends, finds the one of tfx.

``keras_tfx.src`` is ``tfx.keras_backend``, and ``keras_tfx.src.ops`` has its modules of operations:
the same objects, in the layout that such a backend has. Until then ``tfx/keras_hook.py`` does what
is needed, and this module has it in place in time: Python imports it when it starts, where the
environment says ``KERAS_BACKEND=tfx`` (``keras_tfx.pth``, which ``setup.py`` writes). So it imports
nothing of tfx before Keras is imported.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Makes this module a package: what is below it is not searched for on disk.
__path__: list[str] = []
_REAL = {f"{__name__}.src": "tfx.keras_backend", f"{__name__}.src.ops": "tfx.keras_backend"}


class _Aliases:
    """Finds the modules of the backend under the names of the layout."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith(f"{__name__}.src"):
            return ModuleSpec(fullname, self, is_package=True)
        if fullname == "keras" and os.environ.get("KERAS_BACKEND") == "tfx":
            importlib.import_module("tfx")  # with it comes its hook
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        package, _, name = module.__name__.rpartition(".")
        real = _REAL.get(module.__name__) or f"{_REAL[package]}.{name}"
        # What stands here is what the import gives.
        sys.modules[module.__name__] = importlib.import_module(real)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("tfx.core.version").VERSION
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.meta_path.insert(0, _Aliases())
