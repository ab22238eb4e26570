"""Which blocks a long reduction is cut into, for ``accurate_sums``: short enough to be exact.

For a shape that is known the choice is made here; where only a run tells the sizes, the graph asks
for what is decided here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from tfx.graph.ir import Attributes, RawDim
from tfx.graph.tags import Tag

_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 10, 11, 16
REAL = (_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16)
# Positions that an average's kernel sums as accurately as a sum in pairs.
_LEAST_POSITIONS = 256

# Whether the graph is one that other runtimes will run, too.
_is_portable: ContextVar[bool] = ContextVar("is_portable", default=False)


@contextmanager
def portable(asked: bool) -> Iterator[None]:
    """Add float32 in float32 alone: builds of the runtime for the web have no float64 at all."""
    token = _is_portable.set(asked)
    try:
        yield
    finally:
        _is_portable.reset(token)


def is_portable() -> bool:
    """True if the graph is one that other runtimes will run, too."""
    return _is_portable.get()


def type_of_sums(dtype: int) -> int:
    """The type in which sums of blocks are added; where it is no wider, in more stages."""
    return dtype if _is_portable.get() else _DOUBLE


# Below that many elements a second pass over the input in float64 is cheaper than blocks.
_WIDE_SIZE = 4096
# Cut to a multiple of these where no block divides the length.
CUT, CUT_SHORT = 64, 24
# A run of reduced axes shorter than this leaves the blocks to a longer one.
SHORT = 32


@dataclass(frozen=True)
class Kind:
    """The decomposition of a long reduction into several shorter ones.

    Attributes:
        limit: Up to that many elements its kernel is as accurate as a sum in pairs.
        first: The reduction of the blocks.
        rest: The reduction of their results.
        last: What is done with the result.
        neutral: An element that changes nothing.
        vectors: Whether the kernel of ``first`` adds eight at a time along the last axis.
    """

    limit: int
    first: str
    rest: str = "ReduceSum"
    last: str | None = None
    neutral: float = 0.0
    vectors: bool = True


KINDS = {
    "ReduceL1": Kind(64, "ReduceL1", vectors=False),
    "ReduceL2": Kind(64, "ReduceSumSquare", last="Sqrt", vectors=False),
    "ReduceLogSum": Kind(128, "ReduceSum", last="Log"),
    "ReduceLogSumExp": Kind(1024, "ReduceLogSumExp", "ReduceLogSumExp", neutral=-math.inf),
    "ReduceMean": Kind(128, "ReduceSum"),
    "ReduceSum": Kind(128, "ReduceSum"),
    "ReduceSumSquare": Kind(64, "ReduceSumSquare", vectors=False),
}
REDUCED = frozenset(KINDS)
KINDS |= {
    "LogSoftmax": Kind(8192, "ReduceLogSumExp", "ReduceLogSumExp"),
    "Softmax": Kind(8192, "ReduceSum"),
}
SUMMED = frozenset(KINDS)
# Everything that has a correction here. ``normalizations`` has more.
STAGED = SUMMED.union(("AveragePool", "GlobalAveragePool"))
# Of the operators that are summed, the fewest elements that anything is done about.
LEAST = 64


@dataclass(frozen=True)
class Blocks(Tag):
    """Blocks that were chosen for one shape; a compiled operator has them for all like it.

    Attributes:
        axes: The reduced axes, in order.
        run: The first and last of the adjacent axes that are cut into blocks.
        length: Elements in a block; 0: everything is summed in float64.
        cut: Whether no length divides the size, and something is left over.
        lone: Whether all axes behind are of length 1.
    """

    axes: tuple[int, ...]
    run: tuple[int, int]
    length: int
    cut: bool
    lone: bool


# Everything is summed in float64, whatever the shape.
WIDE = Blocks((), (0, 0), 0, False, False)


@functools.lru_cache(maxsize=1024)
def blocks_for(
    op: str, dtype: int, shape: tuple[int, ...], axes: tuple[int, ...] | None
) -> Blocks | None:
    """Return the blocks for a reduction of a given shape; None if its kernel is accurate enough.

    Args:
        op: The reduction.
        dtype: ONNX code of the element type.
        shape: The shape.
        axes: The axes; None: all of them.
    """
    if dtype not in REAL or 0 in shape:
        return None
    places = range(len(shape)) if axes is None else axes
    if not all(-len(shape) <= a < len(shape) for a in places):
        return None
    found = tuple(sorted({a % len(shape) for a in places}))
    if math.prod(shape[a] for a in found) <= KINDS[op].limit:
        return None
    return chosen(op, dtype, shape, found)


def chosen(op: str, dtype: int, shape: Sequence[RawDim], axes: tuple[int, ...]) -> Blocks:
    """Blocks for known reduced sizes."""
    run = _best_run(shape, axes)
    lone = all(d == 1 for d in shape[run[1] + 1 :])
    sizes = [d for d in shape if isinstance(d, int)]
    small = len(sizes) == len(shape) and math.prod(sizes) <= _WIDE_SIZE
    if dtype != type_of_sums(dtype) and small:
        return Blocks(axes, run, 0, False, lone)
    size, vectors = known_size(shape, run), has_vectors(op, dtype, lone)
    length = next((b for b in preferred(lone, vectors) if size % b == 0), 0)
    return Blocks(axes, run, length or (CUT if vectors else CUT_SHORT), not length, lone)


def has_vectors(op: str, dtype: int, inner: bool) -> bool:
    """True if blocks may be long; in float64 no later stage is more precise than the first."""
    return KINDS[op].vectors and (inner or dtype != type_of_sums(dtype))


def is_long(op: str, shape: Sequence[RawDim], attrs: Attributes) -> bool:
    """True if an average is one of much more than its kernel does well.

    Args:
        op: The operator.
        shape: The shape of its input. What has unknown sizes is not long.
        attrs: Its attributes.
    """
    if op == "AveragePool":
        return math.prod(attrs["kernel_shape"]) > _LEAST_POSITIONS
    sizes = [d for d in shape[2:] if isinstance(d, int)]
    return len(sizes) == len(shape) - 2 > 0 and math.prod(sizes) > _LEAST_POSITIONS


def adjacent(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Adjacent axes put together: the first and last of each."""
    runs: list[tuple[int, int]] = []
    for a in axes:
        if runs and runs[-1][1] == a - 1:
            runs[-1] = (runs[-1][0], a)
        else:
            runs.append((a, a))
    return runs


def known_size(shape: Sequence[RawDim], run: tuple[int, int]) -> int:
    """How many elements adjacent axes have, as far as that is known."""
    return math.prod(d for d in shape[run[0] : run[1] + 1] if isinstance(d, int))


def _best_run(shape: Sequence[RawDim], axes: Sequence[int]) -> tuple[int, int]:
    """The last run unless it is short: blocks of what lies together are summed fastest."""
    runs = adjacent(axes)
    if known_size(shape, runs[-1]) >= SHORT:
        return runs[-1]
    return max(runs, key=lambda run: known_size(shape, run))


@functools.cache
def preferred(inner: bool, vectors: bool) -> tuple[int, ...]:
    """Lengths of blocks, best first: short enough to be summed right, long enough to pay."""
    if not vectors:
        return tuple(sorted(range(8, 49), key=lambda b: (b < 12, b > 32, abs(b - 20))))
    if inner:
        lengths = range(16, 161)
        return tuple(
            sorted(lengths, key=lambda b: (b > 128, b % 8 > 0, b < 48, b % 16 > 0, abs(b - 72)))
        )
    return tuple(sorted(range(12, 81), key=lambda b: (b < 24, abs(b - 48))))
