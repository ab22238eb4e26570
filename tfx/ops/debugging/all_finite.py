"""Raising where a tensor holds NaN or infinity: ``assert_all_finite``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.core.source import user_frame
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.graph.ir import HostCall
from tfx.ops.common.arguments import require_dtype, tensor
from tfx.ops.math.elementwise import is_inf, is_nan
from tfx.ops.math.reduction import reduce_any


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """Raise if a tensor holds NaN or infinity; inside a function, whenever the function runs.

    Args:
        x: Tensor of a floating dtype or a value convertible to one.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Returns:
        The tensor; gradients flow through.

    Raises:
        InvalidArgumentError: it does; or the dtype is not floating.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_all_finite([1.0, 2.0], "weights").numpy()
        array([1., 2.], dtype=float32)
    """
    return checked(tensor(x), message)


def checked(given: Tensor, message: str) -> Tensor:
    """The tensor after the check."""
    require_dtype(given, given.dtype.is_floating, "CheckNumerics", "a floating dtype")
    if current().graph is not None:
        _guard(given, message)
        return ox.Identity(given)
    array = np.asarray(given)
    _raise_for(bool(np.isinf(array).any()), bool(np.isnan(array).any()), message, "")
    return given


def _guard(x: Tensor, message: str) -> None:
    """Look at the tensor when the graph under construction runs."""
    source = user_frame()
    where = f" [{source.text()}]"

    def run(given: Sequence[EagerTensor]) -> None:
        infinite, nan = (bool(flag.view()) for flag in given)
        _raise_for(infinite, nan, message, where)

    with using(tapes=()):
        flags = [reduce_any(is_inf(x)), reduce_any(is_nan(x))]
    host_call(HostCall("check_numerics", run, message), flags)


def _raise_for(infinite: bool, nan: bool, message: str, where: str) -> None:
    if infinite or nan:
        found = " and ".join(["Inf"] * infinite + ["NaN"] * nan)
        raise InvalidArgumentError(
            f"{message} : Tensor had {found} values{where}", op="CheckNumerics"
        )
