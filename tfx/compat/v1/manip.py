"""``tfx.compat.v1.manip``: parts of tensors by other names."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": "gather_nd",
        "tfx.ops.array.reshape": "reshape",
        "tfx.ops.array.scatter": "scatter_nd",
        "tfx.ops.array.space_to_batch": """
            batch_to_space_nd=batch_to_space space_to_batch_nd=space_to_batch
        """,
        "tfx.ops.array.tile": "tile",
        "tfx.ops.array.transpose": "reverse roll",
    },
)
