"""``einsum`` and ``tensordot``: sums of products by Einstein's convention."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.array.transpose import transpose
from tfx.ops.common.arguments import is_tensor_like, numpy_of, same_dtype, unbroadcast
from tfx.ops.common.batching import BatchedOp, CannotBatchError, Results, batching
from tfx.ops.common.open_ranks import rank_is_open
from tfx.ops.common.shapes import (
    common_tensors,
    concat_shape,
    dimension,
    filled,
    known_rank,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.common.tangents import plus
from tfx.ops.linalg.contraction import Label, contract, transposed

_EQUATION = re.compile(r"^[a-zA-Z.,]*(->[a-zA-Z.]*)?$")
_OPTIMIZE = ("greedy", "optimal", "branch-2", "branch-all", "auto")
# The size that a dimension counts as in the search for a good order if it is not known.
_ASSUMED_SIZE = 8


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Contract tensors over indices that are named in an equation.

    Args:
        equation: Labels of each input's axes, separated by commas, and after ``->`` those of the
            result. Without ``->`` the result has the labels that occur once, in alphabetical order.
            ``...`` stands for further axes, which broadcast; a label that an input has twice means
            its diagonal.
        *inputs: Tensors of one dtype.
        **kwargs: ``optimize``: how to look for the order in which more than two tensors are
            contracted, ``"greedy"`` (the default) or ``"optimal"``; ``name``: accepted for
            compatibility.

    Raises:
        ValueError: a malformed equation.
        InvalidArgumentError: inputs whose ranks or sizes do not fit it.

    Example:
        >>> import tfx as tf
        >>> tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([3, 4])).shape
        TensorShape([2, 4])
    """
    optimize = kwargs.pop("optimize", "greedy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for einsum: {', '.join(sorted(kwargs))}; it "
            "takes optimize and name."
        )
    if optimize not in _OPTIMIZE:
        raise InvalidArgumentError(
            f"optimize of einsum must be one of {_OPTIMIZE}; got {optimize!r}."
        )
    tensors = common_tensors(inputs, "Einsum")
    labels, result = _parse(equation, tensors)
    _check_sizes(equation, tensors, labels)
    return _contract_all(list(zip(tensors, labels, strict=True)), result, optimize)


Operand = tuple[Tensor, list[Label]]


def _contract_all(operands: list[Operand], result: list[Label], optimize: str) -> Tensor:
    for pair in _order(operands, result, optimize):
        taken = [operands[i] for i in pair]
        operands = [o for i, o in enumerate(operands) if i not in pair]
        merged = taken[0]
        for i, other in enumerate(taken[1:], 2):
            later = [label for _, of in (*operands, *taken[i:]) for label in of]
            merged = _contract_pair(merged, other, [*result, *later], result)
        operands.append(merged)
    x, have = _simplified(*operands[0], result)
    return transposed(x, have, result)


def _contract_pair(
    a: Operand, b: Operand, needed: Sequence[Label], result: Sequence[Label]
) -> Operand:
    x, of_x = _simplified(*a, [*needed, *b[1]])
    y, of_y = _simplified(*b, [*needed, *of_x])
    both = list(dict.fromkeys([*of_x, *of_y]))
    kept = [label for label in both if label in needed]
    if set(kept) == set(result):
        kept = list(result)  # the last step: no transposition afterwards
    return contract(x, y, of_x, of_y, kept), kept


def _simplified(x: Tensor, labels: list[Label], needed: Sequence[Label]) -> Operand:
    """Diagonals of repeated labels taken, and axes that nobody else needs summed."""
    labels = list(labels)
    while len(set(labels)) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        i = labels.index(first)
        j = labels.index(first, i + 1)
        x = diagonal(x, i, j)
        labels = [label for k, label in enumerate(labels) if k not in (i, j)] + [first]
    alone = [i for i, label in enumerate(labels) if label not in needed]
    if alone:
        x = ox.ReduceSum(x, int64_constant(alone), keepdims=0)
        labels = [label for i, label in enumerate(labels) if i not in alone]
    return x, labels


