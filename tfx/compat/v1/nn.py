"""``tfx.compat.v1.nn``: neural networks with TensorFlow 1's arguments."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.ops.nn_ops": """
            avg_pool conv2d dropout l2_normalize log_softmax max_pool moments relu_layer
            sigmoid_cross_entropy_with_logits softmax softmax_cross_entropy_with_logits
            softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
            xw_plus_b
        """,
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ("tfx.nn",))


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
