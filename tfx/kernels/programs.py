"""Programs of element-wise loops, as ``program.c`` reads them.

A ``Box`` is a loop over the elements of one shape: sources, steps on them, results. ``encode``
chooses registers for what stands between steps, and writes the list of numbers.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

FORMAT = 8
MAX_UNITS = 48
MAX_GIVEN = 1024
MAX_TEMPORARIES = 7168
MAX_LOOPS = 8192
# Of the sources of a loop, and of its results.
MAX_STREAMS = 1024
MAX_STEPS = 4096
MAX_CONSTANTS = 1024
MAX_RANK = 8
MAX_JOINED = 16
# Of an axis, and of a stride.
MAX_LENGTH = 1 << 29
# Kinds of operands; 0 is a register.
_SOURCE, _CONSTANT, _RESULT = (kind << 16 for kind in range(1, 4))
_WIDE = frozenset((7, 11, 13))


class TooLargeError(ValueError):
    """A program needs more registers, steps or tensors than there are."""


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor that a loop reads.

    Attributes:
        tensor: The number of an input, or of an output behind all inputs.
        spreads: Whether it may have an axis of size 1 where the loop has more.
    """

    tensor: int
    spreads: bool


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that is part of the program, by its place among the constants."""

    number: int


@dataclass(eq=False, slots=True)
class Step:
    """An instruction on what sources hold, constants, and what earlier steps made.

    Attributes:
        instruction: Its number.
        kind: Type of what it makes, ONNX's code.
        operands: What it works on.
        result: The output that it writes; None: what it makes is only used in the loop.
    """

    instruction: int
    kind: int
    operands: tuple[Operand, ...]
    result: int | None = None


Operand: TypeAlias = Step | Source | Constant


@dataclass(slots=True)
class Box:
    """A loop over the elements of one shape."""

    rank: int
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A loop that reduces a tensor over axes.

    Attributes:
        operation: 0 sum, 1 mean, 2 maximum, 3 minimum.
        tensor: The number of an input, or of an output behind all inputs.
        axes: Those that are reduced, from 0.
        keeps: Whether they stay as axes of size 1.
        output: The output that it writes.
    """

    operation: int
    tensor: int
    axes: tuple[int, ...]
    keeps: bool
    output: int


@dataclass(frozen=True, slots=True)
class Product:
    """A loop that multiplies matrices.

    Attributes:
        left: The number of an input, or of an output behind all inputs.
        right: Likewise.
        transposes: Whether either is transposed.
        output: The output that it writes.
    """

    left: int
    right: int
    transposes: tuple[bool, bool]
    output: int


@dataclass(frozen=True, slots=True)
class Row:
    """A copy of a row of a tensor along its first axis.

    Attributes:
        tensor: The number of an input, or of an output behind all inputs.
        index: Likewise, of a tensor of one integer; its axis, if it has one, is kept.
        output: The output that it writes.
    """

    tensor: int
    index: int
    output: int


@dataclass(frozen=True, slots=True)
class View:
    """A copy of a part of a tensor of known sizes.

    Attributes:
        tensor: The number of an input, or of an output behind all inputs.
        whole: Its sizes.
        offset: Of the first element that is copied.
        sizes: Of the result.
        strides: From one element to the next along each axis of the result, in elements.
        output: The output that it writes.
    """

    tensor: int
    whole: tuple[int, ...]
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    output: int


@dataclass(frozen=True, slots=True)
class Place:
    """A copy of a tensor of known sizes to a part of a larger one.

    Attributes:
        tensor: The number of an input, or of an output behind all inputs.
        whole: The sizes of the result.
        offset: In the result, of the first element.
        sizes: Of the tensor.
        strides: In the result, from one element to the next along each axis of the tensor.
        fill: The bits of what stands elsewhere, as a signed integer.
        output: The output that it writes.
    """

    tensor: int
    whole: tuple[int, ...]
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    fill: int
    output: int


@dataclass(frozen=True, slots=True)
class Join:
    """A copy of tensors behind one another.

    Attributes:
        axis: Along which they are joined, from 0.
        tensors: The numbers of inputs, or of outputs behind all inputs.
        output: The output that it writes.
    """

    axis: int
    tensors: tuple[int, ...]
    output: int


