"""Names of sizes that follow from named ones, such as that of ``x[1:]`` from that of ``x``.

Equal names mean equal sizes, so that gradients need not ask a run what was broadcast and fused
plans put more into one loop. A name made here is like ``(batch*time).``: its dot makes it
automatic, so nobody sees it, and it says all that the size depends on. Names hold within one graph:
functions that serve several calls, and what programs are told of shapes, do not have them.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from tfx.core.dims import Dim, RawShape, python_slice

_Kind = Literal["product", "sum", "broadcast", "slice", "rest", "steps"]
_parts: dict[str, tuple[_Kind, tuple[Dim, ...]]] = {}
_PARTS_LIMIT = 50_000
# Longer names say nothing any more: loops that Python unrolls would make them longer and longer.
_LONGEST = 200
# Names that users and files give may hold anything.
_CLEAR = re.compile(r"[^\W\d][\w. -]*")
# Bounds of slices behind, or in front of, every tensor.
_END = 2**62


def is_derived_dim(dim: Dim) -> bool:
    """True if a dimension is a name that one of these functions made."""
    return type(dim) is str and dim.startswith("(") and dim.endswith(").")


def opaque_dim(dim: Dim) -> Dim:
    """A dimension of an argument, for a graph that other arguments may be given to.

    What a derived name says of other sizes holds for these arguments only, so another name stands
    for it. It begins with a quote, as no derived name does.
    """
    return f"'{dim}" if is_derived_dim(dim) else dim


def without_derived(shape: RawShape) -> RawShape:
    """Return a shape as a program sees it, which may use it for tensors of other functions."""
    if shape is None or str not in map(type, shape):
        return shape
    return tuple([None if is_derived_dim(d) else d for d in shape])


def names_in(dims: Iterable[Dim]) -> set[str]:
    """The names among dimensions, and those that derived ones depend on.

    Example:
        >>> sorted(names_in([3, None, sum_dim(["time", 1])]))
        ['(1+time).', 'time']
    """
    found = set[str]()
    for dim in dims:
        if type(dim) is str and dim not in found:
            found |= {dim, *names_in(_parts[dim][1] if dim in _parts else ())}
    return found


def product_dim(dims: Iterable[Dim]) -> Dim:
    """The number of elements of an array whose axes have these sizes.

    Example:
        >>> product_dim(["time", 4, "batch"]), product_dim([2, 3])
        ('(4*batch*time).', 6)
    """
    number, names = _factors(dims)
    if names is None:
        return 0 if number == 0 else None
    if not names or number == 0:
        return number
    if number == 1 and len(names) == 1:
        return names[0]
    return _named("*", "product", (number, *names) if number != 1 else tuple(names))


def _factors(dims: Iterable[Dim]) -> tuple[int, list[str] | None]:
    """A product of sizes as a number and names, sorted; no names but None if a size is unknown."""
    return _collected("product", dims)


def quotient_dim(dims: Iterable[Dim], by: Iterable[Dim]) -> Dim:
    """The size that is left of a product when some of it is divided out; None if that is unknown.

    Example:
        >>> both = product_dim(["batch", "time"])
        >>> quotient_dim([both, 8], ["time", 2]), quotient_dim(["batch"], ["time"])
        ('(4*batch).', None)
    """
    number, names = _factors(dims)
    divisor, others = _factors(by)
    if names is None or others is None or not divisor or number % divisor:
        return None
    left, taken = Counter(names), Counter(others)
    return None if taken - left else product_dim([number // divisor, *(left - taken).elements()])


def sum_dim(dims: Iterable[Dim]) -> Dim:
    """The size of arrays of these sizes one behind another; negative numbers are not among them.

    Example:
        >>> sum_dim(["time", 1, 2])
        '(3+time).'
    """
    number, names = _collected("sum", dims)
    if not names:
        return number if names is not None else None
    if number == 0 and len(names) == 1:
        return names[0]
    return _named("+", "sum", (number, *names) if number else tuple(names))


def _collected(kind: _Kind, dims: Iterable[Dim]) -> tuple[int, list[str] | None]:
    """Numbers taken together, and the names: those of the same kind are taken apart."""
    number, names, known = int(kind == "product"), list[str](), True
    for dim in dims:
        made, parts = _parts.get(dim, ("", ())) if type(dim) is str else ("", ())
        for part in parts if made == kind else (dim,):
            if isinstance(part, str):
                names.append(part)
            elif part is None:
                known = False
            else:
                number = number * part if kind == "product" else number + part
    return number, sorted(names) if known else None


def slice_dim(size: Dim, first: Dim, last: Dim, step: Dim) -> Dim:
    """The length of ``x[first:last:step]`` along an axis of a size, bounds as ONNX has them.

    Example:
        >>> slice_dim("time", 0, -1, 1), slice_dim("time", 0, "limit", 1), slice_dim(8, 2, 5, 1)
        ('(time-1).', '(time[0:limit:1]).', 3)
    """
    if size is None or first is None or last is None or type(step) is not int or step == 0:
        return None
    if takes_all(first, last, step) or (step, first, last) == (1, 0, size):
        return size
    if isinstance(size, int) and isinstance(first, int) and isinstance(last, int):
        return len(range(size)[python_slice(size, first, last, step)])
    to_end = step > 0 and (last == size or (isinstance(last, int) and last >= _END))
    if step == 1 and isinstance(first, int) and first >= 0:
        if to_end:
            return _shortened(str(size), first)
        if isinstance(last, int) and last < 0:
            return _shortened(str(size), first - last)
    text = f"({size}[{first}:{'' if to_end else last}:{step}])."
    return _kept(text, "slice", (size, first, last, step))


def _shortened(size: str, by: int) -> Dim:
    """What is left of an axis without so many elements; nothing of one that is shorter."""
    kind, parts = _parts.get(size, ("", ()))
    first = parts[0] if parts else None
    if kind == "rest" and isinstance(first, str) and isinstance(parts[1], int):
        return _shortened(first, parts[1] + by)
    if kind == "sum" and isinstance(first, int) and first >= by:
        return sum_dim((first - by, *parts[1:]))
    return _kept(f"({size}-{by}).", "rest", (size, by))


def takes_all(first: Dim, last: Dim, step: Dim) -> bool:
    """True if a slice has all of an axis, whatever its size: in order or turned around."""
    if not (isinstance(first, int) and isinstance(last, int)):
        return False
    if step == 1:
        return first == 0 and last >= _END
    return step == -1 and (first == -1 or first >= _END) and last <= -_END


def broadcast_dim(x: Dim, y: Dim) -> Dim:
    """The size of two axes broadcast together.

    Example:
        >>> broadcast_dim("time", 1), broadcast_dim("time", "heads")
        ('time', '(heads|time).')
    """
    if x == y or y == 1:
        return x
    if x == 1:
        return y
    if isinstance(x, int) or isinstance(y, int):
        return x if isinstance(x, int) else y
    if x is None or y is None:
        return None
    if _is_begin_of(x, y):
        return y
    if _is_begin_of(y, x):
        return x
    names = {
        part
        for dim in (x, y)
        for kind, parts in [_parts.get(dim, ("", ()))]
        for part in (parts if kind == "broadcast" else (dim,))
    }
    return _named("|", "broadcast", tuple(sorted(str(n) for n in names)))


def surely_equal(part: Dim, whole: Dim) -> bool:
    """True if an axis that was broadcast to another is known to have its size already."""
    if part is None or whole is None:
        return False
    return part == whole or (type(part) is str and type(whole) is str and _is_begin_of(part, whole))


def _is_begin_of(x: str, y: str) -> bool:
    """True if x is the size of ``table[:y]``, of a table of known length.

    Such an axis can be broadcast to, or with, one of size y only if it has that size: it is shorter
    than y only if the table ends before, and then it is longer than 1.
    """
    kind, parts = _parts.get(x, ("", ()))
    return kind == "slice" and parts[1:] == (0, y, 1) and type(parts[0]) is int and parts[0] > 1


def window_dim(size: Dim, extent: int, stride: int, padding: int | None) -> Dim:
    """How many positions a sliding window has on an axis of a size; None if that has no name.

    Kernels differ where a window is larger than the padded axis, so that other windows have none.

    Args:
        size: Size of the axis.
        extent: Elements that the window spans.
        stride: Its step.
        padding: Elements before and behind the axis, together; None: so many that each window
            of which an element is on the axis counts.

    Example:
        >>> window_dim("width", 3, 1, 2), window_dim("width", 3, 2, None)
        ('width', '(width/2).')
    """
    if type(size) is not str:
        return None
    if stride == 1:
        return size if padding in (None, extent - 1) else None
    return _kept(f"({size}/{stride}).", "steps", (size, stride)) if padding is None else None


def substitute_dim(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """A dimension of a function's result, by those of its arguments; None if they do not tell.

    Args:
        dim: As the function has it.
        sizes: What the names of its arguments' dimensions stand for in a call.

    Example:
        >>> substitute_dim(sum_dim(["time", 1]), {"time": 8})
        9
    """
    if type(dim) is not str:
        return dim
    if dim in sizes or dim not in _parts:
        return sizes.get(dim)
    kind, parts = _parts[dim]
    return _MADE_BY[kind](*[substitute_dim(part, sizes) for part in parts])


def _named(sign: str, kind: _Kind, parts: tuple[Dim, ...]) -> Dim:
    return _kept(f"({sign.join(map(str, parts))}).", kind, parts)


def _is_clear(name: str) -> bool:
    """True if a name within another one cannot be taken for numbers, signs or several names."""
    return name in _parts or name.startswith("'") or _CLEAR.fullmatch(name) is not None


def _kept(name: str, kind: _Kind, parts: tuple[Dim, ...]) -> Dim:
    """Return a name whose parts are known from now on; None if it would say too much or too little.

    After very many names there are no new ones: sizes then are unknown, as they were without names.
    """
    if len(name) > _LONGEST or not all(type(p) is not str or _is_clear(p) for p in parts):
        return None
    if name not in _parts:
        if len(_parts) >= _PARTS_LIMIT:
            return None
        _parts[name] = kind, parts
    return name


# What makes a name of a kind of its parts.
_MADE_BY: dict[_Kind, Callable[..., Dim]] = {
    "product": lambda *parts: product_dim(parts),
    "sum": lambda *parts: sum_dim(parts),
    "broadcast": lambda *parts: functools.reduce(broadcast_dim, parts),
    "slice": slice_dim,
    "rest": lambda size, by: slice_dim(size, by, _END, 1),
    "steps": lambda size, by: (
        -(-size // by) if type(size) is int else window_dim(size, 1, by, None)
    ),
}
