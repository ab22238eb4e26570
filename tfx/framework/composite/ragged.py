"""What is asked of ragged tensors below the layer that has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def is_ragged(x: Any) -> bool:
    """True for a ragged tensor."""
    return getattr(x, "_is_tfx_ragged", False) is True


def of_flat_values(function: Callable[..., Any], x: Any, *args: Any) -> Any:
    """What a function makes of the values of a ragged tensor, in the same rows."""
    return x.with_flat_values(function(x.flat_values, *args))
