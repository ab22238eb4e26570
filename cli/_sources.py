"""Which framework a model is of: told by looking at a path or at an object's classes.

Owns the endings of files and the names of packages. The one decision: nothing is imported to find
out. An object of a framework can only be there when its framework is.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import click

from tfx.cli._errors import OperationError

Framework: TypeAlias = Literal[
    "jax", "keras", "onnx", "pickle", "safetensors", "sklearn", "tensorflow", "torch"
]

_ENDINGS: dict[str, Framework] = {
    ".joblib": "pickle",
    ".keras": "keras",
    ".onnx": "onnx",
    ".pickle": "pickle",
    ".pkl": "pickle",
    ".pt2": "torch",
    ".safetensors": "safetensors",
}
# Files that hold no program, or one that nobody can read without the code it was made by.
_REFUSED = {
    ".bin": "a file of torch weights has no model in it",
    ".ckpt": "a checkpoint has no model in it",
    ".h5": "HDF5 files of Keras are of its old format: load it and save it as .keras",
    ".pb": "a SavedModel is a folder: give the folder of saved_model.pb",
    ".pt": "a file of torch.save is a pickle of objects or weights, not a program",
    ".pth": "a file of torch.save is a pickle of objects or weights, not a program",
    ".tflite": "TensorFlow Lite has no way back to a model",
}
_MODEL_OF = {
    "equinox": "jax",
    "flax": "jax",
    "jax": "jax",
    "jaxlib": "jax",
    "keras": "keras",
    "lightgbm": "sklearn",
    "onnx": "onnx",
    "sklearn": "sklearn",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "xgboost": "sklearn",
}
SOURCE_FORM = (
    "MODULE:OBJECT, FILE.py:OBJECT, a file that ends in .onnx, .pt2, .keras, .safetensors, .joblib "
    "or .pkl, or the folder of a SavedModel"
)


@dataclass(frozen=True)
class Source:
    """A model that was found.

    Attributes:
        framework: Whose it is; None: one of tfx's own objects, or what nobody knows.
        model: The object, or the path of a file that its exporter reads.
        variables: The parameters beside it, of frameworks that keep them apart.
    """

    framework: Framework | None
    model: Any
    variables: Any = None


def framework_of_path(source: str) -> Framework | None:
    """The framework of a file or folder; None for ``MODULE:OBJECT``.

    Raises:
        OperationError: a file or folder that no exporter reads.
    """
    if os.path.isdir(source):
        if os.path.isfile(os.path.join(source, "saved_model.pb")):
            return "tensorflow"
        if os.path.isfile(os.path.join(source, "bundle.pb")):
            raise OperationError(
                f"{source} is a bundle already; tfx convert makes another one of it, tfx freeze "
                "lone .onnx files"
            )
        raise OperationError(f"{source} is a folder without saved_model.pb, expected {SOURCE_FORM}")
    ending = os.path.splitext(source)[1].lower()
    if ":" in source and not os.path.exists(source):
        return None
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if ending in _REFUSED:
        raise OperationError(
            f"{source}: {_REFUSED[ending]}; give the object that makes the model, FILE.py:OBJECT"
        )
    return None


def source_of_object(found: Any) -> Source:
    """The framework of an object, or of a pair of a JAX model and its parameters."""
    if isinstance(found, tuple) and len(found) == 2:
        model, variables = found
        if framework_of_object(model) == "jax" or (callable(model) and _has_arrays(variables)):
            return Source("jax", model, variables)
    return Source(framework_of_object(found), found)


def framework_of_object(found: Any) -> Framework | None:
    """The framework of an object; None: tfx's own, or nobody's."""
    packages = [kind.__module__.partition(".")[0] for kind in type(found).__mro__]
    if "keras" in packages and _keras_backend() == "tfx":
        return None  # an object of tfx, with functions of its own
    for package in packages:
        if package == "tfx":
            return None
        if package in _MODEL_OF:
            framework: Any = _MODEL_OF[package]
            return framework if package != "torch" or _is_torch_model(found) else None
    return None


def _keras_backend() -> str:
    keras = sys.modules.get("keras")
    return "" if keras is None else str(keras.backend.backend())


def _is_torch_model(found: Any) -> bool:
    return hasattr(found, "named_parameters") or hasattr(found, "graph_signature")


def _has_arrays(tree: Any) -> bool:
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    leaves = jax.tree_util.tree_leaves(tree)
    return bool(leaves) and all(isinstance(leaf, jax.Array) for leaf in leaves)


def unpickle(path: str, *, allowed: bool) -> Any:
    """The object of a pickle or joblib file.

    Raises:
        OperationError: it is not allowed, or it cannot be read.
    """
    if not allowed:
        raise OperationError(
            f"{path} is a pickle: opening it runs whatever code its author put in. If you trust "
            "the file: --allow-pickle"
        )
    if not os.path.isfile(path):
        raise click.UsageError(f"{path}: there is no such file")
    sys.path.insert(0, os.getcwd())
    try:
        if path.lower().endswith(".joblib"):
            return importlib.import_module("joblib").load(path)
        import pickle

        with open(path, "rb") as file:
            return pickle.load(file)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = _MODEL_OF.get(package, "sklearn" if package == "joblib" else "")
        hint = f": pip install 'tfx-onnx[{extra}]'" if extra else "; run this where it is installed"
        raise OperationError(f"{path} needs the package {package}{hint}") from error
    except Exception as error:  # of whatever the file makes
        text = " ".join(str(error).split())[:300].rstrip(".")
        raise OperationError(
            f"{path} cannot be read: {type(error).__name__}: {text}; it may be of other versions "
            "of its packages"
        ) from error
