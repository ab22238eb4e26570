"""Logical devices: what programs name, made of physical ones by configuration.

One CPU can be divided into several, which share its memory and threads, and one GPU into several
with a limit of memory each. As in TensorFlow the configuration is settled when devices are first
used: after that it can be repeated but not changed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tfx.runtime import threads
from tfx.runtime.fork_safe_locks import fork_safe

_log = logging.getLogger("tfx")
_lock = fork_safe(threading.Lock())


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """A device of the machine.

    Attributes:
        name: Such as ``"/physical_device:GPU:0"``.
        device_type: ``"CPU"`` or ``"GPU"``.
    """

    name: str
    device_type: str


@dataclass(frozen=True, slots=True)
class LogicalDevice:
    """A device as ``tf.device`` names it.

    Attributes:
        name: Such as ``"/device:CPU:0"``.
        device_type: ``"CPU"`` or ``"GPU"``.
    """

    name: str
    device_type: str


@dataclass(frozen=True, slots=True)
class LogicalDeviceConfiguration:
    """The share of a physical device that a logical device may use.

    Attributes:
        memory_limit: Megabytes that each session's arena may grow to on a GPU; None: no limit.
        experimental_priority: Accepted for compatibility.
        experimental_device_ordinal: Accepted for compatibility.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
Lister = Callable[[str | None], list[PhysicalDevice]]


class State:
    """The process's configuration: one object, so that a test can put another in its place."""

    def __init__(self) -> None:
        self.settled = False  # devices were used: nothing changes any more
        self.divisions: dict[PhysicalDevice, tuple[LogicalDeviceConfiguration, ...]] = {}
        self.visible: dict[str, tuple[PhysicalDevice, ...]] = {}
        self.growth: dict[PhysicalDevice, bool] = {}
        self.peaks: dict[int, int] = {}  # bytes in use, by the number of the physical GPU
        self.soft = True
        self.tf32 = True
        self.deterministic = False
        self.told: set[str] = set()


state = State()


def visible(kind: str, physical: Lister) -> Sequence[PhysicalDevice]:
    """The physical devices of a kind that this process lets itself use."""
    chosen = state.visible.get(kind)
    return physical(kind) if chosen is None else chosen


def logical_devices(
    kind: str, physical: Lister
) -> list[tuple[PhysicalDevice, LogicalDeviceConfiguration]]:
    """The logical devices of a kind: the physical one and its share."""
    return [
        (device, part)
        for device in visible(kind, physical)
        for part in state.divisions.get(device, (LogicalDeviceConfiguration(),))
    ]


def count(kind: str, physical: Lister) -> int:
    """Return the number of logical devices of a kind."""
    if kind == "CPU" and not state.divisions and not state.visible:
        return 1
    return len(logical_devices(kind, physical))


def settle() -> None:
    """Devices are used from here on: their configuration cannot change any more."""
    state.settled = True


def is_settled() -> bool:
    """True if devices were used or listed, or a session exists."""
    return state.settled or threads.are_running()


def set_visible(kind: str, devices: Sequence[PhysicalDevice]) -> None:
    """Let the process use these devices of a kind and no others.

    Raises:
        RuntimeError: devices are in use and these are others.
    """
    with _lock:
        chosen = tuple(devices)
        if state.visible.get(kind) == chosen:
            return
        if is_settled():
            raise RuntimeError(
                "Visible devices cannot be modified after being initialized: call "
                "set_visible_devices before the first operation."
            )
        state.visible[kind] = chosen


def divide(device: PhysicalDevice, parts: Sequence[LogicalDeviceConfiguration] | None) -> None:
    """Divide a device.

    Raises:
        RuntimeError: devices are in use and this is another division.
    """
    with _lock:
        wanted = None if parts is None else tuple(parts)
        if state.divisions.get(device) == wanted:
            return
        if is_settled():
            raise RuntimeError(
                "Virtual devices cannot be modified after being initialized: call "
                "set_logical_device_configuration before the first operation."
            )
        if wanted is None:
            del state.divisions[device]
        else:
            state.divisions[device] = wanted


def soft_placement() -> bool:
    """True if operations whose device is not there run on CPU:0."""
    return state.soft


def tell_fallback(device: str, reason: str) -> None:
    """Log, once for each device, that CPU:0 takes its place."""
    with _lock:
        if device in state.told:
            return
        state.told.add(device)
    _log.warning(
        "'/CPU:0' takes the place of '/%s' (soft device placement is on): %s", device, reason
    )


def gpu_behind(number: int, physical: Lister) -> tuple[int, float | None]:
    """The number of the physical GPU behind a logical one, and its limit of memory in megabytes."""
    devices = logical_devices("GPU", physical)
    if number >= len(devices):
        return number, None
    device, part = devices[number]
    return int(device.name.rsplit(":", 1)[1]), part.memory_limit


def cuda_options(limit: float | None) -> dict[str, str]:
    """Options of the CUDA provider for a share of a GPU."""
    # Memory is taken as it is needed: a process has many sessions, and doubling would waste it.
    options = {
        "arena_extend_strategy": "kSameAsRequested",
        # Not the default, which tries every algorithm on each new shape before the first run.
        "cudnn_conv_algo_search": "HEURISTIC",
        "use_tf32": str(int(state.tf32)),
    }
    if limit is not None:
        options["gpu_mem_limit"] = str(int(limit * (1 << 20)))
    return options
