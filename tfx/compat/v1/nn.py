"""``tfx.compat.v1.nn``: neural networks with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.compat.name_table import namespace

__getattr__, __dir__ = namespace(
    __name__,
    {
        "tfx.compat.v1.ops.nn_ops": """
            avg_pool conv2d dropout l2_normalize log_softmax max_pool moments relu_layer
            sigmoid_cross_entropy_with_logits softmax softmax_cross_entropy_with_logits
            softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
            xw_plus_b
        """,
    },
    others=("tfx.nn",),
)
