"""``enable_mixed_precision_graph_rewrite``: a scaled loss, and plans in float16."""

from __future__ import annotations

from tfx.framework.precision.dtype_policy import global_policy
from tfx.function.execution.rewrite_options import set_experimental_options
from tfx.optimizers.loss_scale import LossScale, as_loss_scale
from tfx.optimizers.loss_scale_optimizer import LossScaleOptimizer
from tfx.optimizers.optimizer import Optimizer

_OPTION = "auto_mixed_precision"


def enable_mixed_precision_graph_rewrite(
    opt: Optimizer, loss_scale: LossScale | float | str | None = "dynamic"
) -> Optimizer:
    """Let functions compute in float16 on GPUs, and train with a scaled loss.

    Plans that are made from now on compute products and convolutions of float32, and what stands
    between them, in float16 on GPUs; the program stays as it is. It must scale the loss by the
    optimizer that is returned, or call its ``minimize``. On the CPU nothing changes but that, as in
    TensorFlow; the option ``auto_mixed_precision_cpu`` of ``tf.config.optimizer`` tries there what
    a GPU would give.

    Args:
        opt: An optimizer.
        loss_scale: A number, ``"dynamic"`` or a loss scale; None does not scale.

    Returns:
        The optimizer in a ``LossScaleOptimizer``.

    Raises:
        TypeError: ``opt`` is no optimizer of tfx.
        ValueError: it scales the loss already; or the global policy is mixed, which does the same.

    Example:
        >>> import tfx as tf
        >>> optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(
        ...     tf.optimizers.SGD(0.1), loss_scale=128
        ... )
        >>> float(optimizer.loss_scale)
        128.0
        >>> tf.train.experimental.disable_mixed_precision_graph_rewrite()
    """
    policy = global_policy()
    if policy.is_mixed:
        raise ValueError(
            "The mixed precision graph rewrite cannot be enabled, because the global policy is "
            f"{policy.name!r}: modules of that policy compute in {policy.compute_dtype} already. "
            "Use one of the two; set_global_policy('float32') takes the policy back."
        )
    if not isinstance(opt, Optimizer):
        raise TypeError(
            f'"opt" must be an optimizer of tfx.optimizers; got {opt!r} of type '
            f"{type(opt).__name__}."
        )
    if isinstance(opt, LossScaleOptimizer):
        raise ValueError(f"{opt.name!r} is a LossScaleOptimizer already: pass the one inside.")
    scale = as_loss_scale(loss_scale)
    scaled = opt if scale is None else LossScaleOptimizer.with_loss_scale(opt, scale)
    set_experimental_options({_OPTION: True})
    return scaled


def disable_mixed_precision_graph_rewrite() -> None:
    """Make plans compute in float32 again; those that exist, and optimizers, stay as they are."""
    set_experimental_options({_OPTION: False})
