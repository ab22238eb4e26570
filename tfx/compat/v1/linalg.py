"""``tfx.compat.v1.linalg``: matrices with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": "norm",
        "tfx.compat.v1.ops.nn_ops": "l2_normalize",
        "tfx.ops.linalg.matmul": "transpose=matrix_transpose",
    },
    others=("tfx.linalg",),
)
