"""``device``: where operations run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tfx.framework.context import current, using
from tfx.runtime.devices import parse_device, providers_for


@contextmanager
def device(device_name: str | Callable[..., str] | None) -> Iterator[None]:
    """Run the operations inside on a device.

    Args:
        device_name: ``"/CPU:0"``, ``"/GPU:1"``, ``"gpu"`` and the like; a callable that returns
            one; None for the default.

    Raises:
        InvalidArgumentError: not a device name.
        NotFoundError: the installed ONNX Runtime cannot serve the device.

    Example:
        >>> import tfx as tf
        >>> with tf.device("/CPU:0"):
        ...     float(tf.constant(1.0) + 1.0)
        2.0
    """
    if callable(device_name):
        device_name = device_name(None)
    if device_name is None or device_name == "":
        with using(device=None):
            yield
        return
    name = parse_device(device_name)
    providers_for(name)
    # CPU:0 is the default: the same kernels and traces serve both.
    with using(device=None if name == "CPU:0" and current().device is None else name):
        yield