class MatrixOperation(enum.IntEnum):
    """A routine on matrices: their Cholesky factor, solutions of systems, decompositions.

    The results of a decomposition have a number each. With exchanged rows: both triangles in one
    matrix, the numbers of the rows, the sign of their order. Of a symmetric matrix: eigenvalues and
    vectors. By singular values: the left vectors times these, the values, the right vectors.
    """

    CHOLESKY = 0
    LOWER_SOLVE = 1
    UPPER_SOLVE = 2
    SOLVE = 3
    LU_FACTORS = 4
    LU_ORDER = 5
    LU_SIGN = 6
    EIGEN_VALUES = 7
    EIGEN_VECTORS = 8
    SINGULAR_SCALED = 9
    SINGULAR_VALUES = 10
    SINGULAR_VECTORS = 11
    REDUCED_Q = 12
    REDUCED_R = 13
    FULL_Q = 14
    FULL_R = 15

    @property
    def has_right_sides(self) -> bool:
        """Whether it is given right-hand sides, too."""
        return MatrixOperation.LOWER_SOLVE <= self <= MatrixOperation.SOLVE

    @property
    def rotates(self) -> bool:
        """Whether it goes through a matrix again and again."""
        return MatrixOperation.EIGEN_VALUES <= self <= MatrixOperation.SINGULAR_VECTORS


@dataclass(frozen=True, slots=True)
class Elimination:
    """A routine on the matrices in the last two axes of a tensor.

    Attributes:
        operation: Which one.
        matrix: The number of an input, or of an output behind all inputs.
        right: Likewise, of right-hand sides; the matrix again where there are none.
        output: The output that it writes.
    """

    operation: MatrixOperation
    matrix: int
    right: int
    output: int


# What reads tensors as a whole, and is no loop over the elements of one shape.
Whole: TypeAlias = Reduction | Product | Row | View | Place | Join | Elimination


def bits(number: np.ndarray[Any, Any]) -> int:
    """The bits of an array of one number, in the low bytes of a signed integer."""
    return int.from_bytes(number.tobytes().ljust(8, b"\0"), "little", signed=True)


def encode(
    inputs: Sequence[int],
    outputs: Sequence[int],
    temporaries: Sequence[tuple[int, int]],
    constants: Sequence[int],
    boxes: Sequence[Box | Whole],
) -> list[int]:
    """The numbers of a program.

    Args:
        inputs: Types of what it is given.
        outputs: Types of what it writes.
        temporaries: Type and place of what it writes for itself; ``boxes`` number them behind the
            outputs. Those of one place share memory: writing one ends the one before.
        constants: The bits of each constant, as a signed integer.
        boxes: The loops, in their order.

    Raises:
        TooLargeError: it needs more of something than there is.
    """
    # Of a value that only copies of no elements need nothing is written.
    boxes = [box for box in boxes if not isinstance(box, Box) or _writes(box)]
    counts = [len(inputs), len(outputs), len(temporaries), len(constants), len(boxes)]
    limits = MAX_GIVEN, MAX_GIVEN, MAX_TEMPORARIES, MAX_CONSTANTS, MAX_LOOPS
    if any(count > most for count, most in zip(counts, limits, strict=True)):
        raise TooLargeError
    types = [*inputs, *outputs, *(kind for kind, _ in temporaries)]
    words = [FORMAT, *counts, *inputs, *outputs]
    for temporary in temporaries:
        words += temporary
    words += constants
    for box in boxes:
        words += _encode_box(box, types) if isinstance(box, Box) else _encode_whole(box)
    return words


def _writes(box: Box) -> bool:
    return any(step.result is not None for step in box.steps)


def _encode_whole(box: Whole) -> list[int]:
    match box:
        case Reduction():
            axes = sum(1 << axis for axis in box.axes)
            return [1, box.operation, box.tensor, axes, int(box.keeps), box.output]
        case Product():
            left, right = box.transposes
            return [2, box.left, box.right, int(left) + 2 * int(right), box.output]
        case Row():
            return [3, box.tensor, box.index, box.output]
        case View():
            return [4, box.tensor, *_part(box), box.output]
        case Place():
            return [5, box.tensor, *_part(box), box.fill, box.output]
        case Join():
            return [6, box.axis, len(box.tensors), *box.tensors, box.output]
        case Elimination():
            return [7, int(box.operation), box.matrix, box.right, box.output]


