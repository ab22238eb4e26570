"""``tfx.sparse``: tensors most of which is zero."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.sparse_ops.arrangement import concat as concat
from tfx.sparse_ops.arrangement import expand_dims as expand_dims
from tfx.sparse_ops.arrangement import mask as mask
from tfx.sparse_ops.arrangement import reorder as reorder
from tfx.sparse_ops.arrangement import reset_shape as reset_shape
from tfx.sparse_ops.arrangement import reshape as reshape
from tfx.sparse_ops.arrangement import retain as retain
from tfx.sparse_ops.arrangement import slice as _slice
from tfx.sparse_ops.arrangement import split as split
from tfx.sparse_ops.arrangement import transpose as transpose
from tfx.sparse_ops.conversion import eye as eye
from tfx.sparse_ops.conversion import from_dense as from_dense
from tfx.sparse_ops.conversion import to_dense as to_dense
from tfx.sparse_ops.conversion import to_indicator as to_indicator
from tfx.sparse_ops.cross import cross as cross
from tfx.sparse_ops.cross import cross_hashed as cross_hashed
from tfx.sparse_ops.elementwise import add as add
from tfx.sparse_ops.elementwise import map_values as map_values
from tfx.sparse_ops.elementwise import maximum as maximum
from tfx.sparse_ops.elementwise import minimum as minimum
from tfx.sparse_ops.elementwise import softmax as softmax
from tfx.sparse_ops.matmul import sampled_addmm as sampled_addmm
from tfx.sparse_ops.matmul import sparse_dense_matmul as sparse_dense_matmul
from tfx.sparse_ops.reduction import reduce_max as reduce_max
from tfx.sparse_ops.reduction import reduce_sum as reduce_sum
from tfx.sparse_ops.rows import bincount as bincount
from tfx.sparse_ops.rows import fill_empty_rows as fill_empty_rows
from tfx.sparse_ops.rows import segment_mean as segment_mean
from tfx.sparse_ops.rows import segment_sqrt_n as segment_sqrt_n
from tfx.sparse_ops.rows import segment_sum as segment_sum
from tfx.sparse_ops.sparse_tensor import SparseTensor as SparseTensor

slice = _slice

_complete(__name__)
