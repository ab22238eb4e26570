"""Execution: the one package that touches onnxruntime (devices, values, sessions, threads)."""
