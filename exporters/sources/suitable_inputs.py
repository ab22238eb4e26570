"""Inputs that an ONNX model takes, where nobody gave any: candidates, the likeliest first.

Owns what a graph says of its inputs beside their types: which are indices of a table, how wide a
product with a weight makes them, which sizes go together. Must not run anything. The one decision:
nobody knows what a model takes, so whoever asks tries the candidates one after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.exporters.sources.made_up_inputs import made_up
from tfx.importing.model_inputs import InputPort

Array: TypeAlias = "np.ndarray[Any, Any]"
Arrays: TypeAlias = dict[str, Array]
Values = Literal["plain", "positive", "ones", "zeros"]

# Sizes of open first dimensions (a batch, mostly), and of others: a convolution needs more than a
# few elements, some models a multiple of 32, and a reshape one of whatever.
_SIZES = (
    (2, 3),
    (2, 8),
    (1, 8),
    (2, 32),
    (1, 64),
    (1, 224),
    (1, 1),
    (2, 2),
    (3, 4),
    (1, 16),
    (420, 420),
)
_OTHER_SIZES = ((3, 4), (3, 12), (3, 64), (4, 96), (3, 3), (1, 2))
KINDS: tuple[Values, ...] = ("plain", "positive", "ones", "zeros")
_RANKS = (2, 1, 3, 4, 0)
_LEAST_INDICES = 2
MOST_BYTES = 64 << 20
# Of integers, which may be indices: a table's rows, or logits for each, are many times as large.
_MOST_INTEGERS = 1 << 14

_INT64 = 7  # TensorProto.INT64

# What is left of a value behind an operator: all of it, or its elements in another shape.
_LEFT: Mapping[str, Literal["all", "elements"]] = {
    "Cast": "all",
    "Identity": "all",
    "DequantizeLinear": "all",
    "QuantizeLinear": "all",
    "Reshape": "elements",
    "Squeeze": "elements",
    "Unsqueeze": "elements",
    "Flatten": "elements",
    "Transpose": "elements",
    "Expand": "elements",
}


@dataclass(slots=True)
class _Hint:
    """What a graph says of an input.

    Attributes:
        below: Integers in it are indices of a table with so many rows.
        rank: Its rank.
        sizes: Sizes by axis, which may count from the end.
    """

    below: int | None = None
    rank: int | None = None
    sizes: dict[int, int] = field(default_factory=dict)


def candidates(
    proto: Any,
    ports: Sequence[InputPort],
    number: int = 0,
    *,
    kinds: Sequence[Values] = KINDS,
    most_bytes: int = MOST_BYTES,
) -> Iterator[Arrays]:
    """Inputs of a model.

    Args:
        proto: The model, an ``onnx.ModelProto``.
        ports: Its inputs, which are tensors; sizes in their shapes are kept.
        number: 0 for a first choice of sizes, 1 for a second one that is different.
        kinds: Which numbers are in them.
        most_bytes: Candidates that are larger are left out.

    Yields:
        An array for each input, by name.
    """
    hints = _hints(proto, {p.name for p in ports})
    ranks: Sequence[int] = (0,)
    if any(p.shape is None and hints[p.name].rank is None for p in ports):
        ranks = _RANKS
    pairs: Sequence[tuple[int, int]] = _OTHER_SIZES if number else _SIZES
    if all(isinstance(d, int) for p in ports for d in p.shape or ("open",)):
        pairs = pairs[:1]
    for values, rank, pair in itertools.product(kinds, ranks, pairs):
        shapes = _shapes(ports, hints, rank, pair)
        nbytes = sum(
            int(np.prod(shapes[p.name], dtype=np.int64)) * p.tensor.dtype.size for p in ports
        )
        integers = sum(
            int(np.prod(shapes[p.name], dtype=np.int64))
            for p in ports
            if p.tensor.dtype.is_integer and not all(isinstance(d, int) for d in p.shape or ("",))
        )
        if nbytes <= most_bytes and integers <= _MOST_INTEGERS:
            draws = np.random.default_rng(number)
            yield {
                p.name: _array(draws, p.tensor.dtype, shapes[p.name], values, hints[p.name].below)
                for p in ports
            }


def _array(
    draws: np.random.Generator,
    dtype: DType,
    shape: Sequence[int],
    values: Values,
    below: int | None,
) -> Array:
    if dtype is dtypes.string:
        return made_up(draws, dtype, shape, ("a", "b") if values == "plain" else ("1", "2"))
    if values in ("ones", "zeros"):
        return np.full(shape, values == "ones").astype(dtype.as_numpy_dtype)
    if dtype.is_integer:
        low = 1 if values == "positive" else 0
        high = max(below or 0, _LEAST_INDICES) + (0 if below else low)
        top = min(high, int(dtype.max) + 1)
        return np.asarray(draws.integers(min(low, top - 1), top, shape), dtype.as_numpy_dtype)
    if values == "positive" and dtype.is_floating:
        return np.asarray(draws.uniform(0.5, 1.5, shape)).astype(dtype.as_numpy_dtype)
    return made_up(draws, dtype, shape)


def _shapes(
    ports: Sequence[InputPort], hints: Mapping[str, _Hint], rank: int, pair: tuple[int, int]
) -> dict[str, list[int]]:
    """A shape of each input; dimensions of one name have one size."""
    named: dict[str, int] = {}
    whole = {p.name: p.shape for p in ports}
    for name, shape in whole.items():
        if shape is None:
            wanted = hints[name].rank
            whole[name] = (None,) * (rank if wanted is None else wanted)
    for port in ports:
        shape = whole[port.name] or ()
        for axis, size in hints[port.name].sizes.items():
            if -len(shape) <= axis < len(shape) and isinstance(shape[axis], str):
                named.setdefault(str(shape[axis]), size)
    for port in ports:
        for axis, dim in enumerate(whole[port.name] or ()):
            if isinstance(dim, str) and "+" not in dim:
                named.setdefault(dim.strip(), pair[0 if axis == 0 else 1])
    return {
        p.name: [
            _size(dim, axis, len(whole[p.name] or ()), named, hints[p.name].sizes, pair)
            for axis, dim in enumerate(whole[p.name] or ())
        ]
        for p in ports
    }


def _size(
    dim: int | str | None,
    axis: int,
    rank: int,
    named: Mapping[str, int],
    hinted: Mapping[int, int],
    pair: tuple[int, int],
) -> int:
    other = pair[0 if axis == 0 else 1]
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str):
        # "past + length", as exporters of decoders write it.
        parts = [part.strip() for part in dim.split("+")]
        return sum(int(p) if p.isdigit() else named.get(p, other) for p in parts)
    return hinted.get(axis, hinted.get(axis - rank, other))


def _hints(proto: Any, names: set[str]) -> dict[str, _Hint]:
    """What the main graph's nodes say of inputs that come to them as they are."""
    hints = {name: _Hint() for name in names}
    same = {name: name for name in names}
    values = dict(same)
    weights = {t.name: tuple(t.dims) for t in proto.graph.initializer}
    numbers = {
        t.name: int(np.frombuffer(t.raw_data, np.int64)[0]) if t.raw_data else t.int64_data[0]
        for t in proto.graph.initializer
        if t.data_type == _INT64 and tuple(t.dims) in ((), (1,)) and (t.raw_data or t.int64_data)
    }
    for node in proto.graph.node:
        inputs = list(node.input)
        if not inputs or not node.output:
            continue
        attributes = {a.name: a for a in node.attribute}
        first = inputs[0]
        left = _LEFT.get(node.op_type)
        if left == "all":
            tables: tuple[dict[str, Any], ...] = (same, values, weights)
            for known in tables:
                if first in known:
                    known[node.output[0]] = known[first]
        elif left == "elements" and first in values:
            values[node.output[0]] = values[first]
        elif node.op_type == "Transpose" and first in weights:
            shape = weights[first]
            order = list(attributes["perm"].ints) if "perm" in attributes else None
            weights[node.output[0]] = tuple(shape[i] for i in order or range(len(shape))[::-1])
        _note_indices(node, attributes, hints, values, weights, numbers)
        if first in same:
            others = [weights.get(n) for n in inputs[1:]]
            _note_sizes(node, attributes, hints[same[first]], others)
        elif len(inputs) > 1 and inputs[1] in same and first in weights:
            _note_second(node, hints[same[inputs[1]]], weights[first])
    return hints


