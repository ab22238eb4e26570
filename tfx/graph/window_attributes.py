"""Attributes of convolutions and pools that no kernel can take, found before one is asked.

onnx's inference passes most of them, and what ONNX Runtime says of them names no line; gradient
rules compute with them. So each is looked at once, where an operator's types are inferred.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.graph.ir import Attributes, Value
from tfx.graph.traits import traits

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_MOST = 2**31 - 1
# Attribute -> the least number in it, and how many there are for each spatial axis.
_LISTS = {
    "strides": (1, 1),
    "dilations": (1, 1),
    "kernel_shape": (1, 1),
    "output_padding": (0, 1),
    "output_shape": (1, 1),
    "pads": (-_MOST, 2),
}


def window_problem(op: str, inputs: Sequence[Value | None], attrs: Attributes) -> str:
    """Return what is wrong with the attributes of a convolution or pool; empty if nothing is.

    Args:
        op: An operator that slides a window.
        inputs: What it is applied to.
        attrs: Its attributes.
    """
    shapes = [None if value is None else value.shape for value in inputs]
    x = shapes[0] if shapes else None
    axes = None if x is None else len(x) - 2
    auto_pad = attrs.get("auto_pad", "NOTSET")
    if auto_pad not in _AUTO_PADS:
        return f"auto_pad must be one of {', '.join(_AUTO_PADS)}; got {auto_pad!r}"
    for name, (least, each) in _LISTS.items():
        numbers = attrs.get(name)
        if numbers is None:
            continue
        if axes is not None and len(numbers) != each * axes:
            return (
                f"{name} must have {each * axes} numbers for {axes} spatial axes; got "
                f"{list(numbers)}"
            )
        if any(not least <= n <= _MOST for n in numbers):
            return f"{name} must be {least} or more each (and less than 2**31); got {list(numbers)}"
    if traits(op).window == "pool":
        return _pool_problem(attrs)
    return _convolution_problem(op, shapes, attrs)


def _pool_problem(attrs: Attributes) -> str:
    kernel, pads = attrs.get("kernel_shape"), attrs.get("pads")
    if attrs.get("p", 1) < 1:
        return f"p must be 1 or more; got {attrs['p']}"
    if attrs.get("storage_order", 0) not in (0, 1):
        return f"storage_order must be 0 or 1; got {attrs['storage_order']}"
    if kernel is None or pads is None:
        return ""
    if any(not 0 <= pad < kernel[i % len(kernel)] for i, pad in enumerate(pads)):
        return f"pads must be from 0 to less than kernel_shape {list(kernel)}; got {list(pads)}"
    return ""


def _convolution_problem(
    op: str, shapes: Sequence[Sequence[object] | None], attrs: Attributes
) -> str:
    group = attrs.get("group", 1)
    if not 1 <= group <= _MOST:
        return f"group must be 1 or more; got {group}"
    x = shapes[0]
    w = shapes[3 if op == "QLinearConv" else 1] if len(shapes) > 1 else None
    if w is None:
        return ""
    kernel = attrs.get("kernel_shape")
    if kernel is not None and _differ(kernel, w[2:]):
        return f"kernel_shape is {list(kernel)}, the spatial axes of the filter are {list(w[2:])}"
    given = None if x is None or len(x) < 2 else x[1]
    outer = w[0]
    if op == "ConvTranspose":  # the filter is (inputs, outputs / group, ...)
        # Without a filter there is a result without channels, which kernels give.
        if isinstance(given, int) and isinstance(outer, int) and given != outer > 0:
            return f"the filter is for {outer} channels, the input has {given}"
        if isinstance(outer, int) and outer % group:
            return f"the {outer} input channels cannot be divided into {group} groups"
        return ""
    if isinstance(outer, int) and outer % group:
        return f"the {outer} output channels cannot be divided into {group} groups"
    inner = w[1] if len(w) > 1 else None
    if isinstance(given, int) and isinstance(inner, int) and given != inner * group:
        return (
            f"the filter is for {inner} channels in each of {group} groups, the input has {given} "
            "channels"
        )
    return ""


def _differ(kernel: Sequence[int], wanted: Sequence[object]) -> bool:
    if len(kernel) != len(wanted):
        return True
    return any(isinstance(w, int) and k != w for k, w in zip(kernel, wanted, strict=True))
