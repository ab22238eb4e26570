"""``DeviceSpec``: a device name taken apart, which may leave parts open.

Names follow TensorFlow: ``"/job:localhost/replica:0/task:0/device:GPU:1"``, ``"/GPU:1"``,
``"gpu"``, ``"CPU:*"``. Scopes merge specs: what the inner one leaves open, the outer one says.
"""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError

_SHORT_KINDS = {"CPU": "CPU", "GPU": "GPU", "TPU": "TPU", "CUDA": "GPU"}
_NUMBERED = ("replica", "task")


class DeviceSpec:
    """Job, replica, task, kind and number of a device; None where it is left open.

    Args:
        job: Name of the job; there is one, ``"localhost"``.
        replica: Number of the replica; there is one, 0.
        task: Number of the task; there is one, 0.
        device_type: ``"CPU"`` or ``"GPU"``, in upper or lower case.
        device_index: Number of the device among those of its kind.

    Example:
        >>> import tfx as tf
        >>> inner = tf.DeviceSpec(device_type="GPU")
        >>> tf.DeviceSpec.from_string("/CPU:1").make_merged_spec(inner).to_string()
        '/device:GPU:1'
    """

    __slots__ = ("_parts",)

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._parts = (
            None if job is None else str(job),
            None if replica is None else int(replica),
            None if task is None else int(task),
            None if device_type is None else device_type.upper(),
            None if device_index is None else int(device_index),
        )

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """The spec that a name spells.

        Args:
            spec: Parts in any order, each after a slash (the first one may be left out):
                ``job:x``, ``replica:0``, ``task:0``, ``device:CPU:0``, ``cpu``, ``GPU:*``.

        Raises:
            InvalidArgumentError: it is no device name; a ``ValueError``, as in TensorFlow.
        """
        found: dict[str, Any] = {}
        for part in spec.split("/"):
            if part:
                _read_part(part.split(":"), spec, found)
        return cls(**found)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Same as ``from_string``."""
        return DeviceSpec.from_string(spec)

    @property
    def job(self) -> str | None:
        """Name of the job."""
        return self._parts[0]

    @property
    def replica(self) -> int | None:
        """Number of the replica."""
        return self._parts[1]

    @property
    def task(self) -> int | None:
        """Number of the task."""
        return self._parts[2]

    @property
    def device_type(self) -> str | None:
        """Kind of device, in upper case."""
        return self._parts[3]

    @property
    def device_index(self) -> int | None:
        """Number of the device."""
        return self._parts[4]

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """This spec with those parts replaced that ``dev`` does not leave open."""
        return DeviceSpec(
            *(old if new is None else new for old, new in zip(self._parts, dev._parts, strict=True))  # type: ignore[arg-type]
        )

    def replace(self, **parts: Any) -> DeviceSpec:
        """A copy with some parts changed; the parts are named as the constructor's arguments."""
        names = ("job", "replica", "task", "device_type", "device_index")
        return DeviceSpec(**{**dict(zip(names, self._parts, strict=True)), **parts})

    def to_string(self) -> str:
        """The name, in TensorFlow's long spelling without the parts that are open."""
        job, replica, task, kind, index = self._parts
        text = "" if job is None else f"/job:{job}"
        text += "" if replica is None else f"/replica:{replica}"
        text += "" if task is None else f"/task:{task}"
        if kind is not None:
            text += f"/device:{kind}:{'*' if index is None else index}"
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        job, replica, task, kind, index = self._parts
        return (
            f"<DeviceSpec(job={job}, replica={replica}, task={task}, device_type={kind}, "
            f"device_index={index})>"
        )


def _read_part(words: list[str], spec: str, found: dict[str, Any]) -> None:
    """Add to ``found`` what one part of a name says."""
    head = words[0]
    if head == "device" and len(words) == 3:
        words = words[1:]
        kind: str | None = words[0].upper()
    else:
        kind = _SHORT_KINDS.get(head.upper())
    if kind is not None and len(words) <= 2:
        if "device_type" in found:
            raise _refusal(spec, "it names two devices")
        found["device_type"] = _SHORT_KINDS.get(kind, kind)
        if len(words) == 2 and words[1] != "*":
            found["device_index"] = _number(words[1], spec)
    elif head == "job" and len(words) == 2:
        found["job"] = words[1]
    elif head in _NUMBERED and len(words) == 2:
        found[head] = _number(words[1], spec)
    else:
        raise _refusal(spec, f"{':'.join(words)!r} is no part of one")


def _number(text: str, spec: str) -> int:
    if not text.isdigit():
        raise _refusal(spec, f"{text!r} is not a number")
    return int(text)


def _refusal(spec: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{spec!r} is not a device name; expected one such as '/CPU:0' or '/GPU:0' ({reason})."
    )
