"""The element types that the installed ONNX Runtime has kernels for, by operator.

ONNX allows far more types than the CPU provider implements (no float64 Conv, no bfloat16 Add).
The table is read from the runtime itself, once, so that it is right for every release.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import dtypes

_TENSOR = re.compile(r"^tensor\((\w+)\)$")
# ONNX Runtime's names of element types -> ONNX's codes.
_CODES = {
    "float": dtypes.float32.onnx,
    "double": dtypes.float64.onnx,
    **{
        kind.name: kind.onnx
        for kind in (
            dtypes.float16,
            dtypes.bfloat16,
            dtypes.bool,
            dtypes.string,
            dtypes.int8,
            dtypes.int16,
            dtypes.int32,
            dtypes.int64,
            dtypes.uint8,
            dtypes.uint16,
            dtypes.uint32,
            dtypes.uint64,
        )
    },
}

# (first opset, last opset) -> constraint name ("T") -> element type codes
KernelTypes = Mapping[str, frozenset[int]]


@functools.cache
def _table() -> dict[str, list[tuple[int, int, dict[str, frozenset[int]]]]]:
    table: dict[str, list[tuple[int, int, dict[str, frozenset[int]]]]] = {}
    # Not get_all_opkernel_def: it makes every provider, and those that cannot be loaded (CUDA
    # without a GPU, TensorRT without its libraries) end the process.
    for kernel in _ort.get_registered_ep_kernel_defs("CPUExecutionProvider"):
        if kernel.provider != "CPUExecutionProvider":
            continue
        first, last = kernel.version_range
        types = {name: _codes(names) for name, names in kernel.type_constraints.items()}
        key = f"{kernel.domain}::{kernel.op_name}" if kernel.domain else kernel.op_name
        table.setdefault(key, []).append((first, last, types))
    return table


def domains_with_kernels() -> frozenset[str]:
    """The domains beside ONNX's own that the CPU provider has kernels of."""
    return frozenset(key.split("::")[0] for key in _table() if "::" in key)


def kernel_versions(domain: str, op: str) -> list[tuple[int, int]]:
    """The versions of its domain in which an operator has CPU kernels, as first and last."""
    return [(first, last) for first, last, _ in _table().get(f"{domain}::{op}", ())]


def _codes(names: list[str]) -> frozenset[int]:
    matches = (_TENSOR.match(n) for n in names)
    return frozenset(_CODES[m[1]] for m in matches if m and m[1] in _CODES)


@functools.cache
def cpu_kernels(op: str, opset: int) -> tuple[KernelTypes, ...]:
    """The type constraints of each CPU kernel for ``op`` at ``opset``; empty: no kernel at all.

    Args:
        op: ONNX operator type; of another domain with it in front, ``"com.microsoft::BiasGelu"``.
        opset: The version of its domain.
    """
    return tuple(types for first, last, types in _table().get(op, ()) if first <= opset <= last)
