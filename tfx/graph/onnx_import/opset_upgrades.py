"""Operators of opsets before ours, written with those of ours.

One rule for each change of the standard that is more than new dtypes or a new attribute whose
default is the old behaviour. Opsets 1 to 20 of the standard domain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import Emitter, Old, const_of, rank_of, upgrade

_BINARY = (
    "Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less",
)  # fmt: skip
_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSumSquare",
)  # fmt: skip


@upgrade(*_BINARY, until=6)
def _binary(e: Emitter, old: Old) -> Value:
    """The second operand's axes began at ``axis``, not at the end."""
    x, y = old.required(0), old.required(1)
    axis = old.attrs.get("axis")
    if old.attrs.get("broadcast") and axis is not None:
        rank, given = rank_of(x, old.op), rank_of(y, old.op)
        behind = rank - (axis % rank if rank else 0) - given
        if behind > 0:
            y = e.op("Unsqueeze", y, e.ints(list(range(given, given + behind))))
    return e.op(old.op, x, y)


@upgrade("PRelu", until=6)
def _prelu(e: Emitter, old: Old) -> Value:
    """A vector of slopes was one for each channel."""
    x, slope = old.required(0), old.required(1)
    rank = rank_of(x, old.op)
    if slope.shape is not None and len(slope.shape) == 1 and slope.shape != (1,) and rank > 2:
        slope = e.op("Unsqueeze", slope, e.ints(list(range(1, rank - 1))))
    return e.op("PRelu", x, slope)


@upgrade("Gemm", until=6)
def _gemm(e: Emitter, old: Old) -> Value:
    attrs = {k: v for k, v in old.attrs.items() if k != "broadcast"}
    return e.op("Gemm", *old.inputs, **attrs)


@upgrade("BatchNormalization", until=13)
def _batch_normalization(e: Emitter, old: Old) -> Sequence[Value | None]:
    """More results than one asked for training; there were up to five."""
    attrs = {k: v for k, v in old.attrs.items() if k in ("epsilon", "momentum")}
    if not old.attrs.get("spatial", 1) and rank_of(old.required(0), old.op) > 2:
        raise UnimplementedError(
            f"BatchNormalization-{old.opset} with spatial=0 has no like in later opsets"
        )
    if old.outputs == 1:
        return e.nodes("BatchNormalization", old.inputs, 1, **attrs)
    results = e.nodes("BatchNormalization", old.inputs, 3, training_mode=1, **attrs)
    return [*results, None, None]


@upgrade("Cast", until=5)
def _cast(e: Emitter, old: Old) -> Value:
    """The dtype was a word."""
    to = old.attrs.get("to")
    names = {"FLOAT": "float32", "DOUBLE": "float64"}
    if isinstance(to, str):
        word = to.upper()
        to = dtypes.as_dtype(names.get(word, word.lower())).onnx
    return e.op("Cast", old.required(0), to=to)


@upgrade("Concat", until=3)
def _concat(e: Emitter, old: Old) -> Value:
    return e.op("Concat", *old.inputs, axis=old.attrs.get("axis", 1))


@upgrade("Dropout", until=11)
def _dropout(e: Emitter, old: Old) -> Sequence[Value | None]:
    """Up to opset 6 an attribute asked for training, from 7 to 11 nothing could."""
    x = old.required(0)
    ratio = float(old.attrs.get("ratio", 0.5))
    if old.opset <= 6 and not old.attrs.get("is_test", 0):
        training = e.graph.add_constant(np.asarray(True), dtypes.bool.onnx)
        rate = e.like(ratio, x)
        return e.nodes("Dropout", (x, rate, training), old.outputs)
    results: list[Value | None] = [e.op("Identity", x)]
    if old.outputs > 1:
        mask = e.op("ConstantOfShape", e.op("Shape", x), value=np.ones(1, np.bool_))
        results.append(mask if old.opset >= 10 else e.op("CastLike", mask, x))
    return results


@upgrade("Pad", until=10)
def _pad(e: Emitter, old: Old) -> Value:
    x = old.required(0)
    pads = old.attrs.get("pads", old.attrs.get("paddings"))
    if pads is None:
        raise InvalidArgumentError(f"Pad-{old.opset} needs the attribute 'pads'.")
    value = e.like(old.attrs.get("value", 0.0), x)
    return e.op("Pad", x, e.ints(pads), value, mode=old.attrs.get("mode", "constant"))


