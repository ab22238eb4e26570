"""Signatures that functions show."""

from __future__ import annotations

import inspect
from typing import Any


class ShownSignature:
    """``__signature__`` of a class whose objects are called instead of a function.

    It is made when it is asked for; ``inspect.getfullargspec`` looks at nothing else.

    Args:
        attribute: Where an object has that function.
    """

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, instance: Any, owner: type | None = None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")  # the class has the one of its constructor
        try:
            return inspect.signature(getattr(instance, self._attribute))
        except ValueError as e:  # a function that has none
            raise AttributeError("__signature__") from e


def show_signature(function: Any, signature: inspect.Signature) -> None:
    """Set the signature that ``inspect.signature`` and ``help`` show for a function."""
    function.__signature__ = signature
