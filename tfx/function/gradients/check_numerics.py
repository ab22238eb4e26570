"""``check_numerics``, which looks at the gradient that flows through it as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.framework.context import current
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.ops.common.arguments import tensor as as_tensor
from tfx.ops.debugging.all_finite import checked


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Raise if a tensor holds NaN or infinity; inside a function, whenever the function runs.

    Gradients flow through, and are checked likewise (not where a tape outside of a function
    differentiates a function with a check inside).

    Args:
        tensor: Tensor of a floating dtype or a value convertible to one.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Returns:
        The tensor.

    Raises:
        InvalidArgumentError: it does; or the dtype is not floating.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.check_numerics(tf.constant([1.0]), "weights").numpy()
        array([1.], dtype=float32)
    """
    given = as_tensor(tensor)
    context = current()
    if context.graph is None and not context.tapes:
        return checked(given, message)
    in_gradient = f"Not a number (NaN) or infinity (Inf) values detected in gradient. {message}"

    @custom_gradient
    def passed(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return checked(x, message), lambda dy: checked(dy, in_gradient)

    result: Tensor = passed(given)
    return result
