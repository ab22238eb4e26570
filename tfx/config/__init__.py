"""``tf.config``: devices, threads and switches."""

from __future__ import annotations

from tfx.config import threading as threading
from tfx.function.settings import functions_run_eagerly as functions_run_eagerly
from tfx.function.settings import run_functions_eagerly as run_functions_eagerly
from tfx.runtime.devices import PhysicalDevice as PhysicalDevice
from tfx.runtime.devices import list_physical_devices as list_physical_devices