@upgrade("Reshape", until=4)
def _reshape(e: Emitter, old: Old) -> Value:
    return e.op("Reshape", old.required(0), e.ints(old.attrs.get("shape", [])))


@upgrade("Slice", until=9)
def _slice(e: Emitter, old: Old) -> Value:
    starts, ends = old.attrs.get("starts", []), old.attrs.get("ends", [])
    axes = old.attrs.get("axes")
    given = None if axes is None else e.ints(axes)
    return e.op("Slice", old.required(0), e.ints(starts), e.ints(ends), given)


@upgrade("Split", until=17)
def _split(e: Emitter, old: Old) -> Sequence[Value | None]:
    """Sizes were an attribute; without them the number of results alone decided."""
    attrs = {"axis": old.attrs.get("axis", 0)}
    sizes = old.attrs.get("split")
    given = old.input(1) if sizes is None else e.ints(sizes)
    if given is None:
        attrs["num_outputs"] = old.outputs
    return e.nodes("Split", (old.required(0), given), old.outputs, **attrs)


@upgrade("Squeeze", "Unsqueeze", "ReduceSum", until=12)
@upgrade(*_REDUCTIONS, until=17)
def _axes(e: Emitter, old: Old) -> Value:
    """The axes were an attribute."""
    attrs = {k: v for k, v in old.attrs.items() if k != "axes"}
    axes = old.attrs.get("axes")
    given = old.input(1) if axes is None else e.ints(axes)
    return e.op(old.op, old.required(0), given, **attrs)


@upgrade("Softmax", "LogSoftmax", "Hardmax", until=12)
def _softmax(e: Emitter, old: Old) -> Value:
    """All axes from ``axis`` on, 1 if nothing was said, were one."""
    x = old.required(0)
    rank, axis = rank_of(x, old.op), int(old.attrs.get("axis", 1))
    axis += rank if axis < 0 else 0
    if axis == rank - 1:
        return e.op(old.op, x, axis=-1)
    flat = e.op(old.op, e.op("Flatten", x, axis=axis), axis=-1)
    return e.op("Reshape", flat, e.op("Shape", x))


@upgrade("Clip", until=10)
def _clip(e: Emitter, old: Old) -> Value:
    x = old.required(0)
    low, high = (
        None if old.attrs.get(k) is None else e.like(old.attrs[k], x) for k in ("min", "max")
    )
    return e.op("Clip", x, low, high)


@upgrade("TopK", until=10)
def _top_k(e: Emitter, old: Old) -> Sequence[Value | None]:
    k = old.input(1) if old.attrs.get("k") is None else e.ints([old.attrs["k"]])
    given = (old.required(0), k)
    return e.nodes("TopK", given, 2, axis=old.attrs.get("axis", -1))


def _resized(e: Emitter, x: Value, scales: Value, mode: str, nearest: str) -> Value:
    linear = mode in ("linear", "bilinear")
    return e.op(
        "Resize", x, None, scales, mode="linear" if linear else mode,
        coordinate_transformation_mode="asymmetric", nearest_mode=nearest,
    )  # fmt: skip


@upgrade("Upsample", until=10)
def _upsample(e: Emitter, old: Old) -> Value:
    x, scales = old.required(0), old.input(1)
    if scales is None:
        given = old.attrs.get("scales")
        if given is None:
            given = [1, 1, old.attrs.get("height_scale", 1), old.attrs.get("width_scale", 1)]
        scales = e.graph.add_constant(np.asarray(given, np.float32), dtypes.float32.onnx)
    return _resized(e, x, scales, old.attrs.get("mode", "nearest"), "floor")


@upgrade("Resize", until=10)
def _resize_10(e: Emitter, old: Old) -> Value:
    """Nearest was the one below, and when it made images smaller the one above."""
    x, scales = old.required(0), old.required(1)
    smaller = scales.const is not None and bool((scales.const <= 1).all())
    nearest = "ceil" if smaller else "floor"
    return _resized(e, x, scales, old.attrs.get("mode", "nearest"), nearest)


