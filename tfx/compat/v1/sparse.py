"""``tfx.compat.v1.sparse``: sparse tensors with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": """
            add=sparse_add concat=sparse_concat reduce_max=sparse_reduce_max
            reduce_sum=sparse_reduce_sum segment_mean=sparse_segment_mean
            segment_sqrt_n=sparse_segment_sqrt_n segment_sum=sparse_segment_sum
        """,
        "tfx.compat.v1.ops.sparse_functions": """
            merge=sparse_merge placeholder=sparse_placeholder
            reduce_max_sparse=sparse_reduce_max_sparse reduce_sum_sparse=sparse_reduce_sum_sparse
            split=sparse_split
        """,
        "tfx.sparse_ops.matmul": "matmul=sparse_dense_matmul",
    },
    others=("tfx.sparse",),
)
