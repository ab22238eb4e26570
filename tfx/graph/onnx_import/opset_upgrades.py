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
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, const_of, rank_of, upgrade
from tfx.graph.traits import operators, traits


@upgrade("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", until=6)
def _binary(e: ImportBuilder, old: Old) -> Value:
    """The second operand's axes began at ``axis``, not at the end."""
    x, y = old.required(0), old.required(1)
    axis = old.attrs.get("axis")
    if old.attrs.get("broadcast") and axis is not None:
        rank, given = rank_of(x, old.op), rank_of(y, old.op)
        behind = rank - (axis % rank if rank else 0) - given
        if behind > 0:
            y = e.Unsqueeze(y, e.ints(list(range(given, given + behind))))
    return e.apply(old.op, (x, y))


@upgrade("PRelu", until=6)
def _prelu(e: ImportBuilder, old: Old) -> Value:
    """A vector of slopes was one for each channel."""
    x, slope = old.required(0), old.required(1)
    rank = rank_of(x, old.op)
    if slope.shape is not None and len(slope.shape) == 1 and slope.shape != (1,) and rank > 2:
        slope = e.Unsqueeze(slope, e.ints(list(range(1, rank - 1))))
    return e.PRelu(x, slope)


@upgrade("Gemm", until=6)
def _gemm(e: ImportBuilder, old: Old) -> Value:
    attrs = {k: v for k, v in old.attrs.items() if k != "broadcast"}
    return e.apply("Gemm", old.inputs, attrs)


