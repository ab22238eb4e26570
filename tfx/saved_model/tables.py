"""Lookup tables of a bundle as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.bundle.records import TableEntry
from tfx.core.errors import BundleError, OpError
from tfx.framework.tensor import EagerTensor
from tfx.tables.initializers import KeyValueTensorInitializer
from tfx.tables.mutable import MutableHashTable
from tfx.tables.static import StaticHashTable, StaticVocabularyTable


def table_of(entry: TableEntry, constant: Callable[[int], EagerTensor]) -> Any:
    """Make a table from its record.

    Args:
        entry: The record.
        constant: Gives a constant of the manifest.

    Raises:
        BundleError: there can be no such table.
    """
    keys, values = constant(entry.keys), constant(entry.values)
    default = None if entry.default_value is None else constant(entry.default_value)
    try:
        if entry.is_mutable:
            if default is None:
                raise ValueError("it has no default value")
            table = MutableHashTable(keys.dtype, values.dtype, default, entry.name)
            table.insert(keys, values)
            return table
        content = KeyValueTensorInitializer(keys, values)
        if entry.oov_buckets:
            return StaticVocabularyTable(content, entry.oov_buckets, name=entry.name)
        return StaticHashTable(content, default, name=entry.name)
    except (OpError, TypeError, ValueError) as e:
        raise BundleError(
            f"table {entry.name!r} cannot be made of its keys and values: {e}; save the bundle "
            "again"
        ) from e
