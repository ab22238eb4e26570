"""Device names and the execution providers that serve them.

Names follow TensorFlow (``"/device:GPU:0"``, ``"/GPU:0"``, ``"gpu"``, ``"/cpu:0"``); the canonical
short form used in keys is ``"CPU:0"`` or ``"GPU:1"``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import onnxruntime

from tfx.core.errors import InvalidArgumentError, NotFoundError

_NAME = re.compile(
    r"^(?:/job:\w+)?(?:/replica:\d+)?(?:/task:\d+)?/?(?:device:)?(?P<kind>[A-Za-z]+)(?::(?P<index>\d+))?$"
)
_PROVIDERS = {"CPU": "CPUExecutionProvider", "GPU": "CUDAExecutionProvider"}


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """A device that sessions can run on."""

    name: str
    device_type: str


def parse_device(name: str) -> str:
    """The canonical form (``"CPU:0"``) of a device name.

    Raises:
        InvalidArgumentError: not a device name, or a kind that does not exist.
    """
    match = _NAME.match(name)
    kind = match["kind"].upper() if match else ""
    kind = {"CUDA": "GPU"}.get(kind, kind)
    if match is None or kind not in _PROVIDERS:
        raise InvalidArgumentError(
            f"{name!r} is not a device name; expected one such as '/CPU:0' or '/GPU:0'."
        )
    return f"{kind}:{match['index'] or 0}"


def full_name(device: str) -> str:
    """TensorFlow's long spelling of a canonical device name."""
    return f"/job:localhost/replica:0/task:0/device:{device}"


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that sessions can be created on, CPU first.

    Args:
        device_type: ``"CPU"`` or ``"GPU"`` to list one kind only.
    """
    devices = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    devices += [
        PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in range(_cuda_device_count())
    ]
    return [d for d in devices if device_type is None or d.device_type == device_type.upper()]


def _cuda_device_count() -> int:
    """CUDA devices this process can really use (the providers list names CUDA without one)."""
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return 0
    try:
        devices = onnxruntime.get_ep_devices()
    except (AttributeError, RuntimeError):
        return 0
    return sum(1 for d in devices if "cuda" in d.ep_name.lower())


def providers_for(device: str) -> list[object]:
    """ONNX Runtime's provider list for a canonical device name.

    Raises:
        NotFoundError: the installed ONNX Runtime has no provider for the device.
    """
    kind, index = device.split(":")
    provider = _PROVIDERS[kind]
    if provider not in onnxruntime.get_available_providers():
        raise NotFoundError(
            f"Device '/{device}' was asked for, but the installed onnxruntime "
            f"{onnxruntime.__version__} has no {provider}; install it with "
            "`pip install 'onnxruntime-gpu[cuda,cudnn]'` (uninstall onnxruntime first) or use "
            "'/CPU:0'."
        )
    if kind == "CPU":
        return [provider]
    return [(provider, {"device_id": index}), "CPUExecutionProvider"]
