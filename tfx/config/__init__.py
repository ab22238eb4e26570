"""``tf.config``: devices, threads and switches."""

from __future__ import annotations

from tfx.config import experimental as experimental
from tfx.config import optimizer as optimizer
from tfx.config import threading as threading
from tfx.config.devices import (
    get_logical_device_configuration as get_logical_device_configuration,
)
from tfx.config.devices import get_soft_device_placement as get_soft_device_placement
from tfx.config.devices import get_visible_devices as get_visible_devices
from tfx.config.devices import list_logical_devices as list_logical_devices
from tfx.config.devices import (
    set_logical_device_configuration as set_logical_device_configuration,
)
from tfx.config.devices import set_soft_device_placement as set_soft_device_placement
from tfx.config.devices import set_visible_devices as set_visible_devices
from tfx.core.namespaces import complete as _complete
from tfx.function.tracing.settings import functions_run_eagerly as functions_run_eagerly
from tfx.function.tracing.settings import run_functions_eagerly as run_functions_eagerly
from tfx.runtime.devices import list_physical_devices as list_physical_devices
from tfx.runtime.logical_devices import LogicalDevice as LogicalDevice
from tfx.runtime.logical_devices import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from tfx.runtime.logical_devices import PhysicalDevice as PhysicalDevice

experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly

_complete(__name__, "experimental", "optimizer", "threading")
