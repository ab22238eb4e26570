"""Shapes of outputs where onnx's inference leaves a dimension open that names of sizes tell.

``refine_shapes`` comes after onnx's inference of a node. It looks at the contents of those inputs
that decide a shape, and gives sizes that follow from named ones names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfx.core.dim_names import (
    broadcast_dim,
    product_dim,
    quotient_dim,
    slice_dim,
    sum_dim,
    takes_all,
    window_dim,
)
from tfx.core.dims import is_static
from tfx.graph.formulas.windows import window_of
from tfx.graph.ir import Attributes, RawDim, RawShape, Value
from tfx.graph.symbolic_shapes import combine, elements
from tfx.graph.traits import operators

# Operators whose input (by position) is the output's shape.
_SHAPE_INPUT = {"Reshape": 1, "ConstantOfShape": 0}


def refine_shapes(
    op: str,
    inputs: Sequence[Value | None],
    attrs: Attributes,
    types: list[tuple[int, RawShape]],
) -> list[tuple[int, RawShape]]:
    """Fill dimensions in that onnx left open but that symbols tell."""
    if op in ("Reshape", "ConstantOfShape"):
        target = elements(inputs[_SHAPE_INPUT[op]])
        if target is not None:
            data = inputs[0]
            shape = target
            if op == "Reshape":
                source = None if data is None else data.shape
                shape = reshaped(source, target, allow_zero=bool(attrs.get("allowzero")))
            return [(types[0][0], _merge(types[0][1], shape))]
    elif op == "Expand":
        target, data = elements(inputs[1]), inputs[0]
        if target is not None and data is not None and data.shape is not None:
            return [(types[0][0], _merge(types[0][1], _broadcast(data.shape, target)))]
    elif op in _SHAPES:
        return _SHAPES[op](inputs, attrs, types)
    elif op == "Tile":
        repeats, data = elements(inputs[1]), inputs[0]
        if repeats is not None and data is not None:
            shape = data.shape or (None,) * len(repeats)
            tiled = tuple(product_dim(pair) for pair in zip(shape, repeats, strict=False))
            return [(types[0][0], _merge(types[0][1], tiled))]
    return types


def _slice_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Axes that are not cut keep their symbols, and so do those taken whole or turned around."""
    data, starts, ends, axes, steps = (*inputs, None, None)[:5]
    first, last = elements(starts), elements(ends)
    along = elements(axes) if axes is not None else None if first is None else range(len(first))
    if data is None or data.shape is None or along is None:
        return types
    by = [1] * len(along) if steps is None else elements(steps)
    shape = list(data.shape)
    for i, axis in enumerate(along):
        bounds = [None if v is None else v[i] for v in (first, last, by)]
        if not isinstance(axis, int):
            return types
        if not takes_all(*bounds):
            shape[axis] = slice_dim(shape[axis], *bounds)
    return [(types[0][0], _merge(types[0][1], tuple(shape)))]


def _pad_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Axes that are padded by known amounts, whatever is padded to the others."""
    data, amounts = inputs[0], elements(inputs[1])
    if data is None or amounts is None or (len(inputs) > 3 and inputs[3] is not None):
        return types
    rank = len(amounts) // 2
    source = data.shape if data.shape is not None else (None,) * rank
    both = [combine("Add", a, b) for a, b in zip(amounts[:rank], amounts[rank:], strict=True)]
    shape = tuple(combine("Add", d, n) for d, n in zip(source, both, strict=False))
    return [(types[0][0], _merge(types[0][1], shape))]


def _resize_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """The sizes that are asked for, where all axes have one."""
    sizes = elements(inputs[3]) if len(inputs) > 3 else None
    if sizes is None or attrs.get("axes") or attrs.get("keep_aspect_ratio_policy"):
        return types
    return [(types[0][0], _merge(types[0][1], sizes))]


def _top_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """The data's shape with ``k`` on one axis."""
    data, count = inputs[0], elements(inputs[1])
    if data is None or not data.shape:
        return types
    shape = list(data.shape)
    shape[attrs.get("axis", -1)] = None if count is None else count[0]
    return [(dtype, _merge(inferred, tuple(shape))) for dtype, inferred in types]


def _concat_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """The sizes along the axis one behind another; any input's along the others."""
    shapes = [v.shape for v in inputs if v is not None and v.shape is not None]
    found = types[0][1]
    if found is None or len(shapes) != len(inputs):
        return types
    axis = int(attrs["axis"]) % len(found)
    shape = list(found)
    shape[axis] = sum_dim(s[axis] for s in shapes)
    return [(types[0][0], _merge(found, tuple(shape)))]


