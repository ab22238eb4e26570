"""``tf.config``'s names about devices: what there is, what is used, and how it is divided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.runtime import cuda
from tfx.runtime import logical_devices as logical
from tfx.runtime.device_spec import DeviceSpec
from tfx.runtime.devices import (
    canonical_name,
    list_physical_devices,
    physical_gpu,
)
from tfx.runtime.logical_devices import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice

_KINDS = ("CPU", "GPU")


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that ``tf.device`` takes, CPU first; settles the configuration of devices.

    Args:
        device_type: ``"CPU"`` or ``"GPU"`` to list one kind only.

    Example:
        >>> import tfx as tf
        >>> tf.config.list_logical_devices("CPU")
        [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    logical.settle()
    return [
        LogicalDevice(f"/device:{kind}:{i}", kind)
        for kind in _kinds(device_type)
        for i in range(logical.count(kind, list_physical_devices))
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The physical devices that logical ones are made of.

    Args:
        device_type: ``"CPU"`` or ``"GPU"`` to list one kind only.

    Example:
        >>> import tfx as tf
        >>> tf.config.get_visible_devices("CPU")
        [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return [d for kind in _kinds(device_type) for d in logical.visible(kind, list_physical_devices)]


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Use these physical devices and no others; before the first operation.

    The CPU that operations run on without a device scope is there in any case.

    Args:
        devices: Some of ``list_physical_devices()``.
        device_type: Choose among devices of this kind and leave other kinds as they are.

    Raises:
        ValueError: a device that is not there, or not of ``device_type``.
        RuntimeError: operations have run, and these are other devices than before.

    Example:
        >>> import tfx as tf
        >>> tf.config.set_visible_devices(tf.config.get_visible_devices("CPU"), "CPU")
    """
    chosen = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    known = list_physical_devices(device_type)
    for device in chosen:
        if device not in known:
            raise ValueError(f"Unrecognized device: {device!r}. Expected some of {known}.")
    for kind in _kinds(device_type):
        of_kind = [d for d in chosen if d.device_type == kind]
        if of_kind != list(logical.visible(kind, list_physical_devices)):
            logical.set_visible(kind, of_kind)


def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """Return the logical devices that a physical one is divided into; None: it is not divided.

    Args:
        device: One of ``list_physical_devices()``.

    Raises:
        ValueError: there is no such device.

    Example:
        >>> import tfx as tf
        >>> tf.config.get_logical_device_configuration(tf.config.list_physical_devices("CPU")[0])
    """
    _require_known(device)
    found = logical.state.divisions.get(device)
    return None if found is None else list(found)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration] | None
) -> None:
    """Divide a physical device into several logical ones; before the first operation.

    Programs for several devices can be tried on one CPU so: its parts share memory and threads.

    Args:
        device: One of ``list_physical_devices()``.
        logical_devices: One entry for each part; a GPU's may limit its memory. None: undivided.

    Raises:
        ValueError: there is no such device, no part at all, or a CPU with a limit of memory.
        RuntimeError: operations have run, and this is another division than before.

    Example:
        >>> import subprocess, sys
        >>> program = '''
        ... import tfx as tf
        ... cpu = tf.config.list_physical_devices("CPU")[0]
        ... tf.config.set_logical_device_configuration(
        ...     cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        ... )
        ... with tf.device("/CPU:1"):
        ...     print(tf.constant(1.0).device)
        ... '''
        >>> print(subprocess.check_output([sys.executable, "-c", program], text=True).strip())
        /job:localhost/replica:0/task:0/device:CPU:1
    """
    _require_known(device)
    parts = None if logical_devices is None else list(logical_devices)
    if parts is not None:
        if not parts:
            raise ValueError(f"{device!r} cannot be divided into no parts; give at least one.")
        if device.device_type == "CPU" and any(p.memory_limit is not None for p in parts):
            raise ValueError("Setting memory limit on CPU virtual devices is not supported.")
        if (
            len(parts) > 1
            and device.device_type == "GPU"
            and None in [p.memory_limit for p in parts]
        ):
            raise ValueError(
                f"Each part of {device!r} needs a memory_limit (megabytes); got {parts}."
            )
    logical.divide(device, parts)


