"""A GPU that the CPU plays, through all the code of GPUs."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from tfx.runtime import cuda, run_hooks, values
from tfx.runtime import session as sessions
from tfx.runtime.values import CPU_DEVICE


class _MovedOneByOne:
    """Stands for ``cuda.RepeatedCopies``."""

    def __init__(self, sizes: Sequence[int], index: int) -> None:
        self.sizes = sizes

    def run(self, targets: Sequence[int], sources: Sequence[int], *, within: bool) -> None:
        assert not within  # all of it is the host's memory
        for target, source, size in zip(targets, sources, self.sizes, strict=True):
            ctypes.memmove(target, source, size)


@contextlib.contextmanager
def pretended_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Serve GPU:0 with the CPU provider; yields what providers were asked for."""
    asked: list[Any] = []

    def providers(device: str, extra: Any = None) -> list[str]:
        asked.append((device, dict(extra or {})))
        return ["CPUExecutionProvider"]

    def allocate(shape: list[int], kind: int, number: int) -> Any:
        return ort.OrtValue.ortvalue_from_shape_and_onnx_type(shape, kind, CPU_DEVICE)

    layers = list(run_hooks._layers)
    monkeypatch.setattr(sessions, "providers_for", providers)
    monkeypatch.setattr(sessions, "_require_provider", lambda inference, device: None)
    monkeypatch.setattr(cuda, "ort_device", lambda number: CPU_DEVICE)
    monkeypatch.setattr(cuda, "allocate", allocate)
    monkeypatch.setattr(cuda, "RepeatedCopies", _MovedOneByOne)
    monkeypatch.setattr(values, "gpu_in_use", False)
    try:
        yield asked
    finally:
        for layer in [x for x in run_hooks._layers if x not in layers]:
            run_hooks.remove_layer(layer)