def diagonal(x: Tensor, i: int, j: int) -> Tensor:
    """The diagonal of two axes of one size as a new last axis."""
    rank = known_rank(x, "Einsum")
    others = [k for k in range(rank) if k not in (i, j)]
    x = ox.Transpose(x, perm=(*others, i, j))
    size = dimension(x, rank - 1)
    flat = reshape_to(x, concat_shape(shape_vector(x, 0, rank - 2), ox.Mul(size, size)))
    step = ox.Add(size, int64_constant([1]))
    ends = (int64_constant([0]), int64_constant([2**62]))
    return ox.Slice(flat, *ends, int64_constant([rank - 2]), step)


def _parse(equation: str, tensors: Sequence[Tensor]) -> tuple[list[list[Label]], list[Label]]:
    """Labels of every input and of the result; ``...`` becomes numbers counted from the right."""
    text = equation.replace(" ", "")
    if not _EQUATION.match(text) or ".." in text.replace("...", ""):
        raise InvalidArgumentError(
            f"Invalid einsum equation {equation!r}: expected letters, commas, '...' and at most "
            "one '->', such as 'ij,jk->ik'."
        )
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise InvalidArgumentError(
            f"Got {len(tensors)} arguments for einsum equation {equation!r}, expecting "
            f"{len(terms)}."
        )
    labels = [_expand(term, tensors[i], i, equation) for i, term in enumerate(terms)]
    extra = max((sum(isinstance(label, int) for label in of) for of in labels), default=0)
    dots: list[Label] = list(range(extra - 1, -1, -1))
    if not arrow:
        letters = left.replace(".", "").replace(",", "")
        return labels, [*dots, *(c for c in sorted(set(letters)) if letters.count(c) == 1)]
    if right.count("...") > 1 or len(set(right.replace(".", ""))) < len(right.replace(".", "")):
        raise InvalidArgumentError(
            f"Invalid einsum equation {equation!r}: the result repeats a label."
        )
    head, dotted, tail = right.partition("...")
    if extra and not dotted:
        raise InvalidArgumentError(
            f"Invalid einsum equation {equation!r}: the result must have '...' because an input "
            "has it."
        )
    unknown = set(head + tail) - set(left)
    if unknown:
        raise InvalidArgumentError(
            f"Invalid einsum equation {equation!r}: the result's labels {sorted(unknown)} are in "
            "no input."
        )
    return labels, [*head, *(dots if dotted else ()), *tail]


def _expand(term: str, x: Tensor, index: int, equation: str) -> list[Label]:
    if term.count("...") > 1 or "." in term.replace("...", ""):
        raise InvalidArgumentError(
            f"Invalid einsum equation {equation!r}: at most one '...' in each input."
        )
    head, dotted, tail = term.partition("...")
    letters = len(head) + len(tail)
    if not dotted:
        rank = x.shape.rank
        if rank is not None and rank != letters:
            raise InvalidArgumentError(
                f"Expected input {index} to have rank {letters} but got: {rank} (shape {x.shape}) "
                f"in einsum equation {equation!r}.",
                op="Einsum",
            )
        if rank is None:
            x.set_shape([None] * letters)
        return list(head)
    rank = known_rank(x, "Einsum with '...'")
    if rank < letters:
        raise InvalidArgumentError(
            f"Expected input {index} to have rank at least {letters} but got: {rank} (shape "
            f"{x.shape}) in einsum equation {equation!r}.",
            op="Einsum",
        )
    return [*head, *range(rank - letters - 1, -1, -1), *tail]


def _check_sizes(equation: str, tensors: Sequence[Tensor], labels: list[list[Label]]) -> None:
    sizes: dict[Label, int] = {}
    for x, of in zip(tensors, labels, strict=True):
        for label, size in zip(of, x.shape.as_list(), strict=True):
            known = sizes.get(label)
            if size is None or (isinstance(label, int) and size == 1):
                continue
            if known is not None and known != size:
                raise InvalidArgumentError(
                    f"Expected dimension {known} at axis {label!r} of einsum equation {equation!r} "
                    f"but got dimension {size}; inputs have shapes "
                    f"{[t.shape.as_list() for t in tensors]}.",
                    op="Einsum",
                )
            sizes[label] = size


