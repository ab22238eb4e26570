"""``tfx.compat.v1.strings``: texts with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": """
            length=string_length reduce_join substr
            to_hash_bucket=string_to_hash_bucket to_number=string_to_number
        """,
        "tfx.compat.v1.ops.sparse_functions": "split=strings_split",
    },
    others=("tfx.strings",),
)
