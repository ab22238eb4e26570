"""``tfx.lookup``: tables from words to numbers and back."""

from __future__ import annotations

from types import SimpleNamespace

from tfx.tables.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from tfx.tables.initializers import TextFileIndex as TextFileIndex
from tfx.tables.initializers import TextFileInitializer as TextFileInitializer
from tfx.tables.mutable import DenseHashTable as _DenseHashTable
from tfx.tables.mutable import MutableHashTable as _MutableHashTable
from tfx.tables.static import StaticHashTable as StaticHashTable
from tfx.tables.static import StaticVocabularyTable as StaticVocabularyTable

experimental = SimpleNamespace(MutableHashTable=_MutableHashTable, DenseHashTable=_DenseHashTable)
