"""``tfx.ragged``: ragged tensors from lists, ranges and row numbers."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ragged_ops.construction import constant as constant
from tfx.ragged_ops.construction import map_flat_values as map_flat_values
from tfx.ragged_ops.construction import range as _range
from tfx.ragged_ops.construction import row_splits_to_segment_ids as row_splits_to_segment_ids
from tfx.ragged_ops.construction import segment_ids_to_row_splits as segment_ids_to_row_splits
from tfx.ragged_ops.construction import stack as stack
from tfx.ragged_ops.construction import stack_dynamic_partitions as stack_dynamic_partitions
from tfx.ragged_ops.cross import cross as cross
from tfx.ragged_ops.cross import cross_hashed as cross_hashed
from tfx.ragged_ops.masks import boolean_mask as boolean_mask

range = _range

_complete(__name__)
