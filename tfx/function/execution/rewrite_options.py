"""Process-wide options of the rewriting of graphs, as ``tf.config.optimizer`` sets them.

The decision: an option that has no meaning here is remembered and does nothing, one that TensorFlow
does not have is refused. Plans that exist stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx.core import dtypes

_NUMBERS = frozenset({"auto_parallel", "min_graph_nodes"})
_SWITCHES = frozenset(
    [
        "arithmetic_optimization",
        "auto_mixed_precision",
        "auto_mixed_precision_cpu",
        "auto_mixed_precision_mkl",
        "auto_mixed_precision_onednn_bfloat16",
        "constant_folding",
        "debug_stripper",
        "dependency_optimization",
        "disable_meta_optimizer",
        "disable_model_pruning",
        "function_optimization",
        "implementation_selector",
        "layout_optimizer",
        "loop_optimization",
        "pin_to_host_optimization",
        "remapping",
        "scoped_allocator_optimization",
        "shape_optimization",
        "use_plugin_optimizers",
    ]
)
_BFLOAT16 = ("auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision_mkl")

_options: dict[str, Any] = {}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Set options of the rewriting of graphs; those that are not named stay.

    Of TensorFlow's options these have a meaning here:

    - ``auto_mixed_precision``: plans for a GPU compute products, convolutions and what stands
      between them in float16; use a scaled loss for training.
    - ``auto_mixed_precision_onednn_bfloat16`` (formerly ``auto_mixed_precision_mkl``): plans for
      the CPU do so in bfloat16.
    - ``auto_mixed_precision_cpu``: plans for the CPU do so in float16, as a GPU would.

    Plans that were made already stay as they are, and so does what is saved. The CPU has no faster
    kernels for either.

    Args:
        options: Values by name.

    Raises:
        ValueError: an option that TensorFlow does not have.
        TypeError: a switch is not a bool.

    Example:
        >>> import tfx as tf
        >>> tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
        >>> tf.config.optimizer.get_experimental_options()["auto_mixed_precision"]
        True
        >>> tf.config.optimizer.set_experimental_options({"auto_mixed_precision": False})
    """
    for name, value in options.items():
        if name not in _SWITCHES and name not in _NUMBERS:
            known = ", ".join(sorted(_SWITCHES | _NUMBERS))
            raise ValueError(f"There is no option {name!r}; options are {known}.")
        if name in _SWITCHES and not isinstance(value, bool):
            raise TypeError(f"The option {name!r} is a bool; got {value!r}.")
    _options.update(options)


def get_experimental_options() -> dict[str, Any]:
    """Return the options that were set, by name."""
    return dict(_options)


def half_dtype(device: str) -> int | None:
    """The ONNX element type in which new plans for a device compute products; None: float32."""
    if not device.startswith("CPU"):
        return dtypes.float16.onnx if _options.get("auto_mixed_precision") else None
    if any(_options.get(name) for name in _BFLOAT16):
        return dtypes.bfloat16.onnx
    return dtypes.float16.onnx if _options.get("auto_mixed_precision_cpu") else None
