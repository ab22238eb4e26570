"""Python's operators on tensors and variables. Importing this module attaches them.

Kept apart from ``Tensor`` so that the tensor does not know any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.tracebacks import cover
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.context import using
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.ops.array import gather, indexing, slice_assignment
from tfx.ops.array import (
    indexed_slices as indexed_slices,  # teaches convert_to_tensor IndexedSlices
)
from tfx.ops.common.arguments import is_tensor_like, same_dtype, tensor
from tfx.ops.linalg import matmul
from tfx.ops.math import arithmetic, comparison, counting, elementwise
from tfx.runtime.devices import full_name, require

Operator = Callable[..., Any]

# By any of these a class says that it computes with what it does not know. Not by ``__ror__``,
# which every class has: it makes a union of types.
_REFLECTED = [
    f"__r{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "xor", "matmul")
]


def _fast(op: str, general: Operator) -> tuple[Operator, Operator]:
    """Forward and reflected method for an ONNX operator that needs no thought on equal dtypes."""

    def forward(self: Any, other: Any) -> Any:
        if type(self) is EagerTensor and type(other) is EagerTensor and self._dtype is other._dtype:
            return apply(op, (self, other))
        return _guarded(general, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return _guarded(general, other, self)

    return forward, reflected


def _general(function: Operator) -> tuple[Operator, Operator]:
    def forward(self: Any, other: Any) -> Any:
        return _guarded(function, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return _guarded(function, other, self)

    return forward, reflected


def _python2_quotient(x: Any, y: Any) -> Any:
    """The quotient of ``__div__``: of integers rounded down."""
    of_integers = (x if is_tensor_like(x) else y).dtype.is_integer
    return arithmetic.floordiv(x, y) if of_integers else arithmetic.truediv(x, y)


def _guarded(function: Operator, x: Any, y: Any) -> Any:
    """Let the other operand's class try if it is not ours and cannot be converted."""
    try:
        return function(x, y)
    except DTypeMismatchError:
        raise
    except (TypeError, ValueError):
        other = y if is_tensor_like(x) else x
        if not is_tensor_like(other) and _has_own_arithmetic(other):
            return NotImplemented
        raise


def _has_own_arithmetic(x: Any) -> bool:
    if is_sparse(x):
        return True
    kind = type(x)
    return kind.__module__ not in ("builtins", "numpy") and any(
        hasattr(kind, name) for name in _REFLECTED
    )


def _string_or(op: str, general: Operator) -> tuple[Operator, Operator]:
    """``+`` also concatenates strings."""
    fast, reflected = _fast(op, general)

    def forward(self: Any, other: Any) -> Any:
        if type(self) is EagerTensor and self._dtype.is_numeric_compatible:
            return fast(self, other)
        return _guarded(general, self, other)

    return forward, reflected


def _bitwise(logical: str, bits: str) -> Operator:
    def function(x: Any, y: Any) -> Tensor:
        a, b = same_dtype(x, y, logical)
        return apply(logical if a.dtype.is_bool else bits, (a, b))

    return function


no_gradient("BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", why="integers")


def _comparison(op: str) -> Operator:
    def function(self: Any, other: Any) -> Any:
        return _guarded(getattr(comparison, op), self, other)

    return function


def _by_identity(x: Any, y: Any) -> bool:
    """True if one of them is a tensor of a graph whose tensors are equal as objects."""
    return any(isinstance(t, SymbolicTensor) and t._graph.compares_by_identity for t in (x, y))


def _equal(self: Any, other: Any) -> Any:
    if type(self) is not EagerTensor and _by_identity(self, other):
        return getattr(self, "_symbol", self) is getattr(other, "_symbol", other)
    return _guarded(comparison.tensor_equals, self, other)


def _not_equal(self: Any, other: Any) -> Any:
    if type(self) is not EagerTensor and _by_identity(self, other):
        return not _equal(self, other)
    return _guarded(comparison.tensor_not_equals, self, other)


def _matmul(x: Any, y: Any) -> Any:
    return matmul.matmul(x, y)


