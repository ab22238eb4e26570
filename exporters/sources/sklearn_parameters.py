"""The fitted parameters of scikit-learn's estimators by name, whatever they are nested in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

# What gradient descent may change; everything else was found by other means.
_TRAINED = frozenset(("coef_", "coefs_", "intercept_", "intercepts_"))
# Lists of named parts, whose own name says nothing.
_PLAIN_LISTS = frozenset(("steps", "transformers_", "transformer_list", "named_estimators_"))
_MOST_DEPTH = 20


def fitted_parameters(model: Any) -> dict[str, Array]:
    """The floating-point arrays that fitting made, by name.

    Args:
        model: An estimator, a pipeline, or any composition of such.

    Returns:
        Arrays by path: ``"coef_"``, ``"coefs_.0"``, in a pipeline ``"scaler.mean_"``.
    """
    found: dict[str, Array] = {}
    _walk(model, "", found, set(), 0)
    return found


def is_trained(path: str) -> bool:
    """True if a parameter is one that gradient descent may change."""
    return any(part in _TRAINED for part in path.split(".")[-2:])


def stands_for(constant: str, path: str) -> bool:
    """True if a converter's name of a constant is that of a parameter, up to an ending."""
    names = [part for part in path.split(".") if not part.isdigit()]
    return bool(names) and constant.startswith(names[-1].rstrip("_").rstrip("s"))


def _walk(owner: Any, path: str, found: dict[str, Array], seen: set[int], depth: int) -> None:
    if id(owner) in seen or depth > _MOST_DEPTH:
        return
    seen.add(id(owner))
    for name, value in sorted(
        vars(owner).items(), key=lambda item: (item[0] not in _PLAIN_LISTS, item[0])
    ):
        if name in _PLAIN_LISTS or isinstance(value, list | tuple | dict) or _is_estimator(value):
            inner = path if name in _PLAIN_LISTS else f"{path}{name}."
            for part, item in _parts(value):
                if _is_estimator(item):
                    _walk(item, f"{inner}{part}." if part else inner, found, seen, depth + 1)
                elif name.endswith("_"):
                    _add(f"{inner}{part}", item, found)
        elif name.endswith("_") and not name.startswith("_"):
            _add(f"{path}{name}", value, found)


def _add(name: str, value: Any, found: dict[str, Array]) -> None:
    if isinstance(value, np.ndarray | np.floating | float):
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.size:
            found.setdefault(name, array)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The named or numbered parts of a list, dict, or of an object alone."""
    if isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if isinstance(item, tuple) and len(item) >= 2 and isinstance(item[0], str):
                yield item[0], item[1]
            else:
                yield str(number), item
    else:
        yield "", value


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)
