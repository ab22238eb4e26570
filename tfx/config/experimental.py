"""``tf.config.experimental``: older places of names of ``tf.config``."""

from __future__ import annotations

from tfx.config.devices import get_visible_devices as get_visible_devices
from tfx.config.devices import list_logical_devices as list_logical_devices
from tfx.config.devices import set_memory_growth as set_memory_growth
from tfx.runtime.devices import list_physical_devices as list_physical_devices
