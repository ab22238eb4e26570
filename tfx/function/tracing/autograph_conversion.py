"""The Python function that a trace runs: with control flow converted, unless that is off.

Conversion happens when a function is traced, never when it is called; the package that does it is
imported with the first trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def traceable(function: Callable[..., Any], autograph: bool) -> Callable[..., Any]:
    """The function as it is traced.

    Args:
        function: The user's function, or a method bound weakly.
        autograph: Whether Python control flow on tensors becomes operations.
    """
    if not autograph:
        return function
    from tfx.autograph.operators.calls import entry
    from tfx.autograph.operators.tensor_lists import plain

    converted = entry(function)

    def traced(*args: Any, **kwargs: Any) -> Any:
        return plain(converted(*args, **kwargs))

    # Messages show the function that the user knows.
    traced.__qualname__ = getattr(function, "__qualname__", traced.__qualname__)
    return traced
