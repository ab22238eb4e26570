"""Public namespaces: which names they have, and what is said of a name that they do not have.

Must not know the namespaces themselves; the facade says which there are. The one decision: what is
said is only found out when somebody reads it, since programs ask with ``hasattr``, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

# Makes the names of all public namespaces known; the facade sets it.
_everywhere: Callable[[], Iterable[str]] = tuple


def search_with(everywhere: Callable[[], Iterable[str]]) -> None:
    """Set the modules to search for names that a namespace does not have.

    Args:
        everywhere: Returns the modules, the best known first.
    """
    global _everywhere
    _everywhere = everywhere


class MissingNameError(AttributeError):
    """A namespace does not have a name: what TensorFlow has, or what was meant.

    Args:
        module: The namespace.
        name: The name.
    """

    def __init__(self, module: str, name: str) -> None:
        super().__init__(module, name)

    def __str__(self) -> str:
        return explain(*self.args)


def complete(module: str, *submodules: str) -> None:
    """Give a namespace, at its end, ``__dir__`` and ``__getattr__``.

    Its names are those in ``__all__``, or else all that do not begin with an underscore and are
    neither modules nor from Python's own library.

    Args:
        module: The namespace: ``__name__``.
        submodules: Modules among its names.
    """
    place = vars(sys.modules[module])

    def missing(name: str) -> Any:
        raise MissingNameError(module, name)

    def names() -> list[str]:
        listed = place.get("__all__")
        if listed is not None:
            return sorted(listed)
        return sorted(
            name for name, value in place.items() if name in submodules or _is_public(name, value)
        )

    place.setdefault("__getattr__", missing)
    place["__dir__"] = names


def _is_public(name: str, value: Any) -> bool:
    if name.startswith("_") or name == "annotations" or type(value) is ModuleType:
        return False
    home = getattr(value, "__module__", None)
    return not isinstance(home, str) or home.partition(".")[0] not in sys.stdlib_module_names


class Namespace(ModuleType):
    """A module that is more than one: picklers know modules by their class, and this by its name.

    Plain, it is a public namespace that no file stands for.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)


def namespace(module: str, /, **members: Any) -> Any:
    """A namespace inside of another one.

    Args:
        module: Its name, ``"tfx.nn.experimental"``.
        **members: Its names.
    """
    made = Namespace(module)
    vars(made).update(members, __all__=sorted(members))
    sys.modules[module] = made  # so that it can be imported and is pickled by its name
    complete(module)
    return made


def names_of(module: ModuleType) -> list[str]:
    """The public names of a namespace."""
    return [name for name in dir(module) if not name.startswith("_")]


def explain(module: str, name: str) -> str:
    """Return the error message for a name that a namespace does not have."""
    text = f"module {module!r} has no attribute {name!r}"
    path = module.removeprefix("tfx").removeprefix(".")
    theirs = f"{path}.{name}" if path else name
    if name.startswith("_"):
        return text
    elsewhere = _elsewhere(module, name)
    if _tensorflow_has(path, name):
        advice = f"; see {elsewhere}" if elsewhere else _advice(theirs)
        return f"{text}: TensorFlow has tf.{theirs}, tfx does not have it (yet){advice}"
    if elsewhere:
        return f"{text}; it is {elsewhere}"
    import difflib

    known = names_of(sys.modules[module]) if module in sys.modules else []
    close = difflib.get_close_matches(name, known, 1)
    if close:
        return f"{text}; did you mean {close[0]!r}?"
    return f"{text}; it has {', '.join(known)}" if 0 < len(known) <= _FEW else text


_FEW = 12  # names that are worth to be listed


def _tensorflow_has(path: str, name: str) -> bool:
    from tfx.core.tensorflow_names import NAMES, SAME_IN_V2

    if path.startswith("compat.v2"):
        path = path.removeprefix("compat.v2").removeprefix(".")
    if name in NAMES.get(path, "").split():
        return True
    return path in SAME_IN_V2 and _tensorflow_has(SAME_IN_V2[path], name)


def _elsewhere(module: str, name: str) -> str | None:
    """Return the qualified name of `name` in another namespace, or None."""
    for other in _everywhere():
        if other not in (module, f"tfx.{module}") and name in names_of(sys.modules[other]):
            return f"{other}.{name}"
    return None


def _advice(name: str) -> str:
    """Return advice for replacing a TensorFlow name that tfx lacks, or an empty string."""
    parts = name.removeprefix("compat.v1.").split(".")
    for end in range(len(parts), 0, -1):
        found = _INSTEAD.get(".".join(parts[:end]))
        if found is not None:
            return f"; {found}"
    return ""


_LAYERS = "tfx.keras is Keras 3 itself, or build models of tfx.Module and tfx.nn"
_INSTEAD = {
    "layers": _LAYERS,
    "losses": "losses are in tfx.losses, which are Keras', and in tfx.nn",
    "metrics": "metrics are in tfx.metrics, which are Keras'",
    "estimator": _LAYERS,
    "lite": "a saved bundle is ONNX, which ONNX Runtime runs on phones, too",
    "quantization": "ONNX Runtime's tools quantize the models of a saved bundle",
    "raw_ops": "tfx.raw has the operators of ONNX, and the public functions are made of them",
    "tpu": "devices are those of ONNX Runtime: tfx.config.list_physical_devices()",
    "xla": "graphs are compiled by ONNX Runtime: tfx.function",
    "mlir": "graphs are ONNX: tfx.function(...).as_onnx()",
    "graph_util": "graphs are ONNX: tfx.function(...).as_onnx()",
    "audio": "Python's wave module and SciPy read sound files",
    "distribute": "there is one process with one replica",
    "sysconfig": "there is nothing to build against: graphs are plain ONNX",
}
