"""Execution: the one package that touches onnxruntime (devices, values, sessions, threads)."""

from __future__ import annotations

import os

# ONNX Runtime 1.31 on Linux otherwise writes a device id into the home folder and reports usage
# over the network as soon as a session is made. Set the variable to 0 to allow it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
