"""How operators are written as instructions of the fused kernels.

``write`` is given what makes a step; it returns the step of the node's result. What it cannot write
stays a node: an operator without a row here, a type without an instruction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from tfx.graph.fusion.copies import copied, is_copy, is_small_reshape, learn_copy
from tfx.graph.fusion.symbols import Shape, Symbols
from tfx.graph.ir import MATRIX_ROUTINE, Node, Value
from tfx.kernels.library import Instruction
from tfx.kernels.programs import MAX_RANK, MatrixOperation

_BOOL = 9
_FLOATS = (1, 11)


class _MissingError(Exception):
    pass


class Make(Protocol):
    """What makes steps: operands are those that it has made, and those of the node."""

    def __call__(self, name: str, kind: int, *operands: Any) -> Any:
        """The result of an instruction, by its name and the type of the result."""
        ...

    def number(self, value: float, kind: int) -> Any:
        """A constant of a type."""
        ...


_Writer: TypeAlias = Callable[[Make, Node, Sequence[Any]], Any]


def _same(make: Make, node: Node, x: Sequence[Any]) -> Any:
    return make(node.op, node.outputs[0].dtype, *x)


def _of_many(name: str) -> _Writer:
    def write(make: Make, node: Node, x: Sequence[Any]) -> Any:
        total = x[0]
        for each in x[1:]:
            total = make(name, node.outputs[0].dtype, total, each)
        return total

    return write


def _exchanged(name: str) -> _Writer:
    return lambda make, node, x: make(name, _BOOL, x[1], x[0])


def _clip(make: Make, node: Node, x: Sequence[Any]) -> Any:
    kind, result = node.outputs[0].dtype, x[0]
    if len(x) > 1 and x[1] is not None:
        result = make("Max", kind, result, x[1])
    if len(x) > 2 and x[2] is not None:
        result = make("Min", kind, result, x[2])
    return result


def _shift(make: Make, node: Node, x: Sequence[Any]) -> Any:
    name = "ShiftLeft" if node.attrs["direction"] in ("LEFT", b"LEFT") else "ShiftRight"
    return make(name, node.outputs[0].dtype, *x)


def _remainder(make: Make, node: Node, x: Sequence[Any]) -> Any:
    return make("Rem" if node.attrs.get("fmod", 0) else "Mod", node.outputs[0].dtype, *x)


def _power(make: Make, node: Node, x: Sequence[Any]) -> Any:
    if _exponent(node) not in (2.0, 3.0):
        return make("Pow", node.outputs[0].dtype, *x)
    square = make("Mul", node.outputs[0].dtype, x[0], x[0])
    if _exponent(node) == 2.0:
        return square
    return make("Mul", node.outputs[0].dtype, square, x[0])


def _is_infinite(make: Make, node: Node, x: Sequence[Any]) -> Any:
    operand = node.inputs[0]
    kind = operand.dtype if operand is not None else 0
    signs = [bool(node.attrs.get(f"detect_{sign}", 1)) for sign in ("negative", "positive")]
    given = make("Abs", kind, *x) if all(signs) else x[0]
    # Nothing equals NaN.
    edge = math.inf if signs[1] else -math.inf if signs[0] else math.nan
    return make("Equal", _BOOL, given, make.number(edge, kind))


def _exponent(node: Node) -> float | None:
    given = node.inputs[1]
    if given is None or given.const is None or given.const.size != 1:
        return None
    return float(given.const.reshape(-1)[0])


class _Expression:
    """What a step makes, as an operand of Python's operators; constants have its type."""

    __slots__ = ("_kind", "_make", "given")

    def __init__(self, make: Make, given: Any, kind: int) -> None:
        self._make, self.given, self._kind = make, given, kind

    def apply(self, name: str, *others: _Expression | float, kind: int = 0) -> _Expression:
        operands = [self._operand(x) for x in (self, *others)]
        kind = kind or self._kind
        return _Expression(self._make, self._make(name, kind, *operands), kind)

    def _operand(self, x: _Expression | float) -> Any:
        return x.given if isinstance(x, _Expression) else self._make.number(x, self._kind)

    def __add__(self, other: _Expression | float) -> _Expression:
        return self.apply("Add", other)

    def __sub__(self, other: _Expression | float) -> _Expression:
        return self.apply("Sub", other)

    def __mul__(self, other: _Expression | float) -> _Expression:
        return self.apply("Mul", other)

    def __truediv__(self, other: _Expression | float) -> _Expression:
        return self.apply("Div", other)

    def above(self, other: float) -> _Expression:
        return self.apply("Max", other)

    def below(self, other: float) -> _Expression:
        return self.apply("Min", other)

    def if_above(self, least: float) -> _Expression:
        """This where it is above a number, else 0."""
        test = self._make("Less", _BOOL, self._make.number(least, self._kind), self.given)
        chosen = self._make("Where", self._kind, test, self.given, self._operand(0.0))
        return _Expression(self._make, chosen, self._kind)

    def where_negative(self, one: _Expression, other: _Expression) -> _Expression:
        """``one`` where this is below 0, else ``other``."""
        test = self.apply("Less", 0.0, kind=_BOOL).given
        chosen = self._make("Where", self._kind, test, one.given, other.given)
        return _Expression(self._make, chosen, self._kind)


