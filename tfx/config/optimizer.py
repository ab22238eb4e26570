"""``tf.config.optimizer``: whether plans use the fused kernels, or half precision."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.function.execution.rewrite_options import (
    get_experimental_options as get_experimental_options,
)
from tfx.function.execution.rewrite_options import (
    set_experimental_options as set_experimental_options,
)
from tfx.kernels.library import state as _state
from tfx.kernels.library import usable_library as _usable_library

_CLUSTERS = "autoclustering"


def set_jit(enabled: bool | str) -> None:
    """Let plans run element-wise operators together, by the fused kernels, or stop that.

    Of functions that were given ``jit_compile``, that counts. Plans that exist stay as they are.

    Args:
        enabled: True or ``"autoclustering"``, as at the beginning; False for the operators one by
            one.

    Raises:
        ValueError: another string.

    Example:
        >>> import tfx as tf
        >>> tf.config.optimizer.set_jit(False)
        >>> tf.config.optimizer.get_jit()
        ''
        >>> tf.config.optimizer.set_jit(True)
    """
    if isinstance(enabled, str) and enabled not in ("", _CLUSTERS):
        raise ValueError(f"set_jit takes True, False or {_CLUSTERS!r}; got {enabled!r}.")
    _state.enabled = bool(enabled)


def get_jit() -> str:
    """Return ``"autoclustering"`` if plans use the fused kernels by themselves, else nothing.

    Also where the kernels were not built.
    """
    return _CLUSTERS if _usable_library() is not None else ""


_complete(__name__)
