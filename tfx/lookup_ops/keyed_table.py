"""``KeyedTable``: what tables have in common, whether they change or not."""

from __future__ import annotations

from typing import Any

from tfx.core.dtypes import DType
from tfx.framework.tensor import Tensor


class KeyedTable:
    """Base class: override ``lookup``."""

    _key_dtype: DType
    _value_dtype: DType

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    def lookup(self, keys: Any) -> Tensor:
        """The values of keys."""
        raise NotImplementedError

    def __getitem__(self, keys: Any) -> Tensor:
        """Look keys up; see ``lookup``."""
        return self.lookup(keys)
