"""``tf.config``'s names about devices, in terms of the devices that sessions can be made on."""

from __future__ import annotations

from dataclasses import dataclass

from tfx.runtime.devices import PhysicalDevice, list_physical_devices


@dataclass(frozen=True, slots=True)
class LogicalDevice:
    """A device as ``tf.device`` names it; there is one for each physical device."""

    name: str
    device_type: str


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that ``tf.device`` takes, CPU first.

    Args:
        device_type: ``"CPU"`` or ``"GPU"`` to list one kind only.

    Example:
        >>> import tfx as tf
        >>> tf.config.list_logical_devices("CPU")
        [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    return [
        LogicalDevice(d.name.replace("/physical_device:", "/device:"), d.device_type)
        for d in list_physical_devices(device_type)
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that tfx may use: all of them.

    Args:
        device_type: ``"CPU"`` or ``"GPU"`` to list one kind only.
    """
    return list_physical_devices(device_type)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Accepted for compatibility: a GPU's memory is taken as it is needed.

    Args:
        device: A GPU.
        enable: Accepted for compatibility.

    Raises:
        ValueError: another kind of device.
    """
    if device.device_type != "GPU":
        raise ValueError(
            f"Cannot set memory growth on non-GPU devices; got {device!r}. Pass one of "
            "tfx.config.list_physical_devices('GPU')."
        )