@upgrade("Resize", until=12)
def _resize_11(e: Emitter, old: Old) -> Value:
    """A mode for the nearest pixel was dropped; it is another rounding of one that stayed."""
    attrs = dict(old.attrs)
    if attrs.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn":
        if attrs.get("mode", "nearest") != "nearest" or attrs.get("nearest_mode") != "floor":
            raise UnimplementedError(
                "Resize-11 with tf_half_pixel_for_nn is known with mode 'nearest' and "
                "nearest_mode 'floor' alone"
            )
        attrs["coordinate_transformation_mode"] = "half_pixel"
        attrs["nearest_mode"] = "round_prefer_ceil"
    given = list(old.inputs)
    for i in (1, 2):  # empty tensors stood for what was left out
        value = given[i] if i < len(given) else None
        if value is not None and value.shape == (0,):
            given[i] = None
    return e.op("Resize", *given, **attrs)


@upgrade("RNN", "GRU", "LSTM", until=6)
def _recurrent(e: Emitter, old: Old) -> Sequence[Value | None]:
    attrs = {k: v for k, v in old.attrs.items() if k != "output_sequence"}
    return e.nodes(old.op, old.inputs, old.outputs, **attrs)


@upgrade("Tile", until=5)
def _tile(e: Emitter, old: Old) -> Value:
    x = old.required(0)
    if len(old.inputs) < 3:
        return e.op("Tile", x, old.required(1))
    repeats = np.ones(rank_of(x, "Tile"), np.int64)
    axis = int(const_of(old.required(2), "Tile", "the axis").reshape(-1)[0])
    repeats[axis] = int(const_of(old.required(1), "Tile", "the count").reshape(-1)[0])
    return e.op("Tile", x, e.ints(repeats.tolist()))


@upgrade("Scatter", until=10)
def _scatter(e: Emitter, old: Old) -> Value:
    return e.op("ScatterElements", *old.inputs, axis=old.attrs.get("axis", 0))


@upgrade("GroupNormalization", until=20)
def _group_normalization(e: Emitter, old: Old) -> Value:
    """Scale and bias were one number for each group."""
    x = old.required(0)
    groups = int(old.attrs.get("num_groups", 1))
    size = e.op("Div", e.op("Shape", x, start=1, end=2), e.ints([groups]))
    shape = e.op("Concat", e.ints([groups]), size, axis=0)
    spread = [
        e.op("Reshape", e.op("Expand", e.op("Unsqueeze", v, e.ints([1])), shape), e.ints([-1]))
        for v in (old.required(1), old.required(2))
    ]
    return e.op("GroupNormalization", x, *spread, **old.attrs)


@upgrade("RoiAlign", until=15)
def _roi_align(e: Emitter, old: Old) -> Value:
    """Pixels had no halves."""
    mode = "output_half_pixel"
    return e.op("RoiAlign", *old.inputs, **{**old.attrs, "coordinate_transformation_mode": mode})


@upgrade("GridSample", until=19)
def _grid_sample(e: Emitter, old: Old) -> Value:
    words = {"bilinear": "linear", "bicubic": "cubic"}
    mode = old.attrs.get("mode", "bilinear")
    return e.op("GridSample", *old.inputs, **{**old.attrs, "mode": words.get(mode, mode)})


@upgrade("DFT", until=19)
def _dft(e: Emitter, old: Old) -> Value:
    attrs = {k: v for k, v in old.attrs.items() if k != "axis"}
    axis = e.ints(old.attrs.get("axis", 1))
    return e.op("DFT", old.required(0), old.input(1), axis, **attrs)


@upgrade("LpPool", "GlobalLpPool", until=1)
def _lp_pool(e: Emitter, old: Old) -> Value:
    """The exponent was a float."""
    power = old.attrs.get("p", 2.0)
    if power != int(power):
        raise UnimplementedError(f"{old.op}-1 with p={power}; later opsets have whole numbers")
    return e.op(old.op, *old.inputs, **{**old.attrs, "p": int(power)})


@upgrade("Scan", until=8)
def _scan(e: Emitter, old: Old) -> Value:
    raise UnimplementedError(
        "Scan-8 runs over a batch of sequences; export the model with opset 9 or later"
    )
