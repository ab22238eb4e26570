"""``tf.config.experimental``: memory and facts of devices, and older places of other names."""

from __future__ import annotations

from tfx.config.devices import get_device_details as get_device_details
from tfx.config.devices import (
    get_logical_device_configuration as get_virtual_device_configuration,
)
from tfx.config.devices import get_memory_growth as get_memory_growth
from tfx.config.devices import get_memory_info as get_memory_info
from tfx.config.devices import get_memory_usage as get_memory_usage
from tfx.config.devices import get_visible_devices as get_visible_devices
from tfx.config.devices import list_logical_devices as list_logical_devices
from tfx.config.devices import reset_memory_stats as reset_memory_stats
from tfx.config.devices import (
    set_logical_device_configuration as set_virtual_device_configuration,
)
from tfx.config.devices import set_memory_growth as set_memory_growth
from tfx.config.devices import set_visible_devices as set_visible_devices
from tfx.core.namespaces import complete as _complete
from tfx.framework.apply import forget_gpu_kernels
from tfx.function.tracing.settings import function_trace_limit as get_function_trace_limit
from tfx.function.tracing.settings import set_function_trace_limit as set_function_trace_limit
from tfx.runtime import logical_devices
from tfx.runtime.devices import list_physical_devices as list_physical_devices
from tfx.runtime.logical_devices import LogicalDeviceConfiguration as VirtualDeviceConfiguration

__all__ = [
    "VirtualDeviceConfiguration",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_function_trace_limit",
    "get_memory_growth",
    "get_memory_info",
    "get_memory_usage",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "reset_memory_stats",
    "set_function_trace_limit",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]


def enable_op_determinism() -> None:
    """Use only kernels that give the same bits in every run, in what is compiled from here on.

    Example:
        >>> import tfx as tf
        >>> tf.config.experimental.enable_op_determinism()
    """
    logical_devices.state.deterministic = True


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Let GPUs round float32 products to TensorFloat-32.

    It counts for all operations, and for functions that have not been called yet: a compiled one
    stays as it is.

    Args:
        enabled: Whether they may, as they do at first.

    Example:
        >>> import tfx as tf
        >>> tf.config.experimental.enable_tensor_float_32_execution(True)
        >>> tf.config.experimental.tensor_float_32_execution_enabled()
        True
    """
    if logical_devices.state.tf32 != bool(enabled):
        logical_devices.state.tf32 = bool(enabled)
        forget_gpu_kernels()


def tensor_float_32_execution_enabled() -> bool:
    """True if GPUs may round float32 products to TensorFloat-32."""
    return logical_devices.state.tf32


def get_synchronous_execution() -> bool:
    """Always True: an operation is done when its call returns."""
    return True


def set_synchronous_execution(enable: bool | None) -> None:
    """Accepted for compatibility: an operation is done when its call returns.

    Args:
        enable: True or None.

    Raises:
        ValueError: False was asked for, which there is not.
    """
    if enable is False:
        raise ValueError("Operations are always synchronous here; pass True or None.")


_complete(__name__)
