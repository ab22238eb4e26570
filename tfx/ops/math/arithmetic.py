"""Addition to remainder: the binary operators with broadcasting, and their gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.guards import not_negative, refused_unless
from tfx.framework.indices import contents
from tfx.framework.rules import OpRecord, forward, gradient, no_gradient
from tfx.framework.tensor import EagerTensor, Tensor, symbol_of
from tfx.ops.common.arguments import binary, cast_to, same_dtype, scalar_like, tensor, unbroadcast
from tfx.ops.common.tangents import bilinear, broadcasting, spread, summed
from tfx.ops.common.traced_once import eagerly_at_once


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x + y`` element by element, with broadcasting; strings are concatenated.

    Args:
        x: Tensor of a number or string dtype, or a value convertible to one.
        y: The same dtype.
        name: Accepted for compatibility.

    Returns:
        The sum, of the broadcast shape.

    Raises:
        InvalidArgumentError: dtypes differ or the shapes do not broadcast.

    Example:
        >>> import tfx as tf
        >>> tf.add([1, 2], 3).numpy()
        array([4, 5], dtype=int32)
    """
    a, b = same_dtype(x, y, "Add")
    if a.dtype is dtypes.string:
        return ox.StringConcat(a, b)
    return ox.Add(a, b)


@gradient("Add")
def _add_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    dx = unbroadcast(dy, x, y) if op.needs[0] else None
    return dx, unbroadcast(dy, y, x) if op.needs[1] else None


no_gradient("StringConcat", why="strings")


def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x - y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.subtract([3.0, 2.0], 1.0).numpy()
        array([2., 1.], dtype=float32)
    """
    return binary("Sub", x, y)


@gradient("Sub")
def _sub_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    dx = unbroadcast(dy, x, y) if op.needs[0] else None
    # Negated last: there is less of it then.
    return dx, ox.Neg(unbroadcast(dy, y, x)) if op.needs[1] else None


@forward("Add", "Sub")
def _add_forward(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor:
    (z,) = op.outputs
    if tx is not None and ty is not None:
        return apply(op.op, (tx, ty))
    if tx is not None:
        return spread(tx, z)
    assert ty is not None
    return spread(ty if op.op == "Add" else ox.Neg(ty), z)


def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.multiply([3.0, 2.0], [2.0, 2.0]).numpy()
        array([6., 4.], dtype=float32)
    """
    return binary("Mul", x, y)


@gradient("Mul")
def _mul_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    if x is y:  # a square
        return ox.Mul(ox.Mul(dy, scalar_like(2, dy)), x), None
    dx = unbroadcast(ox.Mul(dy, y), x, y) if op.needs[0] else None
    return dx, unbroadcast(ox.Mul(dy, x), y, x) if op.needs[1] else None


forward("Mul")(bilinear)


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y`` as real numbers: integers are converted to floats first.

    int8, int16, uint8 and uint16 become float32; int32, int64, uint32 and uint64 float64.

    Example:
        >>> import tfx as tf
        >>> tf.truediv(7, 2).numpy()
        np.float64(3.5)
    """
    a, b = same_dtype(x, y, "RealDiv")
    if a.dtype.is_integer:
        wide = dtypes.float32 if a.dtype.size <= 2 else dtypes.float64
        a, b = cast_to(a, wide), cast_to(b, wide)
    return ox.Div(a, b)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python's ``x / y``; see ``truediv``."""
    return truediv(x, y)


@gradient("Div")
def _div_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    dx = ox.Div(dy, y)
    dy_ = None
    if op.needs[1]:
        dy_ = ox.Neg(unbroadcast(ox.Mul(dx, op.outputs[0]), y, x))
    return unbroadcast(dx, x, y) if op.needs[0] else None, dy_


