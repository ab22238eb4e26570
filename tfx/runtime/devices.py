"""Device names, the devices there are, and the execution providers that serve them.

The canonical short form used in keys is ``"CPU:0"`` or ``"GPU:1"``: the numbers of *logical*
devices, which is what programs name. A CPU or GPU may be divided into several
(``logical_devices``).
"""

from __future__ import annotations

import functools
import logging

from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.runtime import cuda, logical_devices
from tfx.runtime.device_spec import DeviceSpec
from tfx.runtime.gpu_diagnosis import gpu_trouble
from tfx.runtime.logical_devices import PhysicalDevice

__all__ = [
    "DeviceSpec",
    "PhysicalDevice",
    "canonical_name",
    "full_name",
    "gpu_name",
    "list_physical_devices",
    "parse_device",
    "physical_gpu",
    "place",
    "providers_for",
    "require",
]

CUDA_PROVIDER = "CUDAExecutionProvider"
CPU_PROVIDER = "CPUExecutionProvider"
_KINDS = ("CPU", "GPU", "TPU")  # a program may ask for the last; there is none
_HERE = DeviceSpec("localhost", 0, 0)
_log = logging.getLogger("tfx")


def parse_device(name: str) -> str:
    """The canonical form (``"CPU:0"``) of a device name; the device need not exist.

    Raises:
        InvalidArgumentError: not a device name, or a kind that does not exist.
    """
    return canonical_name(DeviceSpec.from_string(name), name)


def canonical_name(spec: DeviceSpec, name: str) -> str:
    """The canonical form of a spec that names a kind of device.

    Args:
        spec: Kind and number; an open number is 0.
        name: How it was spelt, for the message.

    Raises:
        InvalidArgumentError: the kind is open or unknown, or the device is of another process.
    """
    for own, given in zip(_HERE._parts[:3], spec._parts[:3], strict=True):
        if given is not None and given != own:
            raise InvalidArgumentError(
                f"{name!r} is not a device of this process; there is {_HERE.to_string()} only. "
                f"{_existing()}"
            )
    if spec.device_type not in _KINDS:
        raise InvalidArgumentError(
            f"{name!r} is not a device name; expected one such as '/CPU:0' or '/GPU:0'. "
            f"{_existing()}"
        )
    return f"{spec.device_type}:{spec.device_index or 0}"


def full_name(device: str) -> str:
    """TensorFlow's long spelling of a canonical device name."""
    return f"/job:localhost/replica:0/task:0/device:{device}"


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that sessions can be created on, CPU first.

    Args:
        device_type: ``"CPU"`` or ``"GPU"`` to list one kind only.

    Example:
        >>> import tfx as tf
        >>> tf.config.list_physical_devices("CPU")
        [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    wanted = None if device_type is None else device_type.upper()
    found: list[PhysicalDevice] = []
    if wanted in (None, "CPU"):
        found.append(logical_devices.CPU)
    if wanted in (None, "GPU"):
        if gpu_trouble() is None:
            numbers = range(len(cuda.devices()))
            found += [PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in numbers]
        else:
            _tell_unused_gpus()
    return found


@functools.cache
def _tell_unused_gpus() -> None:
    """Warn once why existing GPUs are not listed."""
    for device in cuda.devices()[:1]:
        _log.warning("The GPU %s cannot be used: %s", device.name, gpu_trouble())


def require(device: str) -> None:
    """Make sure that a device exists.

    Args:
        device: Canonical device name.

    Raises:
        InvalidArgumentError: there is none; the message lists existing ones, or says why no GPU can
            be used.
    """
    kind, number = device.split(":")
    trouble = gpu_trouble() if kind == "GPU" else None
    if trouble is not None:
        raise InvalidArgumentError(f"Device '/{device}' was asked for, but {trouble}")
    if device != "CPU:0" and int(number) >= _count(kind):
        raise InvalidArgumentError(
            f"Could not satisfy device specification '/{device}': there is no such device. "
            f"{_existing()} One CPU or GPU becomes several with "
            f"tfx.config.set_logical_device_configuration{_fallback()}."
        )


def _fallback() -> str:
    """Advice for a device that is not there, where operations fail for want of it."""
    if logical_devices.soft_placement():
        return ""
    return "; tfx.config.set_soft_device_placement(True) lets operations fall back to '/CPU:0'"


def _count(kind: str) -> int:
    """How many logical devices of a kind there are."""
    return logical_devices.count(kind, list_physical_devices) if kind in ("CPU", "GPU") else 0


def place(device: str) -> str:
    """The device to use for one that was asked for: itself, or CPU:0 if that is allowed.

    Args:
        device: Canonical device name.

    Raises:
        InvalidArgumentError: see ``require``; only where falling back is not allowed.
    """
    logical_devices.settle()
    try:
        require(device)
    except InvalidArgumentError as e:
        if not logical_devices.soft_placement():
            raise
        logical_devices.tell_fallback(device, str(e))
        return "CPU:0"
    return device


def _existing() -> str:
    devices = [full_name(f"{kind}:{i}") for kind in ("CPU", "GPU") for i in range(_count(kind))]
    return f"All available devices: [{', '.join(devices)}]."


def providers_for(device: str, options: dict[str, str] | None = None) -> list[object]:
    """ONNX Runtime's provider list for a canonical device name.

    Args:
        device: Canonical device name.
        options: Options of the CUDA provider besides the device's own.

    Raises:
        NotFoundError: it is a GPU and none can be used; the message says why.
        InvalidArgumentError: it is a device of a kind that is nowhere.
    """
    if device.startswith("CPU"):
        return [CPU_PROVIDER]
    if not device.startswith("GPU"):
        require(device)
    trouble = gpu_trouble()
    if trouble is not None:
        raise NotFoundError(f"Device '/{device}' was asked for, but {trouble}")
    number, limit = _gpu_behind(device)
    settings = {"device_id": str(number), **logical_devices.cuda_options(limit), **(options or {})}
    return [(CUDA_PROVIDER, settings), CPU_PROVIDER]


def physical_gpu(device: str) -> int:
    """The number that CUDA gives to the GPU behind a canonical device name."""
    return _gpu_behind(device)[0]


def _gpu_behind(device: str) -> tuple[int, float | None]:
    number = int(device.split(":")[1])
    if not logical_devices.state.divisions and not logical_devices.state.visible:
        return number, None
    return logical_devices.gpu_behind(number, list_physical_devices)


def gpu_name(number: int) -> str:
    """The canonical name of (the first part of) the GPU to which CUDA gives a number."""
    if logical_devices.state.divisions or logical_devices.state.visible:
        wanted = f"/physical_device:GPU:{number}"
        parts = logical_devices.logical_devices("GPU", list_physical_devices)
        number = next((i for i, (d, _) in enumerate(parts) if d.name == wanted), number)
    return f"GPU:{number}"