# Of ONNX, where a node has no others.
_SELU = 1.67326319217681884765625, 1.05070102214813232421875


def _attribute(node: Node, name: str, default: float) -> float:
    """A number that a node has, as the standard keeps it: in float32, for any tensors."""
    return float(np.float32(node.attrs.get(name, default)))


def _selu(x: _Expression, node: Node) -> _Expression:
    alpha, gamma = _attribute(node, "alpha", _SELU[0]), _attribute(node, "gamma", _SELU[1])
    chosen: _Expression = x.where_negative((x.apply("Exp") - 1.0) * alpha, x)
    scaled: _Expression = chosen * gamma
    return scaled


def _celu(x: _Expression, alpha: float) -> _Expression:
    return x.where_negative(((x / alpha).apply("Exp") - 1.0) * alpha, x)


def _shrink(make: Make, node: Node, x: Sequence[Any]) -> Any:
    kind = node.outputs[0].dtype
    if kind not in _FLOATS:  # an edge of 0.5 is no integer
        raise _MissingError
    edge, bias = _attribute(node, "lambd", 0.5), make.number(_attribute(node, "bias", 0.0), kind)
    above = make("Less", _BOOL, make.number(edge, kind), x[0])
    below = make("Less", _BOOL, x[0], make.number(-edge, kind))
    rest = make("Where", kind, above, make("Sub", kind, x[0], bias), make.number(0.0, kind))
    return make("Where", kind, below, make("Add", kind, x[0], bias), rest)


def _mean(make: Make, node: Node, x: Sequence[Any]) -> Any:
    kind = node.outputs[0].dtype
    total = _of_many("Add")(make, node, x)
    return make("Mul", kind, total, make.number(1 / len(x), kind))  # as ONNX Runtime has it


def _softplus(x: _Expression) -> _Expression:
    """As ONNX Runtime has it, which never raises e to a positive power."""
    raised = (x.apply("Abs").apply("Neg").apply("Exp") + 1.0).apply("Log")
    return x.above(0.0) + raised


_SQRT_HALF, _GELU_FACTOR, _GELU_CUBE = math.sqrt(0.5), math.sqrt(2 / math.pi), 0.044715


def _gelu(x: _Expression, node: Node) -> _Expression:
    if node.attrs.get("approximate", "none") in ("tanh", b"tanh"):
        inner = (x * x * x * _GELU_CUBE + x) * _GELU_FACTOR
        return x * 0.5 * (inner.apply("Tanh") + 1.0)
    return x * 0.5 * ((x * _SQRT_HALF).apply("Erf") + 1.0)


# Activations of one operand, by the formulas of ONNX Runtime's kernels, with their attributes.
_ACTIVATIONS: dict[str, Callable[[_Expression, Node], _Expression]] = {
    "LeakyRelu": lambda x, n: x.where_negative(x * _attribute(n, "alpha", 0.01), x),
    "Elu": lambda x, n: x.where_negative((x.apply("Exp") - 1.0) * _attribute(n, "alpha", 1.0), x),
    "Selu": lambda x, n: _selu(x, n),
    "Celu": lambda x, n: _celu(x, _attribute(n, "alpha", 1.0)),
    "ThresholdedRelu": lambda x, n: x.if_above(_attribute(n, "alpha", 1.0)),
    "Swish": lambda x, n: x * (x * _attribute(n, "alpha", 1.0)).apply("Sigmoid"),
    "Softplus": lambda x, n: _softplus(x),
    "Softsign": lambda x, n: x / (x.apply("Abs") + 1.0),
    "HardSigmoid": lambda x, n: (
        (x * _attribute(n, "alpha", 0.2) + _attribute(n, "beta", 0.5)).below(1.0).above(0.0)
    ),
    "HardSwish": lambda x, n: x * (x * (1 / 6) + 0.5).below(1.0).above(0.0),
    "Mish": lambda x, n: x * _softplus(x).apply("Tanh"),
    "Gelu": _gelu,
}


