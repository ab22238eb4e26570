"""Initializers by name, and to and from plain values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

from tfx.core.mixins import class_name_of
from tfx.initializers.fixed import Constant, Identity, Ones, Zeros
from tfx.initializers.initializer import Initializer
from tfx.initializers.random import Orthogonal, RandomNormal, RandomUniform, TruncatedNormal
from tfx.initializers.scaling import (
    GlorotNormal,
    GlorotUniform,
    HeNormal,
    HeUniform,
    LecunNormal,
    LecunUniform,
    VarianceScaling,
)

_CLASSES: tuple[type[Initializer], ...] = (
    Constant, GlorotNormal, GlorotUniform, HeNormal, HeUniform, Identity, LecunNormal,
    LecunUniform, Ones, Orthogonal, RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling,
    Zeros,
)  # fmt: skip


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_BY_NAME: dict[str, type[Initializer]] = {
    name: cls for cls in _CLASSES for name in (cls.__name__, _snake_case(cls.__name__))
}


def serialize(initializer: Initializer) -> dict[str, Any]:
    """An initializer's class and arguments as a dict of plain values."""
    return {"class_name": type(initializer).__name__, "config": initializer.get_config()}


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
) -> Initializer:
    """The initializer that ``serialize`` described.

    Args:
        config: ``{"class_name": ..., "config": ...}``.
        custom_objects: Classes that are not tfx's own, by name.

    Raises:
        ValueError: an unknown class.
    """
    known: dict[str, Any] = {**_BY_NAME, **(custom_objects or {})}
    name = class_name_of(config)
    cls = known.get(name)
    if cls is None:
        close = difflib.get_close_matches(name, known, 1)
        raise ValueError(
            f"Could not interpret initializer identifier: {name!r}"
            + (f"; did you mean {close[0]!r}?" if close else "")
            + f" Expected one of {', '.join(c.__name__ for c in _CLASSES)}."
        )
    initializer: Initializer = cls.from_config(config.get("config", {}))
    return initializer


def get(identifier: Any) -> Callable[..., Any] | None:
    """An initializer from its name, its configuration, its class or itself.

    Args:
        identifier: Name (``"glorot_uniform"`` or ``"GlorotUniform"``), dict as made by
            ``serialize``, a class of initializers, any callable ``(shape, dtype)``, or None.

    Raises:
        ValueError: something else, or an unknown name.

    Example:
        >>> import tfx as tf
        >>> tf.initializers.get("he_normal")
        HeNormal(seed=None)
    """
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier})
    if isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    if identifier is None or callable(identifier):
        found: Callable[..., Any] | None = identifier
        return found
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")
