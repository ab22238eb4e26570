"""``tfx.compat.v1.losses``: losses that are collected."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.training.loss_functions": """
            Reduction absolute_difference add_loss compute_weighted_loss get_losses
            get_regularization_loss get_regularization_losses get_total_loss log_loss
            mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
            sparse_softmax_cross_entropy
        """,
        "tfx.compat.v1.training.pair_losses": """
            cosine_distance hinge_loss huber_loss mean_pairwise_squared_error
        """,
    },
)