def _activation(make: Make, node: Node, x: Sequence[Any]) -> Any:
    given = _Expression(make, x[0], node.outputs[0].dtype)
    return _ACTIVATIONS[node.op](given, node).given


# Instructions of the same name and operands.
_SAME = """
    Add Sub Mul Div Neg Sign Relu Reciprocal Sqrt Abs Exp Log Tanh Sigmoid IsNaN Floor Ceil Round
    Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh
    BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Less LessOrEqual Equal Where Cast And Or Xor Not
"""
_WRITERS: dict[str, _Writer] = {
    **dict.fromkeys(_SAME.split(), _same),
    **dict.fromkeys(_ACTIVATIONS, _activation),
    "Identity": lambda make, node, x: make("Copy", node.outputs[0].dtype, *x),
    "Max": _of_many("Max"),
    "Min": _of_many("Min"),
    "Sum": _of_many("Add"),
    "Mean": _mean,
    "Shrink": _shrink,
    "Greater": _exchanged("Less"),
    "GreaterOrEqual": _exchanged("LessOrEqual"),
    "Clip": _clip,
    "BitShift": _shift,
    "Mod": _remainder,
    "IsInf": _is_infinite,
    "Pow": _power,
}


# Operations of the kernels, and the types that they have them for.
_REDUCTIONS = {
    "ReduceSum": (0, (1, 11, 6, 7)),
    "ReduceMean": (1, (1, 11)),
    "ReduceMax": (2, (1, 2, 11, 6, 7)),
    "ReduceMin": (3, (1, 2, 11, 6, 7)),
}
# Of more elements, ONNX Runtime's kernels take the threads that a single loop does not.
_MOST_REDUCED = 1 << 14


def reduction_of(node: Node) -> tuple[int, tuple[int, ...], bool] | None:
    """The operation of a reducing node that the kernels do, its axes, and whether these stay."""
    operation, kinds = _REDUCTIONS.get(node.op, (0, ()))
    x = node.inputs[0] if node.inputs else None
    if x is None or x.dtype not in kinds:
        return None
    sizes = _static(x)
    if not sizes or len(sizes) > MAX_RANK or math.prod(sizes) > _MOST_REDUCED:
        return None
    given = node.inputs[1] if len(node.inputs) > 1 else None
    axes: Sequence[int]
    if given is None:
        if node.attrs.get("noop_with_empty_axes", 0):
            return None
        axes = range(len(sizes))
    elif given.const is None or not given.const.size:
        return None
    else:
        named = [int(axis) for axis in given.const.reshape(-1)]
        if not all(-len(sizes) <= axis < len(sizes) for axis in named):
            return None  # ONNX Runtime says what is wrong with it
        axes = [axis % len(sizes) for axis in named]
    return operation, tuple(axes), bool(node.attrs.get("keepdims", 1))


# Products of more numbers, ONNX Runtime's kernels do faster (measured: 65,536 in 2.2 us for 2.6,
# 262,144 in 4.3 us for 2.7), as they do those of few rows. Sums of more numbers have no room.
_MOST_PRODUCTS, _FEWEST_ROWS, _LONGEST_SUM = 1 << 16, 4, 512


def product_of(node: Node) -> tuple[bool, bool] | None:
    """Whether the left and the right matrix of a product that the kernels do are transposed."""
    if node.op not in ("MatMul", "Gemm") or len(node.inputs) != 2:
        return None
    left, right = node.inputs
    if left is None or right is None or left.dtype not in _FLOATS:
        return None
    if any(node.attrs.get(factor, 1.0) != 1.0 for factor in ("alpha", "beta")):
        return None
    turned, right_turned = (bool(node.attrs.get(name, 0)) for name in ("transA", "transB"))
    a, b = _static(left), _static(right)
    if a is None or b is None or len(a) < 2 or len(b) < 2 or len(a) > MAX_RANK:
        return None
    if len(b) != 2 and a[:-2] != b[:-2]:
        return None  # broadcast, or wrong: ONNX Runtime does it, or says so
    rows, inner = (a[-1], a[-2]) if turned else (a[-2], a[-1])
    right_inner, columns = (b[-1], b[-2]) if right_turned else (b[-2], b[-1])
    rows = max(rows * (math.prod(a[:-2]) if len(b) == 2 else 1), _FEWEST_ROWS)
    count = math.prod(a[:-2]) if len(b) > 2 else 1
    if inner != right_inner or inner > _LONGEST_SUM:
        return None
    return (turned, right_turned) if count * rows * inner * columns <= _MOST_PRODUCTS else None


