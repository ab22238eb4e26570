"""How Keras 3 finds its backend here, until its releases look for outside backends themselves.

Keras chooses a backend by a chain of ``if backend() == "tensorflow": ... elif ...`` in a few of its
modules. A finder that stands before Python's own gives each of these chains one more arm when the
module is imported; nothing of Keras is written to or replaced on disk. Must not import Keras, nor
other packages of tfx: it is in place before either is wanted.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Final

NAME: Final = "tfx"
# The first and the last minor version of Keras that the tests have run with.
TESTED: Final = ((3, 15), (3, 15))

# What the arm for tfx does in each module that chooses.
_ARMS: Final = {
    "keras.src.backend": (
        "from tfx.keras_backend import *",
        "from tfx.keras_backend.variable import Variable as BackendVariable",
    ),
    "keras.src.layers.layer": ("from tfx.keras_backend.layer import TfxLayer as BackendLayer",),
    "keras.src.models.model": ("from tfx.keras_backend.trainer import TfxTrainer as Trainer",),
    "keras.src.export.saved_model": (
        "from tfx.keras_backend.export import TfxExportArchive as BackendSavedModelExportArchive",
    ),
    "keras.src.optimizers.optimizer": (
        "from tfx.keras_backend.optimizer import TfxOptimizer as BackendOptimizer",
    ),
}
_CHOOSES: Final = re.compile(r"\bbackend\(\) == ['\"]tensorflow['\"]")


class _Loader(SourceFileLoader):
    """Loads a module of Keras, whose chain of backends has an arm for tfx."""

    def get_code(self, fullname: str) -> CodeType | None:
        if fullname not in _ARMS:
            return super().get_code(fullname)
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        for place, statement in enumerate(tree.body):
            if isinstance(statement, ast.If) and _CHOOSES.search(ast.unparse(statement.test)):
                tree.body[place] = _with_arm(statement, _ARMS[fullname])
                break
        else:
            raise ImportError(
                f"{fullname} does not choose a backend in a way that tfx knows; this version of "
                f"Keras cannot run on tfx (tested: {tested_versions()})."
            )
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        finish = _FINISHES.get(module.__name__)
        if finish is not None:
            finish(module)


def _with_arm(chain: ast.If, arm: Sequence[str]) -> ast.If:
    """The chain of choices with one more in front."""
    source = ast.unparse(chain.test).replace("tensorflow", NAME)
    made = ast.parse(f"if {source}:\n    " + "\n    ".join(arm)).body[0]
    assert isinstance(made, ast.If)
    made.orelse = [chain]
    for node in ast.walk(made.test):
        ast.copy_location(node, chain.test)
    for node in made.body:
        ast.copy_location(node, chain)
    return ast.copy_location(made, chain)


class _Finder(MetaPathFinder):
    """Finds the modules of Keras that choose a backend, while the backend is tfx."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        known = fullname in _ARMS or fullname in _FINISHES
        if not known or _configured() != NAME:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        spec.loader = _Loader(fullname, spec.loader.path)
        return spec


def _configured() -> Any:
    """The backend that Keras is configured with, by its own account; None before it knows."""
    config = sys.modules.get("keras.src.backend.config")
    return config.backend() if config is not None else os.environ.get("KERAS_BACKEND")


def install() -> None:
    """Make ``import keras`` find tfx where the configuration names it; once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def import_keras() -> ModuleType:
    """Import Keras with the backend tfx.

    Returns:
        The package ``keras``.

    Raises:
        ImportError: Keras is not installed, or runs on another backend in this process.
    """
    install()
    if "keras.src.backend.config" not in sys.modules:
        os.environ["KERAS_BACKEND"] = NAME
    try:
        keras = importlib.import_module("keras")
    except ModuleNotFoundError as e:
        if e.name != "keras":
            raise
        raise ImportError(
            "tfx.keras needs Keras 3, which is not installed: pip install 'tfx-onnx[keras]'."
        ) from None
    if _configured() != NAME:
        raise ImportError(
            f"Keras was imported with the backend {_configured()!r}. Import tfx.keras before "
            f"keras, or set KERAS_BACKEND={NAME} in the environment."
        )
    _check_version(keras.__version__)
    return keras


def _check_version(version: str) -> None:
    """Warn about a version of Keras that nobody has tried."""
    minor = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not TESTED[0] <= minor <= TESTED[1]:
        warnings.warn(
            f"Keras {version} is another version than those that tfx was tested with "
            f"({tested_versions()}); should something fail, install one of them.",
            stacklevel=4,
        )


def tested_versions() -> str:
    """The range of versions of Keras that were tested, for messages."""
    low, high = (".".join(map(str, v)) for v in TESTED)
    return low if low == high else f"{low} to {high}"


def _let_models_export(module: ModuleType) -> None:
    """Give ``keras.Model.export`` the formats of tfx."""
    importlib.import_module("tfx.keras_backend.export").install(module.Model)


def _let_backends_switch(module: ModuleType) -> None:
    """Let ``DynamicBackend`` switch to tfx, too."""
    dynamic: Any = module.DynamicBackend
    set_backend, get = dynamic.set_backend, dynamic.__getattr__

    def set_any(self: Any, backend: str) -> None:
        if backend == NAME:
            self._backend = backend
        else:
            set_backend(self, backend)

    def get_any(self: Any, name: str) -> Any:
        if self._backend == NAME:
            return getattr(importlib.import_module("tfx.keras_backend"), name)
        return get(self, name)

    dynamic.set_backend, dynamic.__getattr__ = set_any, get_any


def _keep_64_bits(module: ModuleType) -> None:
    """Let float64 and int64 stay what they are, as they do with TensorFlow's backend."""
    module.BIT64_TO_BIT32_DTYPE.update(int64="int64", float64="float64")


# What is left to do when a module was executed.
_FINISHES: Final = {
    "keras.src.backend.common.dtypes": _keep_64_bits,
    "keras.src.models.model": _let_models_export,
    "keras.src.utils.backend_utils": _let_backends_switch,
}
