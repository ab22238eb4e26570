"""Integer operators whose CPU kernels are wrong, written with ones that are right.

Seen in ONNX Runtime 1.31: sums of integers are computed in float64 and cut off at the ends of the
range, and where vector instructions compare int64 values that agree in their upper half, the lower
halves are taken for signed (``Max(4197947919, 1733583304)`` is the second). Comparison operators,
``Where`` and everything on int32 and float64 are right, so the rest is made of those. Each entry of
``CORRECTIONS`` appends its replacement and returns True, or returns False if the node is fine.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.kernels.nan_extremes import of_numbers
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark

_UINT8, _INT32, _INT64, _BOOL, _DOUBLE, _UINT32, _UINT64 = 2, 6, 7, 9, 11, 12, 13
_MASK = 0xFFFFFFFF


def _sum(out: Graph, node: Node) -> bool:
    """A sum that wraps around.

    Sums of 32 bits are exact in float64 (of at least 2**21 elements, whatever they are), so 64
    bits are summed as two halves.
    """
    x = node.inputs[0]
    if x is None or x.dtype not in (_INT32, _INT64, _UINT32, _UINT64):
        return False
    write = ReplacementBuilder(out, node)

    def total(part: Value) -> Value:
        return write.ReduceSum(write.Cast(part, to=_DOUBLE), *node.inputs[1:], **node.attrs)

    mask = write.constant(_MASK, _INT64)
    if x.dtype in (_INT32, _UINT32):
        # Masked, or the runtime would join the casts to one that cuts off.
        write.Cast(write.BitwiseAnd(write.Cast(total(x), to=_INT64), mask), to=x.dtype)
        return write.finish()
    signed = x if x.dtype == _INT64 else write.Cast(x, to=_INT64)
    low = write.BitwiseAnd(signed, mask)
    high = write.Div(total(write.Sub(signed, low)), write.number(2.0**32))
    high = write.Mul(write.Cast(high, to=_INT64), write.constant(1 << 32, _INT64))
    result = write.Add(high, write.Cast(total(low), to=_INT64))
    if x.dtype == _UINT64:
        write.Cast(result, to=_UINT64)
    return write.finish()


def _extreme_over_axes(out: Graph, node: Node) -> bool:
    """The largest (smallest) element, found in float64 first.

    Rounding to float64 keeps the order, so the extreme is among the elements that round to the
    extreme. What they differ from it by has ten bits and is compared in int32.
    """
    x = node.inputs[0]
    if x is None or x.dtype not in (_INT64, _UINT32, _UINT64):
        return False
    write, axes, largest = ReplacementBuilder(out, node), node.inputs[1:], node.op == "ReduceMax"
    signed = _signed(write, x)
    rounded = write.Cast(signed, to=_DOUBLE)
    kept = of_numbers(write.apply(node.op, (rounded, *axes), {**node.attrs, "keepdims": 1}))
    rest = write.Cast(write.Sub(signed, write.Cast(kept, to=_INT64)), to=_INT32)
    neutral = write.constant(-(2**31) if largest else 2**31 - 1, _INT32)
    rest = write.Where(write.Equal(rounded, kept), rest, neutral)
    rest = write.apply(node.op, (rest, *axes), node.attrs)
    top = of_numbers(write.apply(node.op, (kept, *axes), node.attrs))
    found = write.Add(write.Cast(top, to=_INT64), write.Cast(rest, to=_INT64))
    # Of no elements: the dtype's own limit.
    limit = write.constant(_lowest(x.dtype) if largest else _highest(x.dtype), _INT64)
    found = write.Where(write.IsInf(top), limit, found)
    if x.dtype == _UINT32:
        write.Cast(found, to=_UINT32)
    elif x.dtype == _UINT64:
        _unsigned(write, found)
    return write.finish()


def _lowest(dtype: int) -> int:
    return 0 if dtype == _UINT32 else -(2**63)


def _highest(dtype: int) -> int:
    return _MASK if dtype == _UINT32 else 2**63 - 1


def _signed(write: ReplacementBuilder, x: Value) -> Value:
    """The same order in int64: adding 2**63 to the bits of a uint64 keeps it."""
    if x.dtype == _UINT64:
        return write.Cast(write.Add(x, write.constant(1 << 63, _UINT64)), to=_INT64)
    return x if x.dtype == _INT64 else write.Cast(x, to=_INT64)


def _unsigned(write: ReplacementBuilder, x: Value) -> Value:
    return write.Add(write.Cast(x, to=_UINT64), write.constant(1 << 63, _UINT64))


def _position(out: Graph, node: Node) -> bool:
    """The index of an extreme of uint64, which has no kernel of its own."""
    x = node.inputs[0]
    if x is None or x.dtype != _UINT64:
        return False
    write = ReplacementBuilder(out, node)
    write.apply(node.op, (_signed(write, x),), node.attrs)
    return write.finish()


def _extreme_of_several(out: Graph, node: Node) -> bool:
    """The larger (smaller) of tensors, by comparison."""
    first, *others = node.inputs
    if first is None or first.dtype != _INT64 or not others:
        return False
    write, result = ReplacementBuilder(out, node), first
    for other in others:
        assert other is not None
        better = write.apply("Greater" if node.op == "Max" else "Less", (result, other))
        result = write.Where(better, result, other)
    return write.finish()


def _clip(out: Graph, node: Node) -> bool:
    """Both limits, by comparison."""
    x, *limits = node.inputs
    if x is None or x.dtype != _INT64 or all(limit is None for limit in limits):
        return False
    write = ReplacementBuilder(out, node)
    for limit, beyond in zip(limits, ("Less", "Greater"), strict=False):
        if limit is not None:
            x = write.Where(write.apply(beyond, (x, limit)), limit, x)
    return write.finish()


def _sign(out: Graph, node: Node) -> bool:
    """True if positive, minus whether negative."""
    (x,) = node.inputs
    if x is None or x.dtype != _INT64:
        return False
    write = ReplacementBuilder(out, node)
    zero = write.constant(0, _INT64)
    positive, negative = write.Greater(x, zero), write.Less(x, zero)
    write.Sub(write.Cast(positive, to=_INT64), write.Cast(negative, to=_INT64))
    return write.finish()


def _division(out: Graph, node: Node) -> bool:
    """A quotient or remainder that does not end the process.

    The smallest integer over -1 does not fit, and x86 processors trap on it (SIGFPE). Dividing by
    1 and changing the sign wraps around instead; the remainder is 0.
    """
    x, divisor = node.inputs
    if x is None or divisor is None or x.dtype not in (_INT32, _INT64):
        return False
    if divisor.const is not None and not (divisor.const == -1).any():
        return False
    if divisor.node is not None and divisor.node.tag is Mark.SAFE_DIVISOR:
        return False
    write = ReplacementBuilder(out, node)
    minus = write.Equal(divisor, write.constant(-1, x.dtype))
    safe = write.Where(minus, write.constant(1, x.dtype), divisor)
    assert safe.node is not None
    safe.node.tag = Mark.SAFE_DIVISOR
    result = write.apply(node.op, (x, safe), node.attrs)
    if node.op == "Div":
        flipped = write.Sub(write.constant(0, x.dtype), result)
        write.Where(minus, flipped, result)
    return write.finish()


def _power(out: Graph, node: Node) -> bool:
    """A power of integers, which kernels take from float64: by squaring, bit after bit."""
    x, y = node.inputs
    if x is None or y is None or x.dtype not in (_INT32, _INT64):
        return False
    if y.dtype not in (_INT32, _INT64):
        return False
    write = ReplacementBuilder(out, node)
    exponent = write.Cast(y, to=x.dtype)
    zeros = write.Mul(write.Add(x, exponent), write.constant(0, x.dtype))
    ones = write.Add(zeros, write.constant(1, x.dtype))
    body = Graph(f"{node.name}_squaring", out)
    body.add_input("bit", _INT64, ())
    body.add_input("going", _BOOL, ())
    result, base, left = (
        body.add_input(name, x.dtype, v.shape)
        for name, v in (("result", ones), ("base", x), ("left", exponent))
    )
    inner = ReplacementBuilder(body, node)
    one, two = inner.constant(1, x.dtype), inner.constant(2, x.dtype)
    odd = inner.Cast(inner.BitwiseAnd(left, one), to=_BOOL)
    result = inner.Where(odd, inner.Mul(result, base), result)
    rest = inner.Div(left, two)
    body.outputs = [_any(inner, rest), result, inner.Mul(base, base), rest]
    loop = out.add_node(
        "Loop",
        (None, _any(write, exponent), ones, x, exponent),
        {"body": body},
        [(x.dtype, v.shape) for v in (ones, x, exponent)],
        name=f"{node.name}_loop",
        source=node.source,
    )
    write.Identity(loop.outputs[0])
    return write.finish()


def _blocks(out: Graph, node: Node) -> bool:
    """Elements that are moved: in halves, because the kernels are of floating numbers."""
    (x,) = node.inputs
    if x is None or x.dtype not in (_INT64, _UINT64):
        return False
    write = ReplacementBuilder(out, node)
    bits = write.Cast(x, to=_UINT64)
    width = write.constant(32, _UINT64)
    high = write.BitShift(bits, width, direction="RIGHT")
    low = write.BitwiseAnd(bits, write.constant(_MASK, _UINT64))
    high, low = (
        write.Cast(write.apply(node.op, (write.Cast(half, to=_DOUBLE),), node.attrs), to=_UINT64)
        for half in (high, low)
    )
    moved = write.BitShift(high, width, direction="LEFT")
    result = write.BitwiseOr(moved, low)
    if x.dtype == _INT64:
        write.Cast(result, to=_INT64)
    return write.finish()


def _range(out: Graph, node: Node) -> bool:
    """A range whose kernel counts in float64: from 0, to how far the limit is.

    Where the two have different signs, and their difference may not fit, it is left as it is.
    """
    start, limit, delta = node.inputs
    assert start is not None
    assert limit is not None
    assert delta is not None
    is_near = start.const is not None and abs(int(start.const)) < 2**31
    if start.dtype != _INT64 or node.tag is Mark.FROM_ZERO or is_near:
        return False
    write = ReplacementBuilder(out, node)
    zero = write.constant(0, _INT64)
    apart = write.Xor(write.Less(start, zero), write.Less(limit, zero))
    base = write.Where(apart, zero, start)
    near, far = write.Sub(start, base), write.Sub(limit, base)
    steps = write.Range(near, far, delta)
    assert steps.node is not None
    steps.node.tag = Mark.FROM_ZERO
    write.Add(steps, base)
    return write.finish()


def _any(write: ReplacementBuilder, x: Value) -> Value:
    """Return a scalar that is true if any element is not 0."""
    found = write.Cast(write.Cast(x, to=_BOOL), to=_UINT8)
    return write.Cast(write.ReduceMax(found, keepdims=0), to=_BOOL)


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    "ArgMax": _position,
    "ArgMin": _position,
    "Clip": _clip,
    "DepthToSpace": _blocks,
    "Div": _division,
    "Max": _extreme_of_several,
    "Min": _extreme_of_several,
    "Mod": _division,
    "Pow": _power,
    "Range": _range,
    "ReduceMax": _extreme_over_axes,
    "ReduceMin": _extreme_over_axes,
    "ReduceSum": _sum,
    "Sign": _sign,
    "SpaceToDepth": _blocks,
}