def _static(value: Value) -> tuple[int, ...] | None:
    """The shape of a value that a loop of its own can read; None if it is not known or empty."""
    if value.shape is None or (value.const is not None and value.const.size == 1):
        return None  # a constant of one number is a part of the program, not a tensor
    sizes = [size for size in value.shape if isinstance(size, int) and size > 0]
    return tuple(sizes) if len(sizes) == len(value.shape) else None


def is_loop_of_its_own(node: Node) -> bool:
    """True if what is written of a node is no step on elements."""
    if node.op in _REDUCTIONS or node.op in ("MatMul", "Gemm") or node.op == MATRIX_ROUTINE:
        return True
    return is_copy(node)


def learn(node: Node, symbols: Symbols) -> Shape | None:
    """The shape of the result of a node that ``is_written``, from now on; None: it is not known."""
    if not is_loop_of_its_own(node):
        return symbols.learn(node)
    if node.op == MATRIX_ROUTINE:
        return _learn_routine(node, symbols)
    reduction, product = reduction_of(node), product_of(node)
    if reduction is not None:
        return symbols.learn_reduced(node, *reduction[1:])
    if product is not None:
        return symbols.learn_product(node, *product)
    return learn_copy(node, symbols) if is_copy(node) else symbols.learn(node)


def _learn_routine(node: Node, symbols: Symbols) -> Shape | None:
    operation = MatrixOperation(node.attrs["operation"])
    shape = symbols.shape(operands(node)[-1])
    if shape is None:
        return None
    (*batch, rows, columns) = shape
    match operation:
        case MatrixOperation.LU_ORDER | MatrixOperation.EIGEN_VALUES:
            last: Shape = (rows,)
        case MatrixOperation.LU_SIGN:
            last = ()
        case MatrixOperation.SINGULAR_VALUES:
            last = (columns,)
        case MatrixOperation.SINGULAR_VECTORS:
            last = columns, columns
        case MatrixOperation.FULL_Q:
            last = rows, rows
        case MatrixOperation.REDUCED_Q | MatrixOperation.REDUCED_R:
            if not isinstance(rows, int) or not isinstance(columns, int):
                return None  # which one is shorter is not known
            least = min(rows, columns)
            is_triangle = operation is MatrixOperation.REDUCED_R
            last = (least, columns) if is_triangle else (rows, least)
        case _:
            last = rows, columns
    return symbols.learnt(node, (*batch, *last))


class _Checker:
    """Operands are their types: finds out whether there are instructions for them."""

    def __init__(self, instructions: Mapping[Instruction, int]) -> None:
        self._instructions = instructions

    def __call__(self, name: str, kind: int, *operands: int) -> int:
        if (name, kind, operands) not in self._instructions:
            raise _MissingError
        return kind

    def number(self, _: float, kind: int) -> int:
        return kind


def is_written(
    node: Node, instructions: Mapping[Instruction, int], *, in_loop: bool = False
) -> bool:
    """True if the kernels have instructions for a node, or reduce or multiply as it does.

    Args:
        node: The node.
        instructions: Those that the kernels have.
        in_loop: It is in the body of a loop, where they copy, too.
    """
    if node.op in _REDUCTIONS:
        return reduction_of(node) is not None
    if node.op in ("MatMul", "Gemm"):
        return product_of(node) is not None
    if node.op == MATRIX_ROUTINE:
        return True
    if is_copy(node) if in_loop else is_small_reshape(node):
        return True
    write = _WRITERS.get(node.op)
    if write is None or len(node.outputs) != 1 or node.inputs[0] is None:
        return False
    if node.op in ("Max", "Min", "Sum", "Mean") and len(node.inputs) < 2:
        return False
    if node.op == "Clip" and len([x for x in node.inputs if x is not None]) < 2:
        return False

    try:
        write(_Checker(instructions), node, [None if x is None else x.dtype for x in node.inputs])
    except _MissingError:
        return False
    return True


def operands(node: Node) -> list[Value]:
    """What a program needs for a node: the axes of a reduction are a part of it."""
    if is_copy(node):
        return copied(node)
    given = node.inputs[:1] if node.op in _REDUCTIONS else node.inputs
    return [value for value in given if value is not None]


def write(node: Node, operands: Sequence[Any], make: Make) -> Any:
    """The step of a node's result.

    Args:
        node: One that ``is_written``.
        operands: What its inputs are in the loop; None where one is left out.
        make: Called with the name of an instruction, the type of its result and its operands.
    """
    return _WRITERS[node.op](make, node, operands)