@upgrade("BatchNormalization", until=13)
def _batch_normalization(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    """More results than one asked for training; there were up to five."""
    attrs = {k: v for k, v in old.attrs.items() if k in ("epsilon", "momentum")}
    if not old.attrs.get("spatial", 1) and rank_of(old.required(0), old.op) > 2:
        raise UnimplementedError(
            f"BatchNormalization-{old.opset} with spatial=0 has no like in later opsets"
        )
    if old.outputs == 1:
        return e.apply_n(old.op, old.inputs, attrs, 1)
    results = e.apply_n(old.op, old.inputs, {**attrs, "training_mode": 1}, 3)
    return [*results, None, None]


@upgrade("Cast", until=5)
def _cast(e: ImportBuilder, old: Old) -> Value:
    """The dtype was a word."""
    to = old.attrs.get("to")
    names = {"FLOAT": "float32", "DOUBLE": "float64"}
    if isinstance(to, str):
        word = to.upper()
        to = dtypes.as_dtype(names.get(word, word.lower())).onnx
    return e.apply("Cast", (old.required(0),), {"to": to})


@upgrade("Concat", until=3)
def _concat(e: ImportBuilder, old: Old) -> Value:
    return e.Concat(*old.inputs, axis=old.attrs.get("axis", 1))


@upgrade("Dropout", until=11)
def _dropout(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    """Up to opset 6 an attribute asked for training, from 7 to 11 nothing could."""
    x = old.required(0)
    ratio = float(old.attrs.get("ratio", 0.5))
    if old.opset <= 6 and not old.attrs.get("is_test", 0):
        training = e.graph.add_constant(np.asarray(True), dtypes.bool.onnx)
        rate = e.like(ratio, x)
        return e.Dropout(x, rate, training, outputs=old.outputs)
    results: list[Value | None] = [e.Identity(x)]
    if old.outputs > 1:
        mask = e.ConstantOfShape(e.Shape(x), value=np.ones(1, np.bool_))
        results.append(mask if old.opset >= 10 else e.CastLike(mask, x))
    return results


@upgrade("Pad", until=10)
def _pad(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    pads = old.attrs.get("pads", old.attrs.get("paddings"))
    if pads is None:
        raise InvalidArgumentError(f"Pad-{old.opset} needs the attribute 'pads'.")
    value = e.like(old.attrs.get("value", 0.0), x)
    return e.Pad(x, e.ints(pads), value, mode=old.attrs.get("mode", "constant"))


@upgrade("Reshape", until=4)
def _reshape(e: ImportBuilder, old: Old) -> Value:
    return e.Reshape(old.required(0), e.ints(old.attrs.get("shape", [])))


@upgrade("Slice", until=9)
def _slice(e: ImportBuilder, old: Old) -> Value:
    starts, ends = old.attrs.get("starts", []), old.attrs.get("ends", [])
    axes = old.attrs.get("axes")
    given = None if axes is None else e.ints(axes)
    return e.Slice(old.required(0), e.ints(starts), e.ints(ends), given)


@upgrade("Split", until=17)
def _split(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    """Sizes were an attribute; without them the number of results alone decided."""
    attrs = {"axis": old.attrs.get("axis", 0)}
    sizes = old.attrs.get("split")
    given = old.input(1) if sizes is None else e.ints(sizes)
    if given is None:
        attrs["num_outputs"] = old.outputs
    return e.Split(old.required(0), given, **attrs, outputs=old.outputs)


@upgrade("Squeeze", "Unsqueeze", "ReduceSum", until=12)
@upgrade(*operators(lambda t: t.reduction and t is not traits("ReduceSum")), until=17)
def _axes(e: ImportBuilder, old: Old) -> Value:
    """The axes were an attribute."""
    attrs = {k: v for k, v in old.attrs.items() if k != "axes"}
    axes = old.attrs.get("axes")
    given = old.input(1) if axes is None else e.ints(axes)
    return e.apply(old.op, (old.required(0), given), {**attrs})


@upgrade("Softmax", "LogSoftmax", "Hardmax", until=12)
def _softmax(e: ImportBuilder, old: Old) -> Value:
    """Write an old softmax: it flattened all axes from ``axis`` (default 1) on."""
    x = old.required(0)
    rank, axis = rank_of(x, old.op), int(old.attrs.get("axis", 1))
    axis += rank if axis < 0 else 0
    if axis == rank - 1:
        return e.apply(old.op, (x,), {"axis": -1})
    flat = e.apply(old.op, (e.Flatten(x, axis=axis),), {"axis": -1})
    return e.Reshape(flat, e.Shape(x))


@upgrade("Clip", until=10)
def _clip(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    low, high = (
        None if old.attrs.get(k) is None else e.like(old.attrs[k], x) for k in ("min", "max")
    )
    return e.Clip(x, low, high)


@upgrade("TopK", until=10)
def _top_k(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    k = old.input(1) if old.attrs.get("k") is None else e.ints([old.attrs["k"]])
    return e.apply_n("TopK", (old.required(0), k), {"axis": old.attrs.get("axis", -1)})


def _resized(e: ImportBuilder, x: Value, scales: Value, mode: str, nearest: str) -> Value:
    linear = mode in ("linear", "bilinear")
    return e.Resize(
        x,
        None,
        scales,
        mode="linear" if linear else mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode=nearest,
    )


@upgrade("Upsample", until=10)
def _upsample(e: ImportBuilder, old: Old) -> Value:
    x, scales = old.required(0), old.input(1)
    if scales is None:
        given = old.attrs.get("scales")
        if given is None:
            given = [1, 1, old.attrs.get("height_scale", 1), old.attrs.get("width_scale", 1)]
        scales = e.graph.add_constant(np.asarray(given, np.float32), dtypes.float32.onnx)
    return _resized(e, x, scales, old.attrs.get("mode", "nearest"), "floor")


@upgrade("Resize", until=10)
def _resize_10(e: ImportBuilder, old: Old) -> Value:
    """Nearest was the one below, and when it made images smaller the one above."""
    x, scales = old.required(0), old.required(1)
    smaller = scales.const is not None and bool((scales.const <= 1).all())
    nearest = "ceil" if smaller else "floor"
    return _resized(e, x, scales, old.attrs.get("mode", "nearest"), nearest)


@upgrade("Resize", until=12)
def _resize_11(e: ImportBuilder, old: Old) -> Value:
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
    return e.apply("Resize", given, attrs)


@upgrade("RNN", "GRU", "LSTM", until=6)
def _recurrent(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    attrs = {k: v for k, v in old.attrs.items() if k != "output_sequence"}
    return e.apply_n(old.op, old.inputs, {**attrs}, old.outputs)


@upgrade("Tile", until=5)
def _tile(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    if len(old.inputs) < 3:
        return e.Tile(x, old.required(1))
    repeats = np.ones(rank_of(x, "Tile"), np.int64)
    axis = int(const_of(old.required(2), "Tile", "the axis").reshape(-1)[0])
    repeats[axis] = int(const_of(old.required(1), "Tile", "the count").reshape(-1)[0])
    return e.Tile(x, e.ints(repeats.tolist()))


@upgrade("Scatter", until=10)
def _scatter(e: ImportBuilder, old: Old) -> Value:
    return e.apply("ScatterElements", old.inputs, {"axis": old.attrs.get("axis", 0)})


@upgrade("GroupNormalization", until=20)
def _group_normalization(e: ImportBuilder, old: Old) -> Value:
    """Scale and bias were one number for each group."""
    x = old.required(0)
    groups = int(old.attrs.get("num_groups", 1))
    size = e.Div(e.Shape(x, start=1, end=2), e.ints([groups]))
    shape = e.Concat(e.ints([groups]), size, axis=0)
    spread = [
        e.Reshape(e.Expand(e.Unsqueeze(v, e.ints([1])), shape), e.ints([-1]))
        for v in (old.required(1), old.required(2))
    ]
    return e.GroupNormalization(x, *spread, **old.attrs)


@upgrade("RoiAlign", until=15)
def _roi_align(e: ImportBuilder, old: Old) -> Value:
    """Pixels had no halves."""
    attrs = {**old.attrs, "coordinate_transformation_mode": "output_half_pixel"}
    return e.apply("RoiAlign", old.inputs, attrs)


@upgrade("GridSample", until=19)
def _grid_sample(e: ImportBuilder, old: Old) -> Value:
    words = {"bilinear": "linear", "bicubic": "cubic"}
    mode = old.attrs.get("mode", "bilinear")
    return e.apply("GridSample", old.inputs, {**old.attrs, "mode": words.get(mode, mode)})


@upgrade("DFT", until=19)
def _dft(e: ImportBuilder, old: Old) -> Value:
    attrs = {k: v for k, v in old.attrs.items() if k != "axis"}
    axis = e.ints(old.attrs.get("axis", 1))
    return e.DFT(old.required(0), old.input(1), axis, **attrs)


@upgrade("LpPool", "GlobalLpPool", until=1)
def _lp_pool(e: ImportBuilder, old: Old) -> Value:
    """The exponent was a float."""
    power = old.attrs.get("p", 2.0)
    if power != int(power):
        raise UnimplementedError(f"{old.op}-1 with p={power}; later opsets have whole numbers")
    return e.apply(old.op, old.inputs, {**{**old.attrs, "p": int(power)}})


@upgrade("Scan", until=8)
def _scan(e: ImportBuilder, old: Old) -> Value:
    raise UnimplementedError(
        "Scan-8 runs over a batch of sequences; export the model with opset 9 or later"
    )