def _order(
    operands: Sequence[Operand], result: Sequence[Label], optimize: str
) -> list[tuple[int, ...]]:
    """Return the order of contractions, as groups of numbers of operands."""
    if len(operands) < 3:
        return [(0, 1)] if len(operands) == 2 else []
    numbers: dict[Label, int] = {}
    arguments: list[Any] = []
    for x, of in operands:
        sizes = [_ASSUMED_SIZE if d is None else d for d in x.shape.as_list()]
        arguments.append(np.broadcast_to(np.float32(0), sizes))
        arguments.append([numbers.setdefault(label, len(numbers)) for label in of])
    arguments.append([numbers[label] for label in result])
    how = "optimal" if optimize == "optimal" else "greedy"
    path = np.einsum_path(*arguments, optimize=how)[0][1:]
    return [tuple(sorted(step)) for step in path]


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Contract tensors over pairs of axes.

    Args:
        a: Tensor.
        b: Tensor of the same dtype.
        axes: A number ``n``: the last ``n`` axes of ``a`` with the first ``n`` of ``b``; or two
            lists of axes (or two axes).
        name: Accepted for compatibility.

    Returns:
        The remaining axes of ``a``, then those of ``b``.

    Raises:
        ValueError: malformed axes, or more of them than a tensor has.

    Example:
        >>> import tfx as tf
        >>> tf.tensordot(tf.ones([2, 3, 4]), tf.ones([3, 4, 5]), axes=2).shape
        TensorShape([2, 5])
    """
    x, y = same_dtype(a, b, "Tensordot")
    if rank_is_open(x, y):
        return _tensordot_late(x, y, axes)
    of_x: list[Label] = [("a", i) for i in range(known_rank(x, "tensordot"))]
    of_y: list[Label] = [("b", i) for i in range(known_rank(y, "tensordot"))]
    for i, j in zip(*_axis_pairs(axes, len(of_x), len(of_y)), strict=True):
        m, n = x.shape[i], y.shape[j]
        if m is not None and n is not None and m != n:
            raise InvalidArgumentError(
                f"Matrix size-incompatible: In[0]: {x.shape}, In[1]: {y.shape}: tensordot pairs "
                f"axis {i} of size {m} with axis {j} of size {n}.",
                op="MatMul",
            )
        of_y[j] = of_x[i]
    result = [label for label in of_x if label not in of_y]
    result += [label for label in of_y if label not in of_x]
    return contract(x, y, of_x, of_y, result)


def _tensordot_late(x: Tensor, y: Tensor, axes: Any) -> Tensor:
    """``tensordot`` of tensors whose rank a run tells: as a product of two matrices."""
    plain = _plain_axes(axes)
    if isinstance(plain, int):
        if plain < 0:
            raise InvalidArgumentError(f"`axes` must not be negative; got {axes}.")
        count = plain
    else:
        first, second = _axis_lists(plain)
        count = len(first)
        x, y = _turned_late(x, first, behind=True), _turned_late(y, second, behind=False)
    rows = shape_vector(x, 0, -count) if count else shape_vector(x)
    inner = shape_vector(x, -count) if count else int64_constant([])
    columns = shape_vector(y, count)
    left = reshape_to(x, concat_shape(product(rows), product(inner)))
    right = reshape_to(y, concat_shape(product(inner), product(columns)))
    return reshape_to(ox.MatMul(left, right), concat_shape(rows, columns))


def _turned_late(x: Tensor, axes: list[int], behind: bool) -> Tensor:
    """The axes behind all others, or in front of them."""
    size = ox.Shape(shape_vector(x))
    every = ox.Range(int64_constant(0), ox.Squeeze(size), int64_constant(1))
    given = int64_constant(axes)
    given = ox.Where(ox.Less(given, int64_constant(0)), ox.Add(given, size), given)
    met = ox.Equal(ox.Unsqueeze(every, int64_constant([1])), given)
    is_given = ox.Cast(ox.ReduceMax(ox.Cast(met, to=6), int64_constant([1]), keepdims=0), to=9)
    others = ox.Compress(every, ox.Not(is_given), axis=0)
    return transpose(x, ox.Concat(*((others, given) if behind else (given, others)), axis=0))


def _plain_axes(axes: Any) -> Any:
    if is_tensor_like(axes):
        axes = numpy_of(axes)
    return axes.tolist() if isinstance(axes, np.ndarray | np.generic) else axes


def _axis_lists(axes: Any) -> tuple[list[int], list[int]]:
    if len(axes) != 2:
        raise InvalidArgumentError(f"`axes` must be an integer or have length 2; got {axes!r}.")
    first, second = (
        [int(i) for i in (p if isinstance(p, Sequence | np.ndarray) else [p])] for p in axes
    )
    if len(first) != len(second):
        raise InvalidArgumentError(
            f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}."
        )
    return first, second


def _axis_pairs(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    axes = _plain_axes(axes)
    if isinstance(axes, int):
        if not 0 <= axes <= min(rank_a, rank_b):
            raise InvalidArgumentError(
                "`axes` must not be negative or larger than the number of dimensions of either "
                f"tensor ({rank_a} and {rank_b}); got {axes}."
            )
        return list(range(rank_a - axes, rank_a)), list(range(axes))
    first, second = _axis_lists(axes)
    for items, rank in ((first, rank_a), (second, rank_b)):
        if any(not -rank <= i < rank for i in items):
            raise InvalidArgumentError(
                f"`axes` {axes!r} are out of range for tensors of rank {rank_a} and {rank_b}."
            )
    return [i % rank_a for i in first], [j % rank_b for j in second]


@gradient("Einsum")
def _einsum_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """ONNX's own Einsum (of imported models): the gradient takes the place of each input in turn.

    Labels that only this input has were summed over, so the gradient is the same along them.
    """
    equation = op.attrs["equation"]
    equation = equation.decode() if isinstance(equation, bytes) else equation
    labels, result = _parse(equation, op.inputs)
    labels, diagonals = _without_repeats(op.inputs, labels)
    grads: list[Tensor | None] = []
    for i, (x, of) in enumerate(zip(op.inputs, labels, strict=True)):
        if not op.needs[i]:
            grads.append(None)
            continue
        others = [
            (y, other) for j, (y, other) in enumerate(zip(op.inputs, labels, strict=True)) if j != i
        ]
        operands = [(dy, result), *others, *diagonals]
        there = {label for _, names in operands for label in names}
        # Broadcast axes come out in full and are summed back.
        kept = [label for label in result if isinstance(label, int) and label not in of]
        found = _contract_all(operands, [*kept, *(n for n in of if n in there)], "greedy")
        alone = [k + len(kept) for k, label in enumerate(of) if label not in there]
        if alone:
            found = ox.Unsqueeze(found, int64_constant(alone))
            found = ox.Expand(found, shape_vector(x))
        found = unbroadcast(found, x)
        if found.shape != x.shape:  # an axis that another operand has in full
            found = ox.Expand(found, shape_vector(x))
        grads.append(found)
    return grads


@forward("Einsum")
def _einsum_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """Linear in each operand."""
    total: Tensor | None = None
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            given = [tangent if k == i else x for k, x in enumerate(op.inputs)]
            total = plus(total, ox.Einsum(*given, **op.attrs))
    return total


def _without_repeats(
    inputs: Sequence[Tensor], labels: Sequence[Sequence[Label]]
) -> tuple[list[list[Label]], list[Operand]]:
    """A diagonal ``ii`` as ``ij`` times the identity ``ij``: labels without repeats, identities."""
    renamed: list[list[Label]] = []
    identities: list[Operand] = []
    for x, of in zip(inputs, labels, strict=True):
        mine: list[Label] = []
        for axis, label in enumerate(of):
            if label in mine:
                size = dimension(x, axis)
                eye = ox.EyeLike(filled(concat_shape(size, size), 0, x.dtype))
                other: Label = ("diagonal", len(identities))
                identities.append((eye, [label, other]))
                label = other
            mine.append(label)
        renamed.append(mine)
    return renamed, identities


@batching("Einsum")
def _einsum_batching(op: BatchedOp) -> Results:
    """One more letter in front of what is batched, and of the result."""
    equation = op.attrs["equation"]
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    terms, arrow, result = text.partition("->")
    letter = next((c for c in string.ascii_letters if c not in text), None)
    if letter is None:
        raise CannotBatchError("no letter is left for the batch")
    if not arrow:
        result = _implied(terms)
    parts = terms.split(",")
    marked = [letter + t if batched else t for t, batched in zip(parts, op.batched, strict=True)]
    return op.apply(op.inputs, {"equation": f"{','.join(marked)}->{letter}{result}"})


def _implied(terms: str) -> str:
    letters = re.sub(r"[^A-Za-z]", "", terms)
    once = "".join(sorted(c for c in letters if letters.count(c) == 1))
    return ("..." if "..." in terms else "") + once