def _note_indices(
    node: Any,
    attributes: Mapping[str, Any],
    hints: Mapping[str, _Hint],
    values: Mapping[str, str],
    weights: Mapping[str, tuple[int, ...]],
    numbers: Mapping[str, int],
) -> None:
    """Which inputs are indices of tables."""
    inputs = list(node.input)
    pairs: list[tuple[str, int]] = []
    if node.op_type in ("Gather", "GatherElements") and weights.get(inputs[0]):
        shape = weights[inputs[0]]
        axis = attributes["axis"].i if "axis" in attributes else 0
        if -len(shape) <= axis < len(shape):
            pairs.append((inputs[1], shape[axis]))
    elif node.op_type == "GatherND" and weights.get(inputs[0]):
        pairs.append((inputs[1], min(weights[inputs[0]])))
    elif node.op_type == "OneHot" and inputs[1] in numbers:
        pairs.append((inputs[0], numbers[inputs[1]]))
    elif node.op_type == "EmbedLayerNormalization":
        tables = zip((0, 1, 7), (2, 4, 3), strict=True)  # words, segments, positions
        pairs += [
            (inputs[i], weights[inputs[t]][0])
            for i, t in tables
            if i < len(inputs) and t < len(inputs) and weights.get(inputs[t])
        ]
    for name, below in pairs:
        if name in values and below > 0:
            hint = hints[values[name]]
            hint.below = below if hint.below is None else min(hint.below, below)


