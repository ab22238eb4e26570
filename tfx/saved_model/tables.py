"""Lookup tables of a bundle as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.bundle.records import TableEntry
from tfx.core.errors import BundleError, OpError
from tfx.framework.module import Module
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable
from tfx.lookup_ops.mutable_tables import MutableHashTable
from tfx.lookup_ops.static_tables import StaticHashTable, StaticVocabularyTable
from tfx.lookup_ops.table_initializers import KeyValueTensorInitializer
from tfx.saved_model.objects import LoadedObject


class LoadedTable(MutableHashTable, LoadedObject):
    """A table over two variables of a bundle, which functions of the bundle look into, too."""

    def __init__(self) -> None:
        Module.__init__(self)  # the attributes are those that were saved

    def check(self, where: str) -> None:
        """Compare the attributes with what a table has.

        Raises:
            BundleError: there can be no such table.
        """
        parts = vars(self)
        keys, values = parts.get("table_keys"), parts.get("table_values")
        default, shape = parts.get("_default"), parts.get("_value_shape")
        fits = (
            isinstance(keys, Variable)
            and isinstance(values, Variable)
            and isinstance(default, EagerTensor)
            and parts.get("_key_dtype") is keys.dtype
            and parts.get("_value_dtype") is values.dtype is default.dtype
            and default.shape.as_list() == shape
            and keys.shape.is_compatible_with([None])
            and values.shape.is_compatible_with([None, *shape])
        )
        if not fits:
            raise BundleError(
                f"{where}: the parts of a table do not fit together, expected variables of keys "
                "and values and a default value; save the bundle again"
            )


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
