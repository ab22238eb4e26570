"""``tf.nest``: nested structures."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.nest import assert_same_structure as assert_same_structure
from tfx.core.nest import flatten as flatten
from tfx.core.nest import flatten_with_path as flatten_with_path
from tfx.core.nest import is_nested as is_nested
from tfx.core.nest import map_structure as map_structure
from tfx.core.nest import pack_sequence_as as pack_sequence_as

_complete(__name__)