def _note_sizes(
    node: Any,
    attributes: Mapping[str, Any],
    hint: _Hint,
    others: Sequence[tuple[int, ...] | None],
) -> None:
    """What an operator with a weight says of its first input."""
    weight = others[0] if others else None
    rule = _FIRST_INPUTS.get(node.op_type)
    if rule is None or not weight:
        return
    rank, found = rule(weight, {n: a.i for n, a in attributes.items()})
    hint.rank = hint.rank if rank is None else rank
    for axis, size in found.items():
        hint.sizes.setdefault(axis, size)


def _note_second(node: Any, hint: _Hint, weight: tuple[int, ...]) -> None:
    """What an operator whose first input is a weight says of its second."""
    if node.op_type == "MatMul" and weight:
        hint.sizes.setdefault(-2, weight[-1])
    elif _FIRST_INPUTS.get(node.op_type) is _elementwise and weight:
        for axis, size in _elementwise(weight, {})[1].items():
            hint.sizes.setdefault(axis, size)


# A weight's shape and the node's integer attributes -> the rank of the other input, if it follows,
# and sizes by axis.
_Rule: TypeAlias = Callable[[tuple[int, ...], Mapping[str, int]], tuple[int | None, dict[int, int]]]


def _conv(w: tuple[int, ...], attributes: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return (len(w), {1: w[1] * attributes.get("group", 1)}) if len(w) > 2 else (None, {})


def _conv_transpose(w: tuple[int, ...], _: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return (len(w), {1: w[0]}) if len(w) > 2 else (None, {})


def _product(w: tuple[int, ...], _: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return None, {-1: w[-2] if len(w) > 1 else w[0]}


def _gemm(w: tuple[int, ...], attributes: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    if len(w) != 2:
        return None, {}
    axis = 0 if attributes.get("transA") else 1
    return 2, {axis: w[1 if attributes.get("transB") else 0]}


def _recurrent(w: tuple[int, ...], _: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return (3, {2: w[2]}) if len(w) == 3 else (None, {})


def _channels(w: tuple[int, ...], _: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return None, {1: w[-1]}


def _rows(w: tuple[int, ...], _: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return None, {-1: w[-1]}


def _elementwise(w: tuple[int, ...], _: Mapping[str, int]) -> tuple[int | None, dict[int, int]]:
    return None, {-1: w[-1]} if w[-1] > 1 else {}


_FIRST_INPUTS: Mapping[str, _Rule] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MatMul": _product,
    "Gemm": _gemm,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
    "BatchNormalization": _channels,
    "InstanceNormalization": _channels,
    "LayerNormalization": _rows,
    "Add": _elementwise,
    "Sub": _elementwise,
    "Mul": _elementwise,
    "Div": _elementwise,
}
