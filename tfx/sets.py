"""``tfx.sets``: operations on the sets that rows of tensors are."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.sparse_ops.sets import difference as difference
from tfx.sparse_ops.sets import intersection as intersection
from tfx.sparse_ops.sets import size as size
from tfx.sparse_ops.sets import union as union

_complete(__name__)
