"""``IndexedSlices``: a few rows of a larger tensor."""

from __future__ import annotations

from typing import Any


class IndexedSlices:
    """``values[i]`` belongs to row ``indices[i]`` of a dense tensor; repeated rows add up.

    Args:
        values: ``[n, ...]``.
        indices: ``[n]`` integers.
        dense_shape: Shape of the dense tensor, if known.
    """

    __slots__ = ("dense_shape", "indices", "values")
    # Arguments and results of traced functions are taken apart; tf.nest takes it for a leaf.
    _tfx_fields = ("values", "indices", "dense_shape")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self) -> Any:
        """Element type of the values."""
        return self.values.dtype

    def __repr__(self) -> str:
        return f"IndexedSlices(values={self.values!r}, indices={self.indices!r})"
