"""Run-time failures of graphs, for contents that an operation cannot accept.

ONNX has no operator that fails. A graph that must fail reshapes to an impossible dimension, with
one number for each reason, which is read back from the runtime's message. Saved graphs contain
these numbers, so they never change.
"""

from __future__ import annotations

import enum
import re
from typing import Final

_NOT_SORTED: Final = (
    "segment ids are not increasing from 0 on",
    "sort them, or use an unsorted_segment operation",
)
# No sum or product of the dimensions of a tensor comes to these numbers.
_FIRST: Final = -(2**40)
# What a kernel says, and what the inference of shapes says when a session is made of a graph whose
# check fails whatever it is given.
_DIMENSION: Final = re.compile(r"(?:less than -1, got|Invalid dimension value:) (-\d+)\s*$")


class Refusal(enum.Enum):
    """A reason to fail: its number, the operation that it is a check of, and what is said.

    Attributes:
        dimension: The dimension that a reshape asks for.
        op: The operation, for the exception.
        text: What is wrong.
        advice: What to do about it, or nothing.
    """

    JOINED = 7, "Concat", "the tensors that are joined differ in shape along another axis"
    STACKED = (
        8,
        "Stack",
        "the elements of the tensor array, or of the results, that are stacked differ in shape",
    )
    ENSURED = 9, "EnsureShape", "its shape is not the one that it was said to have"
    SEGMENT_SUM = 10, "SegmentSum", *_NOT_SORTED
    PARTITIONS = 11, "DynamicPartition", "partitions are not in [0, num_partitions)"
    UNRAVELED = 12, "UnravelIndex", "index is out of bound as with dims"
    NEGATIVE_POWER = (
        13,
        "Pow",
        "Integers to negative integer powers are not allowed",
        "cast to a floating dtype for fractions",
    )
    SEGMENT_MEAN = 14, "SegmentMean", *_NOT_SORTED
    SEGMENT_PROD = 15, "SegmentProd", *_NOT_SORTED
    SEGMENT_MAX = 16, "SegmentMax", *_NOT_SORTED
    SEGMENT_MIN = 17, "SegmentMin", *_NOT_SORTED
    SLICED = 18, "Slice", "Expected begin and begin + size inside of the tensor"
    RANGE_UPWARDS = 19, "Range", "Requires start <= limit when delta > 0"
    RANGE_DOWNWARDS = 20, "Range", "Requires start >= limit when delta < 0"
    RANGE = (
        21,
        "Range",
        "Requires start <= limit when delta > 0, and start >= limit when delta < 0",
    )
    DEPTH = 22, "OneHot", "depth must be non-negative"
    PADDINGS = 23, "Pad", "Paddings must be non-negative"
    COUNTED = 24, "DenseBincount", "Input arr must be non-negative!"
    SIDE = 25, "Eye", "Dimension must be >= 0"
    LONGEST = 26, "SequenceMask", "maxlen must not be negative"
    PERMUTATION = (
        27,
        "InvertPermutation",
        "a number is not between 0 and the length, or is duplicated in the input",
    )
    ENSURED_RANK = 28, "EnsureShape", "it has not as many axes as it was said to have"
    BATCH_GATHERED = (
        30,
        "GatherV2",
        "batch_dims must be less than or equal to axis, and the leading dimensions of params equal "
        "to those of indices",
    )
    REVERSED = 31, "ReverseV2", "an axis is outside of the tensor, or is given twice"
    NO_SEQUENCES = 29, "RNN", "there are no sequences, no steps or no features"
    ROW_PARTITION = 32, "RaggedTensor", "the row partition does not form a valid RaggedTensor"
    ROW_LENGTHS = (
        33,
        "RaggedTensor",
        "the rows of ragged tensors differ in length, and neither is broadcast",
    )
    SPARSE_INDICES = (
        34,
        "SparseTensor",
        "indices are out of order, repeated or out of bounds",
        "use tf.sparse.reorder to create a correctly ordered copy",
    )
    SPARSE_SHAPES = 35, "SparseTensor", "the shapes of sparse tensors do not match"
    SPARSE_INNER = (
        36,
        "SparseTensorDenseMatMul",
        "Cannot multiply A and B because inner dimension does not match",
    )
    SPARSE_RESHAPE = (
        37,
        "SparseReshape",
        "the requested shape has another number of dense values than the tensor",
    )
    SPARSE_MAPPED = 38, "map_values", "Mismatched indices of sparse tensors"
    SPARSE_RIGHT_RAGGED = 40, "RaggedFromSparse", "SparseTensor is not right-ragged"
    SPARSE_RESET = 39, "SparseResetShape", "new_shape is smaller than the shape of the tensor"
    SPARSE_SIZE = (
        41,
        "SparseTensor",
        "the dense_shape has more than 2**63 - 1 elements: entries have no number in int64",
        "give it a smaller dense_shape, or map its indices to smaller ones",
    )
    CTC_FRAMES = (
        42,
        "CTCLoss",
        "Not enough time for target transition sequence: a row of labels is longer than its frames",
        "give each text at least as many frames as labels",
    )

    SEGMENT_IDS = 43, "SegmentReduction", "segment_ids should be a vector"
    SEGMENT_ROWS = (
        44,
        "SegmentReduction",
        "data.shape does not start with segment_ids.shape",
        "give one number for each row",
    )

    DIAGONAL = 46, "DiagPart", "the two halves of the shape of the input differ"
    COUNT = 45, "Count", "a number of things must be non-negative"
    BROADCAST = (
        47,
        "BroadcastArgs",
        "Incompatible shapes: two dimensions must be equal or one of them 1",
    )
    SHUFFLED = 48, "RandomIndexShuffle", "index is not in [0, max_index]"
    STITCHED = 49, "DynamicStitch", "indices must not be negative"

    def __init__(self, number: int, op: str, text: str, advice: str = "") -> None:
        self.dimension = _FIRST - number
        self.op = op
        self.text = text
        self.advice = advice

    def __str__(self) -> str:
        return self.said()

    def said(self, where: str = "") -> str:
        """The message, with what it says of the place behind the operation."""
        return f"{self.text} in {self.op}{where}" + (f"; {self.advice}" if self.advice else "")


_BY_DIMENSION: Final = {reason.dimension: reason for reason in Refusal}


def of_dimension(dimension: int) -> Refusal | None:
    """The reason that a dimension stands for."""
    return _BY_DIMENSION.get(dimension)


def refusal_in(message: str) -> Refusal | None:
    """The reason in what the runtime says of a graph that failed; None: it is another failure."""
    found = _DIMENSION.search(message)
    return None if found is None else of_dimension(int(found[1]))
