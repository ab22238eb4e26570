"""The partitions of a ``RaggedFeature`` in a batch: those of each Example one behind the other.

Owns the row lengths that each kind of partition stands for. Python computes nothing here: it is
operators on the numbers that were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.tile import repeated_places
from tfx.ops.common.arguments import cast_to
from tfx.parsing.features import RaggedFeature
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops.positions import where_true


def partitioned(
    feature: RaggedFeature, values: Tensor, lengths: Tensor, parts: Sequence[Tensor], batched: bool
) -> Any:
    """Values cut into rows.

    Args:
        feature: Which partitions there are, the outer ones first.
        values: The values of all Examples.
        lengths: How many values each Example has.
        parts: For each partition with a key its numbers in all Examples, and how many each has.
        batched: Whether there is an axis for the batch.
    """
    kind = feature.row_splits_dtype
    pairs = [(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
    result: Any = values
    counts = cast_to(lengths, dtypes.int64)  # how many rows of the result each Example has
    for partition in reversed(feature.partitions):
        if not hasattr(partition, "key"):
            size = int64_constant(max(int(partition.length), 1))
            counts = ox.Div(counts, size)
            result = RaggedTensor.from_uniform_row_length(
                result, cast_to(int64_constant(int(partition.length)), kind), validate=False
            )
            continue
        numbers, sizes = pairs.pop()
        rows, counts = _lengths(type(partition).__name__, numbers, sizes, counts)
        result = RaggedTensor.from_row_lengths(
            result, cast_to(rows, kind), validate=bool(feature.validate)
        )
    if not batched:
        return result if isinstance(result, Tensor) else _uniform_as_tensor(result, feature)
    return RaggedTensor.from_row_lengths(result, cast_to(counts, kind), validate=False)


def _uniform_as_tensor(x: RaggedTensor, feature: RaggedFeature) -> Any:
    """A tensor where all rows are of one known length, as in TensorFlow."""
    if all(not hasattr(p, "key") for p in feature.partitions):
        return x.to_tensor()
    return x


def _lengths(kind: str, numbers: Tensor, sizes: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """The lengths of the rows, and how many rows each Example has.

    Args:
        kind: The class of the partition.
        numbers: Its numbers in all Examples.
        sizes: How many of them each Example has.
        below: How many things each Example has that are cut.
    """
    if kind == "_RowLengths":
        return numbers, sizes
    if kind == "_ValueRowIds":
        return _of_row_ids(numbers, sizes)
    one, zero = int64_constant(1), int64_constant(0)
    ends = ox.CumSum(sizes, zero)
    first = ox.Sub(ends, sizes)  # where the numbers of each Example begin
    some = where_true(ox.Less(zero, sizes))
    begin, last = ox.Gather(first, some), ox.Sub(ox.Gather(ends, some), one)
    after = ox.Concat(ox.Slice(numbers, ox.ints([1]), ox.ints([2**63 - 1])), ox.ints([0]), axis=0)
    after = ox.Slice(after, ox.ints([0]), ox.Shape(numbers))
    before = ox.Concat(ox.ints([0]), numbers, axis=0)
    before = ox.Slice(before, ox.ints([0]), ox.Shape(numbers))
    if kind == "_RowSplits":
        inside = ox.ScatterElements(
            ox.Expand(one, ox.Shape(numbers)), last, ox.Expand(zero, ox.Shape(last)), axis=0
        )
        steps = ox.Sub(after, numbers)
        return ox.Gather(steps, where_true(ox.Cast(inside, to=dtypes.bool.onnx))), ox.Max(
            ox.Sub(sizes, one), zero
        )
    if kind == "_RowStarts":
        limits = ox.ScatterElements(after, last, ox.Gather(below, some), axis=0)
        return ox.Sub(limits, numbers), sizes
    starts = ox.ScatterElements(before, begin, ox.Expand(zero, ox.Shape(begin)), axis=0)
    return ox.Sub(numbers, starts), sizes


def _of_row_ids(numbers: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Row numbers: an Example has as many rows as its largest one says."""
    zero, one = int64_constant(0), int64_constant(1)
    examples = repeated_places(sizes)
    none = ox.Expand(int64_constant(-1), ox.Shape(sizes))
    largest = ox.ScatterElements(none, examples, numbers, axis=0, reduction="max")
    counts = ox.Add(largest, one)
    first = ox.Sub(ox.CumSum(counts, zero), counts)
    rows = ox.Add(ox.Gather(first, examples), numbers)
    total = ox.ReduceSum(counts, keepdims=1)
    empty = ox.Expand(zero, total)
    ones = ox.Expand(one, ox.Shape(numbers))
    return ox.ScatterElements(empty, rows, ones, axis=0, reduction="add"), counts