@forward("Div")
def _div_forward(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor:
    """``(tx - z ty) / y``."""
    y, z = op.inputs[1], op.outputs[0]
    if ty is None:
        assert tx is not None
        return ox.Div(tx, y)
    part = ox.Mul(z, ty)
    top = ox.Neg(part) if tx is None else ox.Sub(tx, part)
    return ox.Div(top, y)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python's ``x // y``: the quotient rounded towards negative infinity.

    Raises:
        InvalidArgumentError: division of integers by zero, in eager mode.

    Example:
        >>> import tfx as tf
        >>> tf.math.floordiv(-7, 2).numpy()
        np.int32(-4)
    """
    a, b = same_dtype(x, y, "FloorDiv")
    if a.dtype.is_floating:
        return ox.Floor(ox.Div(a, b))
    _refuse_zero(b, "FloorDiv")
    return _whole_quotient(a, b)


@eagerly_at_once
def _whole_quotient(a: Tensor, b: Tensor) -> Tensor:
    quotient = ox.Div(a, b)
    if a.dtype.is_unsigned:
        return quotient
    # ONNX truncates: one less where the signs differ and something is left over.
    rest = ox.Sub(a, ox.Mul(quotient, b))
    zero = scalar_like(0, a)
    inexact = ox.Not(ox.Equal(rest, zero))
    differ = ox.Xor(ox.Less(rest, zero), ox.Less(b, zero))
    return ox.Sub(quotient, cast_to(ox.And(inexact, differ), a.dtype))


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python's ``x % y``: the remainder has the sign of ``y``.

    Example:
        >>> import tfx as tf
        >>> tf.math.floormod([-7, 7], [3, -3]).numpy()
        array([ 2, -2], dtype=int32)
    """
    a, b = same_dtype(x, y, "FloorMod")
    if a.dtype.is_integer:
        _refuse_zero(b, "FloorMod")
        return ox.Mod(a, b)
    return _floating_remainder(a, b)


@eagerly_at_once
def _floating_remainder(a: Tensor, b: Tensor) -> Tensor:
    # ONNX's Mod of floats is C's fmod: bring the remainder to the divisor's sign.
    rest = ox.Mod(a, b, fmod=1)
    zero = scalar_like(0, a)
    nonzero = ox.Not(ox.Equal(rest, zero))
    differ = ox.Xor(ox.Less(rest, zero), ox.Less(b, zero))
    return ox.Where(ox.And(nonzero, differ), ox.Add(rest, b), rest)


def _refuse_zero(divisor: Tensor, op: str) -> None:
    """Integer division by zero would end the process (SIGFPE) inside the kernel."""
    if isinstance(divisor, EagerTensor) and not divisor.view().all():
        raise InvalidArgumentError("Integer division by zero", op=op)


@gradient("Mod")
def _mod_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    dx = unbroadcast(dy, x) if op.needs[0] else None
    if not op.needs[1]:
        return dx, None
    # x = q y + r with q constant between jumps.
    ratio = ox.Div(ox.Sub(x, op.outputs[0]), y)
    wide = cast_to(ratio, dtypes.float32) if ratio.dtype.size < 4 else ratio
    q = cast_to(ox.Round(wide), ratio.dtype)
    return dx, unbroadcast(ox.Neg(ox.Mul(dy, q)), y)


forward("Mod")(broadcasting)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x`` to the power ``y`` element by element, with broadcasting. Integers wrap around.

    Raises:
        InvalidArgumentError: an integer to a negative power.

    Example:
        >>> import tfx as tf
        >>> tf.pow([2, 3], 2).numpy()
        array([4, 9], dtype=int32)
    """
    a, b = same_dtype(x, y, "Pow")
    return _integer_pow(a, b) if a.dtype.is_integer else ox.Pow(a, b)


def _integer_pow(x: Tensor, y: Tensor) -> Tensor:
    """A power that wraps around: of a known exponent a few products, otherwise ``Pow``.

    The standard's ``Pow`` has 32 and 64 bits with a sign; the others wrap around within them.
    """
    kind = x.dtype
    known = contents(y)
    if known is not None and (known < 0).any():
        raise InvalidArgumentError(_NO_POWER.format(known[known < 0].reshape(-1)[0]), op="Pow")
    if known is not None and known.shape == () and x.shape.rank is not None:
        return _product_of_powers(x, int(known))
    if known is None and not kind.is_unsigned:
        y = refused_unless(not_negative(y), y, Refusal.NEGATIVE_POWER)
    wide = dtypes.int32 if kind.size < 4 else dtypes.int64
    if kind in (dtypes.int32, dtypes.int64):
        return ox.Pow(x, y)
    return cast_to(ox.Pow(cast_to(x, wide), cast_to(y, wide)), kind)


_NO_POWER = (
    "Integers to negative integer powers are not allowed; got the exponent {}. Cast to a floating "
    "dtype for fractions."
)


def _product_of_powers(x: Tensor, exponent: int) -> Tensor:
    """A power by squaring, each factor at most once."""
    if exponent == 0:
        return ox.Expand(scalar_like(1, x), ox.Shape(x))
    result: Tensor | None = None
    while True:
        if exponent & 1:
            result = x if result is None else ox.Mul(result, x)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        x = ox.Mul(x, x)


@gradient("Pow")
def _pow_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, exponent = op.inputs
    y = cast_to(exponent, x.dtype)  # which may be of another one
    z = op.outputs[0]
    dx = dy_ = None
    if op.needs[0]:
        fixed = None if op.needs[1] else _fixed_number(y)
        slope = _pow_slope(x, y) if fixed is None else _fixed_pow_slope(x, fixed, z)
        dx = unbroadcast(ox.Mul(dy, slope), x)
    if op.needs[1]:
        zero, one = scalar_like(0, x), scalar_like(1, x)
        positive = ox.Greater(x, zero)
        log = ox.Log(ox.Where(positive, x, one))
        log = ox.Where(positive, log, zero)
        dy_ = unbroadcast(ox.Mul(dy, ox.Mul(z, log)), y)
        dy_ = cast_to(dy_, exponent.dtype)
    return dx, dy_


forward("Pow")(broadcasting)


def _pow_slope(x: Tensor, y: Tensor) -> Tensor:
    zero, one = scalar_like(0, x), scalar_like(1, x)
    # x ** 0 has the slope 0 also at 0, where x ** -1 is infinite.
    flat = ox.And(ox.Equal(x, zero), ox.Equal(y, zero))
    base = ox.Where(flat, one, x)
    return ox.Mul(y, ox.Pow(base, ox.Sub(y, one)))


def _fixed_number(y: Tensor) -> float | None:
    """Return an exponent that is one known number and needs no gradient, else None."""
    if current().tapes or y.shape.rank != 0 or not y.dtype.is_floating:
        return None
    const = y.view() if isinstance(y, EagerTensor) else symbol_of(y).const
    return None if const is None else float(const)


def _fixed_pow_slope(x: Tensor, y: float, z: Tensor) -> Tensor:
    """``y * x ** (y - 1)``, without general powers where the exponent is one of the usual."""
    if y in (0.0, 1.0):
        return scalar_like(y, x)
    if y == 2.0:
        return ox.Mul(x, scalar_like(2, x))
    if y == 3.0:
        return ox.Mul(ox.Mul(x, x), scalar_like(3, x))
    if y == -1.0:
        return ox.Neg(ox.Mul(z, z))
    if y == 0.5:
        return ox.Div(scalar_like(0.5, z), z)
    return ox.Mul(ox.Pow(x, scalar_like(y - 1, x)), scalar_like(y, x))


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of two numbers, element by element; the gradient of a tie goes to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.maximum([1.0, 5.0], 3.0).numpy()
        array([3., 5.], dtype=float32)
    """
    return binary("Max", x, y)


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of two numbers, element by element; the gradient of a tie goes to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.minimum([1.0, 5.0], 3.0).numpy()
        array([1., 3.], dtype=float32)
    """
    return binary("Min", x, y)


@gradient("Max", "Min")
def _extremum_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The first input that equals the result gets the gradient; at NaN the second of two."""
    grads: list[Tensor | None] = []
    taken: Tensor | None = None
    zero = scalar_like(0, dy)
    if len(op.inputs) == 2:
        x, y = op.inputs
        taken = apply("GreaterOrEqual" if op.op == "Max" else "LessOrEqual", (x, y))
        pairs = (x, (taken, dy, zero)), (y, (taken, zero, dy))
        return [
            unbroadcast(ox.Where(*parts), to) if needed else None
            for (to, parts), needed in zip(pairs, op.needs, strict=True)
        ]
    for x, needed in zip(op.inputs, op.needs, strict=True):
        chosen = ox.Equal(x, op.outputs[0])
        if taken is not None:
            chosen = ox.And(chosen, ox.Not(taken))
        taken = chosen if taken is None else ox.Or(taken, chosen)
        grads.append(unbroadcast(ox.Where(chosen, dy, zero), x) if needed else None)
    return grads


forward("Max", "Min")(broadcasting)


@gradient("Sum")
def _sum_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    return [unbroadcast(dy, x) if n else None for x, n in zip(op.inputs, op.needs, strict=True)]


@forward("Sum")
def _sum_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor:
    return spread(summed(tangents), op.outputs[0])


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype; of a tensor that of its rows.

    Raises:
        ValueError: no tensors, or shapes or dtypes that differ.

    Example:
        >>> import tfx as tf
        >>> tf.add_n([tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)]).numpy()
        np.float32(6.0)
    """
    items = list(inputs) if isinstance(inputs, Iterable) else [inputs]
    if not items:
        raise InvalidArgumentError(
            "Inputs must be an iterable of at least one Tensor with the same dtype and shape."
        )
    tensors = [tensor(x) for x in items]
    total = tensors[0]
    # One node in a graph; eagerly there would be a kernel for each number of tensors. Only these
    # two have kernels of their own.
    at_once = (
        len(tensors) > 2
        and current().graph is not None
        and total.dtype in (dtypes.float32, dtypes.float64)
    )
    shape = total.shape
    for x in tensors[1:]:
        if x.dtype is not total.dtype or not x.shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                "Inputs to add_n must be of one shape and dtype; got "
                f"{total.dtype.name}{shape} and {x.dtype.name}{x.shape}."
            )
        shape = shape.merge_with(x.shape)
        if not at_once:
            total = ox.Add(total, x)
    result = ox.Sum(*tensors) if at_once else total
    if len(tensors) > 1:
        result.set_shape(shape)  # what each of them tells
    return result
