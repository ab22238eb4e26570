"""Graphs and ONNX models: written, read, converted, and described."""