def _getitem(self: Any, key: Any) -> Any:
    return indexing.getitem(self, key)


def _negate(self: Any) -> Any:
    return ox.Neg(tensor(self))


def _absolute(self: Any) -> Any:
    return elementwise.abs(self)


def _invert(self: Any) -> Any:
    x = tensor(self)
    return apply("Not" if x.dtype.is_bool else "BitwiseNot", (x,))


def _identity(self: Any) -> Any:
    return tensor(self)


def _round(self: Any, digits: int | None = None) -> Any:
    if digits:
        raise InvalidArgumentError(f"round() of a tensor takes no digits; got {digits}.")
    return ox.Round(tensor(self))


def _on(self: EagerTensor, device: str) -> Tensor:
    """The same contents on a device; the tensor itself if it is there."""
    try:
        require(device)
    except InvalidArgumentError as e:
        raise RuntimeError(str(e)) from None  # as TensorFlow: this never falls back to a CPU
    if self.device == full_name(device):
        return self
    with using(device=device):
        return ox.Identity(self)


def _in_place(symbol: str, instead: str) -> Operator:
    """``variable += x`` would silently make the name a tensor: it is refused, as in TensorFlow."""

    def function(self: Any, other: Any) -> Any:
        raise RuntimeError(
            f"`variable {symbol}= value` with `tf.Variable`s is not supported. Use `{instead}` to "
            f"modify the variable, or `out = variable {symbol} value` if you need to get a new "
            "output Tensor."
        )

    return function


_IN_PLACE = {
    "__iadd__": _in_place("+", "variable.assign_add(value)"),
    "__isub__": _in_place("-", "variable.assign_sub(value)"),
    "__imul__": _in_place("*", "variable.assign(variable * value)"),
    "__itruediv__": _in_place("/", "variable.assign(variable / value)"),
    "__ipow__": _in_place("**", "variable.assign(variable ** value)"),
}


def attach() -> None:
    """Give ``Tensor`` and ``Variable`` their operators."""
    pairs = {
        "add": _string_or("Add", arithmetic.add),
        "sub": _fast("Sub", arithmetic.subtract),
        "mul": _fast("Mul", arithmetic.multiply),
        "truediv": _general(arithmetic.truediv),
        "div": _general(_python2_quotient),
        "floordiv": _general(arithmetic.floordiv),
        "mod": _general(arithmetic.floormod),
        "pow": _general(arithmetic.pow),
        "and": _general(_bitwise("And", "BitwiseAnd")),
        "or": _general(_bitwise("Or", "BitwiseOr")),
        "xor": _general(_bitwise("Xor", "BitwiseXor")),
        "matmul": _general(_matmul),
    }
    methods: dict[str, Operator] = {
        "__neg__": _negate,
        "__pos__": _identity,
        "__abs__": _absolute,
        "__invert__": _invert,
        "__round__": _round,
        "__getitem__": _getitem,
        "__eq__": _equal,
        "__ne__": _not_equal,
        "__lt__": _comparison("less"),
        "__le__": _comparison("less_equal"),
        "__gt__": _comparison("greater"),
        "__ge__": _comparison("greater_equal"),
    }
    for name, (forward, reflected) in pairs.items():
        methods[f"__{name}__"] = forward
        methods[f"__r{name}__"] = reflected
    for cls in (Tensor, Variable):
        for name, method in methods.items():
            setattr(cls, name, method)
    reads: dict[str, Operator] = {"sparse_read": gather.gather, "gather_nd": gather.gather_nd}
    reads["count_up_to"] = counting.count_up_to
    reads["__getitem__"] = slice_assignment.part_of
    for name, own in {**_IN_PLACE, **reads}.items():
        setattr(Variable, name, own)
    Tensor.OVERLOADABLE_OPERATORS = frozenset(methods) - {"__pos__", "__round__"}
    setattr(EagerTensor, _on.__name__, _on)
    cover(EagerTensor)
    cover(SymbolicTensor)
    cover(Variable)


attach()
