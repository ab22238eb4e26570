"""What is done by Python and not by a kernel: printing, and checks of contents.

Eagerly the contents are there. While a function is traced they are there only if they do not depend
on what the function will be called with; otherwise such an operation is refused, because a graph of
ONNX operators cannot carry it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.core.source import user_frame
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.static_value import get_static_value


def contents_of(tensors: Sequence[Tensor], what: str, instead: str) -> list[np.ndarray[Any, Any]]:
    """The contents of tensors as read-only arrays.

    Args:
        tensors: Tensors.
        what: The operation, for the message.
        instead: What to do instead inside a function.

    Raises:
        OperatorNotAllowedInGraphError: a tensor of a function being traced whose contents will be
            known when the function runs.
    """
    arrays = []
    for tensor in tensors:
        value = tensor.view() if isinstance(tensor, EagerTensor) else get_static_value(tensor)
        if value is None:
            raise refusal(tensor, what, instead)
        arrays.append(np.asarray(value))
    return arrays


def refusal(tensor: Tensor, what: str, instead: str) -> OperatorNotAllowedInGraphError:
    """The error for an operation that needs what a traced tensor does not have yet."""
    return OperatorNotAllowedInGraphError(
        f"{what} of {tensor!r} is not possible inside a tfx.function ({user_frame().text()}): its "
        f"contents exist only when the function runs. {instead}"
    )
