"""Optimizers by name, and to and from plain values."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from tfx.core.mixins import class_name_of
from tfx.optimizers.adagrad import Adadelta, Adagrad
from tfx.optimizers.adam import Adam, Adamax, AdamW, Nadam
from tfx.optimizers.ftrl import Ftrl
from tfx.optimizers.momentum import SGD, Lion, RMSprop
from tfx.optimizers.optimizer import Optimizer

_OPTIMIZERS: dict[str, type[Optimizer]] = {
    cls.__name__.lower(): cls
    for cls in (Adadelta, Adagrad, Adam, AdamW, Adamax, Ftrl, Lion, Nadam, RMSprop, SGD)
}


def register(cls: type[Optimizer]) -> None:
    """Make a class of tfx's own known that builds on this module."""
    _OPTIMIZERS[cls.__name__.lower()] = cls


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """An optimizer's class and configuration as a dict of plain values, without its state."""
    return {"class_name": type(optimizer).__name__, "config": optimizer.get_config()}


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
) -> Optimizer:
    """The optimizer that ``serialize`` described.

    Args:
        config: ``{"class_name": ..., "config": ...}``; names of tfx's own in any case.
        custom_objects: Classes of optimizers and schedules that are not tfx's own, by name.

    Raises:
        ValueError: an unknown class.
    """
    custom = dict(custom_objects or {})
    name = class_name_of(config)
    cls = custom.get(name) or _OPTIMIZERS.get(name.lower())
    if cls is None:
        known = [*_OPTIMIZERS, *custom]
        close = difflib.get_close_matches(name.lower(), known, 1)
        raise ValueError(
            f"Unknown optimizer: {name!r}"
            + (f"; did you mean {close[0]!r}?" if close else "")
            + f" Expected one of {', '.join(known)}."
        )
    optimizer: Optimizer = cls.from_config(config["config"], custom)
    return optimizer


def get(identifier: Any) -> Optimizer | None:
    """An optimizer from its name, its configuration or itself.

    Args:
        identifier: Name (``"adam"``), dict as made by ``serialize``, ``Optimizer`` or None.

    Raises:
        ValueError: something else, or an unknown name.

    Example:
        >>> import tfx as tf
        >>> tf.optimizers.get("adam").name
        'adam'
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}")