def _part(box: View | Place) -> list[int]:
    whole = [len(box.whole), *box.whole]
    return [*whole, box.offset, len(box.sizes), *box.sizes, *box.strides]


class _Registers:
    """Units of the first cache that are free; of two, those side by side."""

    def __init__(self) -> None:
        self._free: list[bool] = []

    @property
    def count(self) -> int:
        return max(len(self._free), 1)

    def take(self, wide: bool) -> int:
        free, width = self._free, 2 if wide else 1
        if not wide and True in free:
            unit = free.index(True)
            free[unit] = False
            return unit
        for unit in range(len(free)):
            if all(u < len(free) and free[u] for u in range(unit, unit + width)):
                break
        else:
            unit = len(free)
            if wide and free and free[-1]:
                unit -= 1
            free += [True] * (unit + width - len(free))
        if unit + width > MAX_UNITS:
            raise TooLargeError
        for u in range(unit, unit + width):
            free[u] = False
        return unit

    def give(self, unit: int, wide: bool) -> None:
        for u in range(unit, unit + (2 if wide else 1)):
            self._free[u] = True


def _encode_box(box: Box, types: Sequence[int]) -> list[int]:
    if len(box.steps) > MAX_STEPS or box.rank > MAX_RANK:
        raise TooLargeError
    try:
        return _encode_steps(box, _in_chains(box.steps), types)
    except TooLargeError:  # fewer values wait in the order of the program, perhaps
        return _encode_steps(box, box.steps, types)


def _encode_steps(box: Box, steps: Sequence[Step], types: Sequence[int]) -> list[int]:
    last_use: dict[Step, int] = {}
    sources: dict[Source, int] = {}
    for at, step in enumerate(steps):
        for operand in step.operands:
            if isinstance(operand, Source):
                sources.setdefault(operand, len(sources))
            elif isinstance(operand, Step):
                last_use[operand] = at
    registers = _Registers()
    units = {s: registers.take(types[s.tensor] in _WIDE) for s in sources if s.spreads}
    places: dict[Operand, int] = {}
    results: list[int] = []
    written: list[int] = []
    for at, step in enumerate(steps):
        words = [_operand(operand, sources, places) for operand in step.operands]
        words += [0] * (3 - len(words))
        if step.result is not None:
            # What later steps need of it they read from the output, which is still in the cache.
            place = _RESULT + len(results)
            results.append(step.result)
        else:
            place = registers.take(step.kind in _WIDE)
        places[step] = place
        written += [step.instruction, place, *words]
        for operand in (*step.operands, step):
            if not isinstance(operand, Step) or last_use.get(operand, at) != at:
                continue
            if places[operand] < _SOURCE:
                registers.give(places[operand], operand.kind in _WIDE)
    if max(len(sources), len(results)) > MAX_STREAMS:
        raise TooLargeError
    words = [0, box.rank, registers.count, len(sources), len(results), len(steps)]
    for source in sources:
        words += [source.tensor, int(source.spreads), units.get(source, 0)]
    return words + results + written


def _in_chains(steps: Sequence[Step]) -> list[Step]:
    """The steps in an order in which most follow what they need, so that values stay in registers.

    What is made first of several operands is what takes the most steps, as the fewest values wait
    then (Sethi and Ullman, 1970).
    """
    heights: dict[Step, int] = {}
    for step in steps:
        needed = [heights[x] for x in step.operands if isinstance(x, Step)]
        heights[step] = 1 + max(needed, default=0)
    ordered: list[Step] = []
    seen: set[Step] = set()
    for last in reversed(steps):
        if last in seen:
            continue
        part: list[Step] = []
        waiting = [(last, False)]
        while waiting:
            step, is_ready = waiting.pop()
            if is_ready:
                part.append(step)
            elif step not in seen:
                seen.add(step)
                waiting.append((step, True))
                operands = [x for x in step.operands if isinstance(x, Step)]
                waiting += ((x, False) for x in sorted(operands, key=heights.__getitem__))
        ordered += part
    return ordered


def _operand(operand: Operand, sources: Mapping[Source, int], places: Mapping[Operand, int]) -> int:
    if isinstance(operand, Constant):
        return _CONSTANT + operand.number
    if isinstance(operand, Source):
        return _SOURCE + sources[operand]
    return places[operand]
