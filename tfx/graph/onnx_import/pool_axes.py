"""Pools over more axes than ONNX Runtime has kernels for, whose windows are 1 along most of them.

Exporters of frameworks with the channels last write windows over all axes, batch and channels
included. Axes that a window leaves alone are joined to the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, upgrade

_ANY = 10_000
_MOST_AXES = 3


@upgrade("MaxPool", "AveragePool", until=_ANY)
def _pool(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    x, kernel = old.required(0), list(old.attrs.get("kernel_shape", ()))
    moved = [i for i in range(len(kernel)) if _is_still(old.attrs, kernel, i)]
    windows = [i for i in range(len(kernel)) if i not in moved]
    is_known = x.shape is not None and len(x.shape) == len(kernel) + 2
    if len(kernel) <= _MOST_AXES or not 0 < len(windows) <= _MOST_AXES or not is_known:
        return e.apply_n(old.op, old.inputs, old.attrs, old.outputs)
    order = [0, 1, *(i + 2 for i in moved), *(i + 2 for i in windows)]
    outer = 2 + len(moved)
    y = e.Transpose(x, perm=order)
    inner_shape = e.Shape(y, start=outer)
    y = e.Reshape(y, e.apply_n("Concat", [e.ints([-1, 1]), inner_shape], {"axis": 0})[0])
    attrs = {**old.attrs, **_attributes_of(old.attrs, windows, len(kernel))}
    y = e.apply_n(old.op, [y], attrs, 1)[0]
    shape = [e.Shape(e.Transpose(x, perm=order), end=outer), e.Shape(y, start=2)]
    y = e.Reshape(y, e.apply_n("Concat", shape, {"axis": 0})[0])
    return [e.Transpose(y, perm=[order.index(i) for i in range(len(order))])]


def _is_still(attrs: dict[str, Any], kernel: list[int], axis: int) -> bool:
    """True if nothing happens along an axis."""
    strides = attrs.get("strides") or [1] * len(kernel)
    pads = attrs.get("pads") or [0] * (2 * len(kernel))
    return bool(
        kernel[axis] == 1
        and strides[axis] == 1
        and pads[axis] == 0
        and pads[axis + len(kernel)] == 0
    )


def _attributes_of(attrs: dict[str, Any], axes: list[int], count: int) -> dict[str, Any]:
    """The attributes of a window over some of its axes."""
    found: dict[str, Any] = {}
    for name in ("kernel_shape", "strides", "dilations"):
        if attrs.get(name):
            found[name] = [attrs[name][i] for i in axes]
    if attrs.get("pads"):
        found["pads"] = [attrs["pads"][i + side] for side in (0, count) for i in axes]
    return found
