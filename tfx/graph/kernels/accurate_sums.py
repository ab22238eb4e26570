"""Reductions over many elements, in stages that keep the rounding errors small.

Seen in ONNX Runtime 1.31: its kernels add one element after the other, eight at a time where the
reduced axis is the last one. Of ten million float32 values ``0.1`` the mean is 0.101, along a first
axis it is wrong in the fifth digit after a thousand. Here such a reduction becomes two: sums of
blocks of up to 128 elements, which are a view of the input, and the reduction of those sums in
float64. In float64 itself there are as many stages as it takes. Few elements are summed as before:
where sizes are known while the graph is compiled nothing is added for them, elsewhere the graph
asks at run time. On a GPU the kernels are right. What sums inside of another kernel, as ``Softmax``
does, is written with such reductions in ``inner_sums``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.graph.ir import Attributes, Graph, Node, Value
from tfx.graph.kernels.nan_extremes import Clean
from tfx.graph.kernels.sum_blocks import (
    CUT,
    CUT_SHORT,
    KINDS,
    REAL,
    REDUCED,
    SHORT,
    Blocks,
    Kind,
    adjacent,
    chosen,
    has_vectors,
    is_portable,
    known_size,
    preferred,
    type_of_sums,
)
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark, Tag

_FLOAT, _INT64, _BOOL, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 7, 9, 10, 11, 16
# Elements of a later stage over sums in float64 whose number is not known.
_STAGE = 16
# Of sizes known at run time, the shortest blocks: rows of fewer cost more than a copy of the input.
_LEAST_BLOCK, _LEAST_BLOCK_INSIDE, _LEAST_BLOCK_SLOW = 32, 12, 12


def _reduction(out: Graph, node: Node, asks: bool) -> bool:
    """Write a reduction in stages; False: it is short, or not of real numbers.

    Args:
        out: The graph under construction.
        node: The reduction.
        asks: Whether the graph may ask for sizes at run time, with an ``If``. In branches and
            called graphs it must not: branches inside of branches are avoided.
    """
    x, tag = node.inputs[0], node.tag.tag if isinstance(node.tag, Clean) else node.tag
    if tag is Mark.PART_OF_SUM or x is None or x.dtype not in REAL:
        return False
    if isinstance(tag, Blocks):
        plain = node.replaced(tag=None)
        return _in_blocks(out, plain, tag, True)
    found = _static_axes(node)
    if x.shape is None or found is None:
        return _in_double(out, node)
    count = [x.shape[a] for a in found]
    known = math.prod(d for d in count if isinstance(d, int))
    if not found or known == 0:
        return False
    if all(isinstance(d, int) for d in count):
        if known <= KINDS[node.op].limit:
            return False
        return _in_blocks(out, node, chosen(node.op, x.dtype, x.shape, found), False)
    return _ask(out, node, x, found) if asks else _in_double(out, node)


def _static_axes(node: Node) -> tuple[int, ...] | None:
    """The axes, counted from the front; None: they are known at run time only."""
    x, axes = (*node.inputs, None)[:2]
    assert x is not None
    given: list[int] = []
    if axes is not None:
        if axes.const is None:
            return None
        given = [int(a) for a in axes.const.reshape(-1)]
    if not given:
        if node.attrs.get("noop_with_empty_axes"):
            return ()
        return None if x.shape is None else tuple(range(len(x.shape)))
    if x.shape is None:
        return None
    return tuple(sorted({a % len(x.shape) for a in given}))


def _in_double(out: Graph, node: Node) -> bool:
    """Sum in float64 what nothing is known of; sums of float64 stay as they are."""
    x = node.inputs[0]
    assert x is not None
    if x.dtype == _DOUBLE or is_portable():
        return False
    write = ReplacementBuilder(out, node)
    total = part_of_sum(write, node.op, (write.Cast(x, to=_DOUBLE), *node.inputs[1:]), node.attrs)
    write.Cast(total, to=node.outputs[0].dtype)
    return write.finish()


def part_of_sum(
    write: ReplacementBuilder, op: str, inputs: Sequence[Value | None], attrs: Attributes
) -> Value:
    """What an operator gives that is not written in stages again."""
    made = write.apply(op, inputs, attrs)
    assert made.node is not None
    made.node.tag = _tag_of_part(op)
    return made


def _tag_of_part(op: str) -> Tag:
    """Return the tag of a partial sum: the whole input has already been checked for NaN."""
    return Clean(Mark.PART_OF_SUM) if op == "ReduceLogSumExp" else Mark.PART_OF_SUM


def _in_blocks(out: Graph, node: Node, blocks: Blocks, sure: bool) -> bool:
    """Reduce in chosen blocks; ``sure``: the input is known to have elements."""
    x = node.inputs[0]
    assert x is not None
    if not blocks.length:
        return _in_double(out, node)
    write = ReplacementBuilder(out, node)
    kind = KINDS[node.op]
    if x.dtype in (_FLOAT16, _BFLOAT16):
        x = write.Cast(x, to=_FLOAT)
    divisor = _count(write, x, blocks.axes) if node.op == "ReduceMean" else None
    length = write.ints([blocks.length])
    if blocks.cut:
        parts = _sums_of_head_and_tail(write, x, blocks, length, kind.first, sure)
    else:
        parts = _sums_of_blocks(write, x, blocks, length, kind.first, sure)
    attrs, axes = {"keepdims": node.attrs.get("keepdims", 1)}, write.ints(blocks.axes)
    assert parts.shape is not None
    wide = type_of_sums(x.dtype)
    if x.dtype != wide:
        result = part_of_sum(write, kind.rest, (write.Cast(parts, to=wide), axes), attrs)
    elif is_static(tuple(parts.shape[a] for a in blocks.axes)):
        # A reduction like any other, which may need stages too.
        result = write.apply(kind.rest, (parts, axes), attrs)
    else:
        result = part_of_sum(
            write, kind.rest, (_stages(write, parts, blocks.axes, kind), axes), attrs
        )
    _finished(write, node, kind, result, divisor)
    return write.finish()


def _finished(
    write: ReplacementBuilder, node: Node, kind: Kind, result: Value, divisor: Value | None
) -> None:
    """Apply what follows the sum, and cast the result from float64 to the output's type."""
    if divisor is not None:
        result = write.Div(result, divisor)
    if kind.last is not None:
        result = write.apply(kind.last, (result,))
    if node.outputs[0].dtype != result.dtype:
        write.Cast(result, to=node.outputs[0].dtype)
    elif result.node is not None and result.node.tag in (Mark.PART_OF_SUM, Clean(Mark.PART_OF_SUM)):
        write.Identity(result)  # the tag stays with the sum


