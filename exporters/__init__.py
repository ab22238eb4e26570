"""Everything that writes a bundle: ``save`` for tfx objects, ``save_onnx`` for ONNX models."""

from __future__ import annotations

from tfx.exporters.from_onnx import save_onnx as save_onnx
from tfx.exporters.native import SaveOptions as SaveOptions
from tfx.exporters.native import save as save
