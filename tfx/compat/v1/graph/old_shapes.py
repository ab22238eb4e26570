"""The switch that makes shapes give a ``Dimension`` for each dimension, as TensorFlow 1 has them.

It replaces the methods of ``TensorShape`` that users see, so programs that never call it pay
nothing. Code of this library goes on to see integers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, SupportsIndex

from tfx.core.dimension import Dimension
from tfx.core.shapes import TensorShape


def _inside() -> bool:
    """True if code of this library asks: it needs integers, and None for an unknown size.

    ``autograph`` asks for the user, whose ``list(x.shape)`` it calls.
    """
    module: str = sys._getframe(2).f_globals.get("__name__", "")
    return module.startswith("tfx.") and not module.startswith("tfx.autograph")


class _Old:
    """Replacements of the methods of ``TensorShape`` while its dimensions are ``Dimension``s."""

    def __getitem__(self: Any, key: SupportsIndex | slice) -> Any:
        if _inside():
            return _plain["__getitem__"](self, key)
        if isinstance(key, slice) or self.rank is not None:
            found = _plain["__getitem__"](self, key)
            return found if isinstance(key, slice) else Dimension(found)
        return Dimension(None)

    def __iter__(self: Any) -> Iterator[Any]:
        if _inside():
            return iter(_plain["__iter__"](self))
        return iter([Dimension(dim) for dim in _plain["__iter__"](self)])

    def __repr__(self: Any) -> str:
        if self.rank is None:
            return "TensorShape(None)"
        return f"TensorShape({[Dimension(dim) for dim in self.as_list()]})"

    def __str__(self: Any) -> str:
        if self.rank is None:
            return "<unknown>"
        shown = ["?" if dim is None else str(dim) for dim in self.as_list()]
        return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


_NAMES = ("__getitem__", "__iter__", "__repr__", "__str__")
_plain: dict[str, Any] = {name: TensorShape.__dict__[name] for name in _NAMES}


def enable_v2_tensorshape() -> None:
    """Make shapes return integers and None, which is the default.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.enable_v2_tensorshape()
        >>> tf.TensorShape([2, None])[0]
        2
    """
    for name, method in _plain.items():
        setattr(TensorShape, name, method)


def disable_v2_tensorshape() -> None:
    """Let shapes give a ``Dimension`` for each dimension, as in TensorFlow 1.

    It is for the whole process, until ``enable_v2_tensorshape``.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.disable_v2_tensorshape()
        >>> tf.TensorShape([2, None])
        TensorShape([Dimension(2), Dimension(None)])
        >>> tf.compat.v1.enable_v2_tensorshape()
    """
    for name in _NAMES:
        setattr(TensorShape, name, _Old.__dict__[name])
