"""What is asked of sparse tensors below the layer that has them."""

from __future__ import annotations

from typing import Any


def is_sparse(x: Any) -> bool:
    """True for a sparse tensor."""
    return getattr(x, "_is_tfx_sparse", False) is True
