"""``tfx.lookup``: tables from words to numbers and back."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.lookup_ops.mutable_tables import DenseHashTable as _DenseHashTable
from tfx.lookup_ops.mutable_tables import MutableHashTable as _MutableHashTable
from tfx.lookup_ops.static_tables import StaticHashTable as StaticHashTable
from tfx.lookup_ops.static_tables import StaticVocabularyTable as StaticVocabularyTable
from tfx.lookup_ops.table_initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from tfx.lookup_ops.table_initializers import TextFileIndex as TextFileIndex
from tfx.lookup_ops.table_initializers import TextFileInitializer as TextFileInitializer

experimental = _namespace(
    "tfx.lookup.experimental", MutableHashTable=_MutableHashTable, DenseHashTable=_DenseHashTable
)

_complete(__name__, "experimental")