def set_soft_device_placement(enabled: bool) -> None:
    """Let operations whose device is not there run on the CPU, with one line in the log.

    On at first. Where it is off, what was meant for a GPU runs there or fails, and the error says
    what is missing.

    Args:
        enabled: Whether to fall back.

    Example:
        >>> import tfx as tf
        >>> tf.config.set_soft_device_placement(True)
        >>> tf.config.get_soft_device_placement()
        True
    """
    logical.state.soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """True if operations whose device is not there run on the CPU."""
    return logical.state.soft


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Facts about a physical device.

    Args:
        device: One of ``list_physical_devices()``.

    Returns:
        For a GPU ``device_name``, ``compute_capability`` (a pair) and, beyond TensorFlow,
        ``memory`` in bytes; for a CPU nothing.

    Example:
        >>> import tfx as tf
        >>> tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0])
        {}
    """
    _require_known(device)
    if device.device_type != "GPU":
        return {}
    found = cuda.devices()[int(device.name.rsplit(":", 1)[1])]
    return {
        "device_name": found.name,
        "compute_capability": found.compute_capability,
        "memory": found.memory,
    }


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Remembered; a GPU's memory is taken as it is needed in any case.

    Args:
        device: A GPU.
        enable: What ``get_memory_growth`` is to return.

    Raises:
        ValueError: another kind of device, or a divided one.
    """
    if device.device_type != "GPU":
        raise ValueError(
            f"Cannot set memory growth on non-GPU devices; got {device!r}. Pass one of "
            "tfx.config.list_physical_devices('GPU')."
        )
    _require_known(device)
    if device in logical.state.divisions:
        raise ValueError("Cannot set memory growth on device when virtual devices configured.")
    logical.state.growth[device] = bool(enable)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return the setting of ``set_memory_growth``; initially False.

    Args:
        device: One of ``list_physical_devices()``.

    Raises:
        ValueError: there is no such device.
    """
    _require_known(device)
    return logical.state.growth.get(device, False)


def get_memory_info(device: str) -> dict[str, int]:
    """Memory in use on a device.

    Args:
        device: Name of a logical device with its number, such as ``"GPU:0"``.

    Returns:
        ``current`` and ``peak`` bytes. Of a GPU they are what the driver counts for all programs,
        ``peak`` the largest number that this function saw since ``reset_memory_stats``. Of a CPU
        both are 0, as in TensorFlow.

    Raises:
        ValueError: no name of a device that is there.

    Example:
        >>> import tfx as tf
        >>> tf.config.experimental.get_memory_info("CPU:0")
        {'current': 0, 'peak': 0}
    """
    name = _existing(device)
    if name.startswith("CPU"):
        return {"current": 0, "peak": 0}
    number = physical_gpu(name)
    current = cuda.memory_in_use(number)[0]
    peak = logical.state.peaks[number] = max(current, logical.state.peaks.get(number, 0))
    return {"current": current, "peak": peak}


def get_memory_usage(device: str) -> int:
    """``get_memory_info(device)["current"]``."""
    return get_memory_info(device)["current"]


def reset_memory_stats(device: str) -> None:
    """Start measuring the peak again.

    Args:
        device: Name of a logical device with its number, such as ``"GPU:0"``.

    Raises:
        ValueError: no name of a device that is there.
    """
    name = _existing(device)
    if not name.startswith("CPU"):
        logical.state.peaks.pop(physical_gpu(name), None)


def _kinds(device_type: str | None) -> Sequence[str]:
    return _KINDS if device_type is None else [k for k in _KINDS if k == device_type.upper()]


def _require_known(device: PhysicalDevice) -> None:
    kind = getattr(device, "device_type", None)
    if device not in list_physical_devices(kind):
        raise ValueError(
            f"Unrecognized device: {device!r}. Expected one of {list_physical_devices()}."
        )


def _existing(device: str) -> str:
    """The canonical form of the full name of a device that is there."""
    spec = DeviceSpec.from_string(device)
    if spec.device_type is None or spec.device_index is None:
        raise ValueError(
            f"Failed parsing device name: {device!r}. Give a kind and a number, such as 'GPU:0'."
        )
    name = canonical_name(spec, device)
    if spec.device_index >= logical.count(spec.device_type, list_physical_devices):
        names = [d.name for d in list_logical_devices()]
        raise ValueError(f"No matching devices found for {device!r}; there are {names}.")
    return name
