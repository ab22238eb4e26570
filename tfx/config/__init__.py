"""``tf.config``: devices, threads and switches."""

from __future__ import annotations

from tfx.config import experimental as experimental
from tfx.config import threading as threading
from tfx.config.devices import LogicalDevice as LogicalDevice
from tfx.config.devices import get_visible_devices as get_visible_devices
from tfx.config.devices import list_logical_devices as list_logical_devices
from tfx.function.settings import functions_run_eagerly as functions_run_eagerly
from tfx.function.settings import run_functions_eagerly as run_functions_eagerly
from tfx.runtime.devices import PhysicalDevice as PhysicalDevice
from tfx.runtime.devices import list_physical_devices as list_physical_devices

experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly
