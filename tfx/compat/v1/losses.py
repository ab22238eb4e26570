"""``tfx.compat.v1.losses``: losses that are collected."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.training.loss_functions": """
            Reduction absolute_difference add_loss compute_weighted_loss get_losses
            get_regularization_loss get_regularization_losses get_total_loss log_loss
            mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
            sparse_softmax_cross_entropy
        """,
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ())


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
