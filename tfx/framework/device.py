"""``device``: where operations run.

A scope's name is merged with the scopes around it, as in TensorFlow: what it leaves open stays. The
context holds the result, the canonical name of a device that exists (None: the default one, CPU:0),
or a ``DeviceFunction`` that is asked for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import current, set_context
from tfx.runtime.device_spec import DeviceSpec
from tfx.runtime.devices import canonical_name, full_name, place

DEFAULT_DEVICE = "CPU:0"


@dataclass(frozen=True, slots=True)
class PlacedOperation:
    """The description of an operation that a device function receives.

    Attributes:
        type: The ONNX operator, such as ``"MatMul"``.
        name: Its name in the graph; eagerly, the operator.
        inputs: The tensors that it takes; None where an optional one is left out.
        device: The long name of the device of the scopes around; empty: the default.
    """

    type: str
    name: str
    inputs: tuple[Any, ...]
    device: str

    def __repr__(self) -> str:
        return f"<Operation {self.name!r} type={self.type}>"


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A scope that a Python function decides, operation by operation.

    Attributes:
        function: Takes a ``PlacedOperation``; returns a name; None or ``""`` leave it to
            ``outside``.
        outside: The scope around.
    """

    function: Callable[[Any], Any]
    outside: str | DeviceFunction | None

    def place(self, op: str, name: str, inputs: Sequence[Any]) -> str | None:
        """The device of one operation.

        Args:
            op: The ONNX operator.
            name: The operation's name.
            inputs: Its tensors.

        Raises:
            InvalidArgumentError: the function returned no device name.
        """
        outside = placed(self.outside, op, name, inputs)
        around = "" if outside is None else full_name(outside)
        answer = self.function(PlacedOperation(op, name, tuple(inputs), around))
        return outside if answer in (None, "") else _merged(outside, _spec_of(answer))


Scope = str | DeviceFunction | None


def placed(scope: Scope, op: str, name: str, inputs: Sequence[Any]) -> str | None:
    """The device of an operation inside a scope; None: the default.

    Args:
        scope: ``Context.device``.
        op: The ONNX operator.
        name: The operation's name.
        inputs: Its tensors.
    """
    if isinstance(scope, DeviceFunction):
        return scope.place(op, name, inputs)
    return scope


def trace_device(scope: Scope) -> str:
    """The device of a function that is called inside a scope (of what the function leaves open)."""
    while isinstance(scope, DeviceFunction):
        scope = scope.outside
    return scope or DEFAULT_DEVICE


class device:  # noqa: N801
    """Run the operations inside on a device.

    Where it does not exist they run on the CPU instead, with one line in the log that says why;
    after ``tfx.config.set_soft_device_placement(False)`` that is an error. Without a scope
    operations run on ``"/CPU:0"``.

    Args:
        device_name: ``"/CPU:0"``, ``"/GPU:1"``, ``"gpu"`` and the like; what it leaves open is
            taken from the scopes around. A ``DeviceSpec`` or logical device. A function (which
            TensorFlow 2 refuses): it is given each operation and returns a name, or None to leave
            it to the scopes around. None: the default, whatever is around.

    Raises:
        InvalidArgumentError: not a device name (a ``ValueError``), or a device that does not exist
            where operations may not run on the CPU instead.

    Example:
        >>> import tfx as tf
        >>> with tf.device("/CPU:0"):
        ...     x = tf.constant(1.0) + 1.0
        >>> x.device
        '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    def __init__(self, device_name: Any) -> None:
        if callable(device_name) and not isinstance(device_name, type):
            self._spec: DeviceSpec | Callable[[Any], Any] | None = device_name
        else:
            self._spec = None if device_name is None else _spec_of(device_name)
        self._before: list[Scope] = []

    def __enter__(self) -> None:
        context = current()
        before: Scope = context.device
        spec = self._spec
        inside: Scope
        if spec is None:
            inside = None
        elif isinstance(spec, DeviceSpec):
            inside = _within(before, spec)
        else:
            inside = DeviceFunction(spec, before)
        if inside == DEFAULT_DEVICE and context.graph is None:
            inside = None  # the same kernels and traces serve both
        self._before.append(before)
        set_context(device=inside)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        set_context(device=self._before.pop())


def _within(around: Scope, spec: DeviceSpec) -> Scope:
    """The scope of a spec inside another scope."""
    if isinstance(around, DeviceFunction):
        if spec.device_type is None:
            return around
        return _merged(trace_device(around), spec)
    return _merged(around, spec)


def _merged(around: str | None, spec: DeviceSpec) -> str | None:
    """The device of a spec inside a scope of a device."""
    name = _merged_name(around, spec)
    return None if name is None else place(name)


@lru_cache(maxsize=256)
def _merged_name(around: str | None, spec: DeviceSpec) -> str | None:
    """The same; the device need not exist."""
    base = DeviceSpec() if around is None else DeviceSpec.from_string(around)
    merged = base.make_merged_spec(spec)
    # Even where no kind is named: other jobs and tasks do not exist.
    name = canonical_name(merged.replace(device_type=merged.device_type or "CPU"), _text(spec))
    return None if merged.device_type is None else name


def _text(spec: DeviceSpec) -> str:
    return spec.to_string() or "/"


_parsed = lru_cache(maxsize=256)(DeviceSpec.from_string)


def _spec_of(name: Any) -> DeviceSpec:
    if isinstance(name, DeviceSpec):
        return name
    if isinstance(name, str):
        return _parsed(name)
    text = name.to_string() if hasattr(name, "to_string") else getattr(name, "name", None)
    if not isinstance(text, str):
        raise InvalidArgumentError(
            f"Expecting a device name, a DeviceSpec, a logical device, a function or None; got "
            f"{name!r} of type {type(name).__name__}."
        )
    return DeviceSpec.from_string(text)
