"""Devices: what Keras asks about them; a model runs on one."""

from __future__ import annotations

from typing import Any

import tfx as tf


def list_devices(device_type: str | None = None) -> list[str]:
    """The devices of a kind as ``"cpu:0"``; GPUs, if there are any, where none is named."""
    kinds = [device_type.upper()] if device_type else ["GPU", "CPU"]
    for kind in kinds:
        found = tf.config.list_logical_devices(kind)
        if found:
            return [f"{kind.lower()}:{number}" for number, _ in enumerate(found)]
    return []


def get_device_count(device_type: str | None = None) -> int:
    """How many devices of a kind there are."""
    return len(list_devices(device_type))


def distribute_value(value: Any, tensor_layout: Any) -> Any:
    """The value itself: there is one device."""
    return value


def distribute_tensor(tensor: Any, layout: Any) -> Any:
    """The tensor itself: there is one device."""
    return tensor
