"""``x.name`` where that runs code of the user's: the getter of a property."""

from __future__ import annotations

import types
from typing import Any

from tfx.autograph.operators.calls import converted
from tfx.autograph.operators.exclusions import is_convertible
from tfx.framework.tensor import Tensor

_PLAIN = (Tensor, types.ModuleType, type)


def attribute(owner: Any, name: str) -> Any:
    """``owner.name``; if that is a property, its getter runs converted."""
    cls = type(owner)
    getting: Any = cls.__getattribute__
    if isinstance(owner, _PLAIN) or getting is not object.__getattribute__:
        return getattr(owner, name)
    for base in cls.__mro__:
        found = base.__dict__.get(name)
        if found is not None:
            break
    else:
        return getattr(owner, name)
    getter = found.fget if type(found) is property else None
    if type(getter) is not types.FunctionType or not is_convertible(getter):
        return getattr(owner, name)
    try:
        return converted(getter)(owner)
    except AttributeError:
        other = getattr(cls, "__getattr__", None)
        if other is None:
            raise
        return other(owner, name)