def _broadcast_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Of operators on operands that broadcast."""
    shapes = [() if v is None else v.shape for v in inputs]
    if types[0][1] is None or is_static(types[0][1]) or None in shapes:
        return types
    shape: tuple[RawDim, ...] = ()
    for one in shapes:
        shape = _broadcast(shape, one or ())
    return [(types[0][0], _merge(types[0][1], shape))]


def _product_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Axes in front of matrices broadcast."""
    x, y = (None if v is None else v.shape for v in inputs)
    found = types[0][1]
    if found is None or x is None or y is None or is_static(found) or min(len(x), len(y)) < 2:
        return types
    return [(types[0][0], _merge(found, (*_broadcast(x[:-2], y[:-2]), x[-2], y[-1])))]


def _window_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Spatial axes of named sizes, of convolutions and pools."""
    source, found = inputs[0].shape if inputs[0] is not None else None, types[0][1]
    if source is None or found is None or is_static(found):
        return types
    filters = inputs[1].shape if len(inputs) > 1 and inputs[1] is not None else None
    kernel: RawShape = tuple(attrs.get("kernel_shape") or (filters or ())[2:])
    if not is_static(kernel) or len(kernel) != len(source) - 2:
        return types
    window = window_of(attrs, kernel)
    pads = window.pads([d if isinstance(d, int) else None for d in source[2:]])
    padding = [None] * len(kernel) if pads is None else [sum(pad) for pad in pads]
    axes = zip(source[2:], window.extents, window.strides, padding, strict=True)
    counts = [window_dim(d, extent, by, pad) for d, extent, by, pad in axes]
    return [(code, _merge(dims, (None, None, *counts))) for code, dims in types]


def _range_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """0, 1, 2... up to a dimension has its length."""
    start, limit, delta = (elements(v) for v in inputs)
    if start == (0,) and delta == (1,) and limit is not None:
        return [(types[0][0], _merge(types[0][1], (limit[0],)))]
    return types


def _pool_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Correct onnx's ``ceil_mode``: no window begins behind the image and its front padding."""
    source = inputs[0].shape if inputs[0] is not None else None
    types = _window_shape(inputs, attrs, types)
    if not attrs.get("ceil_mode") or source is None or types[0][1] is None:
        return types
    window = window_of(attrs, attrs["kernel_shape"])
    if isinstance(window.padding, str):
        return types
    counts = []
    for i, count in enumerate(types[0][1][2:]):
        size, stride = source[2 + i], window.strides[i]
        if isinstance(count, int) and isinstance(size, int):
            count -= (count - 1) * stride >= size + window.padding[i][0]
        counts.append(count)
    shape = (*types[0][1][:2], *counts)
    return [(code, shape) for code, _ in types]


_Types = list[tuple[int, RawShape]]
_Inputs = Sequence[Value | None]
_SHAPES: dict[str, Callable[[_Inputs, Attributes, _Types], _Types]] = {
    **dict.fromkeys(operators(lambda t: t.elementwise == "broadcast"), _broadcast_shape),
    **dict.fromkeys(operators(lambda t: t.window == "pool"), _pool_shape),
    "Concat": _concat_shape,
    "Conv": _window_shape,
    "MatMul": _product_shape,
    "Pad": _pad_shape,
    "Range": _range_shape,
    "Resize": _resize_shape,
    "Slice": _slice_shape,
    "TopK": _top_shape,
}


def _merge(a: RawShape, b: RawShape) -> RawShape:
    if a is None or b is None or len(a) != len(b):
        return b if a is None else a
    return tuple(
        y if x is None or (isinstance(x, str) and y is not None) else x
        for x, y in zip(a, b, strict=True)
    )


def reshaped(
    source: RawShape, target: tuple[RawDim, ...], *, allow_zero: bool
) -> tuple[RawDim, ...]:
    """The shape that Reshape gives a tensor of shape ``source`` for the elements ``target``."""
    shape: list[RawDim] = []
    for i, dim in enumerate(target):
        copied = source[i] if source is not None and i < len(source) else None
        if dim == 0 and not allow_zero:
            shape.append(copied)
        elif (
            isinstance(dim, str)
            and not allow_zero
            and (source is None or (i < len(source) and dim != copied))
        ):
            shape.append(None)  # where it is 0, the source's size is taken
        else:
            shape.append(dim)
    if -1 in shape:
        shape[shape.index(-1)] = _remaining(source, shape)
    return tuple(shape)


def _remaining(source: RawShape, target: Sequence[RawDim]) -> RawDim:
    """Return the size that -1 stands for: the source's elements over the target's; else None."""
    return None if source is None else quotient_dim(source, (d for d in target if d != -1))


def _broadcast(a: tuple[RawDim, ...], b: tuple[RawDim, ...]) -> tuple[RawDim, ...]:
    width = max(len(a), len(b))
    a, b = (1,) * (width - len(a)) + a, (1,) * (width - len(b)) + b
    return tuple(map(broadcast_dim, a, b))
