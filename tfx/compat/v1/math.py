"""``tfx.compat.v1.math``: mathematics with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.array_ops": "argmax argmin",
        "tfx.compat.v1.ops.nn_ops": "l2_normalize log_softmax softmax",
        "tfx.compat.v1.ops.argument_orders": "confusion_matrix count_nonzero in_top_k",
        "tfx.compat.v1.ops.math_ops": """
            reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
            reduce_sum
        """,
    },
    others=("tfx.math",),
)
