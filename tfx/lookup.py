"""``tfx.lookup``: tables from words to numbers and back."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.tables.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from tfx.tables.initializers import TextFileIndex as TextFileIndex
from tfx.tables.initializers import TextFileInitializer as TextFileInitializer
from tfx.tables.mutable import DenseHashTable as _DenseHashTable
from tfx.tables.mutable import MutableHashTable as _MutableHashTable
from tfx.tables.static import StaticHashTable as StaticHashTable
from tfx.tables.static import StaticVocabularyTable as StaticVocabularyTable

experimental = _namespace(
    "tfx.lookup.experimental", MutableHashTable=_MutableHashTable, DenseHashTable=_DenseHashTable
)

_complete(__name__, "experimental")