def _count(write: ReplacementBuilder, x: Value, axes: Sequence[int]) -> Value:
    """Return the number of elements reduced to one, in the type of their sum."""
    wide = type_of_sums(x.dtype)
    assert x.shape is not None
    known = [d for d in (x.shape[a] for a in axes) if isinstance(d, int)]
    if len(known) == len(axes):
        return write.constant(math.prod(known), wide)
    if len(axes) == len(x.shape):
        return write.Cast(write.Size(x), to=wide)
    found = write.Gather(write.Shape(x), write.ints(axes))
    return write.Cast(write.ReduceProd(found, keepdims=0), to=wide)


def _sums_of_blocks(
    write: ReplacementBuilder, x: Value, blocks: Blocks, length: Value, op: str, sure: bool
) -> Value:
    """``x`` with the axes of the run as one of a number for each block, behind axes of length 1."""
    first, last = blocks.run
    assert x.shape is not None
    run = x.shape[first : last + 1]
    if sure:
        many = write.ints([-1])
    elif is_static(run) and length.const is not None:
        many = write.ints([math.prod(d for d in run if isinstance(d, int)) // int(length.const[0])])
    else:
        if length.node is not None:
            length.node.tag = Mark.SAFE_DIVISOR
        many = write.Div(_size_of_run(write, x, blocks.run), length)
    before, ones = write.ints([0] * first), write.ints([1] * (last - first))
    behind, attrs = x.shape[last + 1 :], {"allowzero": 0}
    if blocks.lone:
        parts = [before, ones, many, write.ints([1] * len(behind)), length]
    elif is_static(behind):
        sizes = write.ints([d for d in behind if isinstance(d, int)])
        parts = [before, ones, many, length, sizes]
    else:
        if not sure:
            # One of the sizes may be 0, which must not be taken for "as in the input".
            attrs = {"allowzero": 1}
            before = write.Shape(x, start=0, end=first)
        parts = [before, ones, many, length, write.Shape(x, start=last + 1)]
    return _sums_of_view(write, x, blocks, _joined(write, parts), op, attrs)


def _sums_of_view(
    write: ReplacementBuilder, x: Value, blocks: Blocks, target: Value, op: str, attrs: Attributes
) -> Value:
    assert x.shape is not None
    place = len(x.shape) if blocks.lone else blocks.run[1] + 1
    cut = write.Reshape(x, target, **attrs)
    return part_of_sum(write, op, (cut, write.ints([place])), {"keepdims": 0})


def _size_of_run(write: ReplacementBuilder, x: Value, run: tuple[int, int]) -> Value:
    size = write.Shape(x, start=run[0], end=run[1] + 1)
    return size if run[0] == run[1] else write.ReduceProd(size, keepdims=1)


def _sums_of_head_and_tail(
    write: ReplacementBuilder, x: Value, blocks: Blocks, length: Value, op: str, sure: bool
) -> Value:
    """The same where no block divides the size: what is left over makes one more sum."""
    x = _as_one_axis(write, x, blocks.run)
    last = blocks.run[1]
    assert x.shape is not None
    size = x.shape[last]
    if isinstance(size, int):
        end = write.ints([size - size % blocks.length])
    else:
        found = write.Shape(x, start=last, end=last + 1)
        end = write.Sub(found, write.Mod(found, length))
    axis = write.ints([last])
    head = write.Slice(x, write.ints([0]), end, axis)
    tail = write.Slice(x, end, write.ints([2**62]), axis)
    sums = (
        _sums_of_blocks(write, head, blocks, length, op, sure),
        part_of_sum(write, op, (tail, axis), {"keepdims": 1}),
    )
    return write.Concat(*sums, axis=last)


def _as_one_axis(write: ReplacementBuilder, x: Value, run: tuple[int, int]) -> Value:
    """``x`` with the elements of a run of axes on the last of them."""
    first, last = run
    if first == last:
        return x
    assert x.shape is not None
    before = write.Shape(x, start=0, end=first)
    behind = write.Shape(x, start=last + 1)
    sizes = [d for d in x.shape[first : last + 1] if isinstance(d, int)]
    known = len(sizes) == last + 1 - first
    size = write.ints([math.prod(sizes)]) if known else _size_of_run(write, x, run)
    parts = [before, write.ints([1] * (last - first)), size, behind]
    made = write.Reshape(x, _joined(write, parts), allowzero=1)
    if known:
        ones = (1,) * (last - first)
        made.shape = (*x.shape[:first], *ones, math.prod(sizes), *x.shape[last + 1 :])
    return made


def _joined(write: ReplacementBuilder, parts: Sequence[Value]) -> Value:
    """Vectors of sizes in one."""
    known = [p.const for p in parts]
    if all(k is not None for k in known):
        return write.ints([int(d) for k in known if k is not None for d in k])
    return write.Concat(*[p for p in parts if p.shape != (0,)], axis=0)


def _stages(write: ReplacementBuilder, parts: Value, axes: tuple[int, ...], kind: Kind) -> Value:
    """Four more stages for each run over sums in float64 whose number is not known."""
    for run in adjacent(axes):
        parts = _as_one_axis(write, parts, run)
        assert parts.shape is not None
        last = run[1]
        lone = all(d == 1 for d in parts.shape[last + 1 :])
        again = Blocks(axes, (last, last), 0, False, lone)
        for _ in range(4):
            size = write.Shape(parts, start=last, end=last + 1)
            # As many as there are, where they are few: padding must not make a tensor large.
            length = write.Min(size, write.ints([_STAGE]))
            assert length.node is not None
            length.node.tag = Mark.SAFE_DIVISOR
            missing = write.Mod(write.Neg(size), length)
            # Not Pad, which onnx does not bring to older opsets.
            neutral = write.graph.add_constant(
                np.array(kind.neutral, dtypes.from_onnx(parts.dtype).as_numpy_dtype), parts.dtype
            )
            before = write.Shape(parts, start=0, end=last)
            behind = write.Shape(parts, start=last + 1)
            rest = write.Expand(neutral, _joined(write, [before, missing, behind]))
            padded = write.Concat(parts, rest, axis=last)
            parts = _sums_of_blocks(write, padded, again, length, kind.rest, False)
    return parts


# Of sizes known at run time only


def _ask(out: Graph, node: Node, x: Value, axes: tuple[int, ...]) -> bool:
    """The reduction as it is where it is short, in stages where it is long."""
    return branch(out, node, x, axes, lambda w, n: _with_found_blocks(w, n, x, axes))


def branch(
    out: Graph,
    node: Node,
    x: Value,
    axes: tuple[int, ...],
    write_long: Callable[[ReplacementBuilder, Node], Value],
) -> bool:
    """``write_branches`` of an operator with one output, by its own limit; True: it is written."""
    limit = KINDS[node.op].limit
    write_branches(out, node, x, axes, limit, lambda w, n: [write_long(w, n)])
    return True


def write_branches(
    out: Graph,
    node: Node,
    x: Value,
    axes: tuple[int, ...],
    limit: int,
    write_long: Callable[[ReplacementBuilder, Node], list[Value]],
    *,
    or_nothing: bool = False,
) -> None:
    """An operator as it is where it is short, written otherwise where it is long.

    Args:
        out: The graph under construction.
        node: The operator.
        x: What it sums.
        axes: Along which axes.
        limit: The most elements along them that are short.
        write_long: Writes it otherwise; gives its outputs.
        or_nothing: Whether it is written otherwise, too, where it has no elements.
    """
    write = ReplacementBuilder(out, node)
    many = _is_long(write, x, axes, limit)
    if or_nothing:
        none = write.Equal(write.Size(x), write.constant(0, _INT64))
        many = write.Or(many, none)
    long, short = Graph(f"{node.name}_long", out), Graph(f"{node.name}_short", out)
    inner = Node(
        node.op,
        node.inputs,
        node.attrs,
        out.unique_name(f"{node.name}_long"),
        node.source,
        outputs=node.outputs,
    )
    long.outputs = write_long(ReplacementBuilder(long, inner), inner)
    types = [(v.dtype, v.shape) for v in node.outputs]
    plain = short.add_node(
        node.op,
        node.inputs,
        node.attrs,
        types,
        name=f"{inner.name}_plain",
        source=node.source,
        tag=_tag_of_part(node.op),
    )
    short.outputs = list(plain.outputs)
    bodies = {"then_branch": long, "else_branch": short}
    made = Node(
        "If", (many,), bodies, node.name, node.source, outputs=node.outputs, tag=Mark.PART_OF_SUM
    )
    out.nodes.append(made)


def reduced_in_branch(
    write: ReplacementBuilder, node: Node, op: str, x: Value, axes: tuple[int, ...]
) -> Value:
    """A reduction in stages, in a branch of an operator: axes stay as axes of length 1.

    Args:
        write: Takes the nodes.
        node: The operator.
        op: The reduction.
        x: What is reduced, of sizes that are known at run time only.
        axes: Along which axes.
    """
    reduced = Node(
        op,
        (x,),
        {"keepdims": 1},
        node.name,
        node.source,
        outputs=(Value(node.name, x.dtype, None),),
    )
    return _with_found_blocks(write, reduced, x, axes)


def _is_long(write: ReplacementBuilder, x: Value, axes: Sequence[int], limit: int) -> Value:
    assert x.shape is not None
    others = [d for a, d in enumerate(x.shape) if a not in axes]
    unknown = [a for a in axes if not isinstance(x.shape[a], int)]
    if all(isinstance(d, int) for d in others):
        size = write.Size(x)
        limit *= math.prod(d for d in others if isinstance(d, int))
    elif len(unknown) == 1:
        sizes = write.Shape(x, start=unknown[0], end=unknown[0] + 1)
        size = write.Squeeze(sizes)
        limit //= math.prod(d for d in others if isinstance(d, int))
    else:
        sizes = write.Gather(write.Shape(x), write.ints(axes))
        size = write.ReduceProd(sizes, keepdims=0)
    return write.Greater(size, write.constant(limit, _INT64))


def _with_found_blocks(
    write: ReplacementBuilder, node: Node, x: Value, axes: tuple[int, ...]
) -> Value:
    """Reduce in stages, with the first of the preferred lengths that divides the size.

    Where none does, everything is one block, and the reduction is made again of a head and a tail:
    by a loop of one iteration, since branches inside of branches are avoided.
    """
    kind = KINDS[node.op]
    assert x.shape is not None
    runs = adjacent(axes)
    unknown = [r for r in runs if not all(isinstance(d, int) for d in x.shape[r[0] : r[1] + 1])]
    run = runs[-1] if known_size(x.shape, runs[-1]) >= SHORT else unknown[-1]
    lone = all(d == 1 for d in x.shape[run[1] + 1 :])
    vectors = has_vectors(node.op, x.dtype, lone)
    blocks = Blocks(axes, run, CUT if vectors else CUT_SHORT, True, lone)
    divisor = _count(write, x, axes) if node.op == "ReduceMean" else None
    if x.dtype in (_FLOAT16, _BFLOAT16):
        x = write.Cast(x, to=_FLOAT)
    assert x.shape is not None
    least = _LEAST_BLOCK_SLOW if not vectors else _LEAST_BLOCK if lone else _LEAST_BLOCK_INSIDE
    lengths = [b for b in preferred(lone, vectors) if b >= least]
    size = _size_of_run(write, x, run)
    rests = write.Mod(size, write.ints(lengths))
    # The first rest of 0; behind all of them stands one that is.
    rests = write.Concat(rests, write.ints([0]), axis=0)
    place = write.ArgMin(rests, axis=0, keepdims=0)
    others = [d for a, d in enumerate(x.shape) if a not in axes]
    sure = all(isinstance(d, int) for d in others)
    behind = [d for d in x.shape[run[1] + 1 :] if isinstance(d, int)]
    if sure and len(behind) == len(x.shape) - run[1] - 1:
        start = [0] * run[0] + [1] * (run[1] - run[0])
        pairs = [*((-1, b) for b in lengths), (1, -1)]
        views = [[*start, m, *behind, b] if lone else [*start, m, b, *behind] for m, b in pairs]
        target = write.Gather(write.matrix(views), place)
        parts = _sums_of_view(write, x, blocks, target, kind.first, {"allowzero": 0})
    else:
        choices = write.Concat(write.ints(lengths), size, axis=0)
        length = write.Unsqueeze(write.Gather(choices, place), write.ints([0]))
        parts = _sums_of_blocks(write, x, blocks, length, kind.first, sure)
    attrs = {"keepdims": node.attrs.get("keepdims", 1)}
    result = _sum_of_parts(write, x, parts, axes, kind, attrs)

    def cut(inner: ReplacementBuilder) -> Value:
        length = inner.ints([blocks.length])
        parts = _sums_of_head_and_tail(inner, x, blocks, length, kind.first, sure)
        return _sum_of_parts(inner, x, parts, axes, kind, attrs)

    none = write.Equal(place, write.constant(len(lengths), _INT64))
    result = _instead_if(write, node, none, result, cut)
    _finished(write, node, kind, result, divisor)
    return write.last()


def _sum_of_parts(
    write: ReplacementBuilder,
    x: Value,
    parts: Value,
    axes: tuple[int, ...],
    kind: Kind,
    attrs: Attributes,
) -> Value:
    """The sum of sums of blocks, in float64."""
    wide = type_of_sums(x.dtype)
    parts = _stages(write, parts, axes, kind) if x.dtype == wide else write.Cast(parts, to=wide)
    return part_of_sum(write, kind.rest, (parts, write.ints(axes)), attrs)


def _instead_if(
    write: ReplacementBuilder,
    node: Node,
    condition: Value,
    value: Value,
    other: Callable[[ReplacementBuilder], Value],
) -> Value:
    """Return `other`, which is computed only if it is needed, where a condition holds."""
    body = Graph(f"{node.name}_cut", write.graph)
    inner = Node(
        node.op,
        node.inputs,
        node.attrs,
        body.unique_name(f"{node.name}_cut"),
        node.source,
    )
    body.add_input("iteration", _INT64, ())
    goes_on = body.add_input("goes_on", _BOOL, ())
    body.add_input("value", value.dtype, value.shape)
    body.outputs = [goes_on, other(ReplacementBuilder(body, inner))]
    # As many iterations as the condition has ones.
    made = write.apply_bodies(
        "Loop", (write.Cast(condition, to=_INT64), None, value), {"body": body}, value
    )
    assert made.node is not None
    made.node.tag = Mark.PART_OF_SUM
    return made


# Given the graph under construction, a node, and whether the graph may ask for sizes.
Correction: TypeAlias = Callable[[Graph, Node, bool], bool]
CORRECTIONS: dict[str, Correction] = dict.fromkeys(REDUCED, _reduction)
