"""Cases for the batching rules of the core families: an operator and what makes its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

Maker = Callable[[Generator], Any]


@dataclass(frozen=True)
class Case:
    """An operator on inputs of one element.

    Attributes:
        op: The operator.
        inputs: What makes each input; None: it is left out.
        attrs: Its attributes.
        fixed: Inputs that are the same for all elements, because shapes depend on them.
        loops: Inputs for which, if they differ, the operator runs in a loop.
        outputs: How many results to compare.
    """

    op: str
    inputs: tuple[Maker | None, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    fixed: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    outputs: int = 1


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> Maker:
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def ints(*shape: int, low: int = 0, high: int = 4, dtype: Any = np.int64) -> Maker:
    return lambda rng: rng.integers(low, high, shape, dtype=dtype)


def bools(*shape: int) -> Maker:
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def const(value: Any, dtype: Any = np.int64) -> Maker:
    return lambda rng: np.array(value, dtype)


def distinct(*shape: int) -> Maker:
    """Floats of which no two are equal."""
    return lambda rng: rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)


_positive = floats(2, 3, low=0.2, high=0.9)
_UNARY = [
    Case(op, (_positive,))
    for op in (
        *("Abs", "Acos", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu"),
        *("Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN"),
        *("LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink"),
        *("Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh"),
        "ThresholdedRelu",
    )
]
_BINARY = [
    Case(op, (floats(*a, low=0.3), floats(*b, low=0.3)))
    for op in (
        "Add",
        "Div",
        "Mul",
        "Pow",
        "Sub",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
    )
    for a, b in (((2, 3), (3,)), ((), (2, 3)), ((2, 1), (1, 3)))
]
_ELEMENTWISE = [
    *_UNARY,
    *_BINARY,
    Case("Acosh", (floats(3, low=1.1, high=3.0),)),
    Case("BitCast", (floats(3),), {"to": 6}),
    Case("Cast", (floats(2, 3),), {"to": 7}),
    Case("CastLike", (floats(2), ints(3))),
    Case("Not", (bools(2, 3),)),
    Case("BitwiseNot", (ints(3),)),
    Case("And", (bools(2, 3), bools(3))),
    Case("Or", (bools(3), bools(2, 3))),
    Case("Xor", (bools(), bools(2))),
    Case("BitwiseAnd", (ints(2, 3), ints(3))),
    Case("BitwiseOr", (ints(2, 3), ints(3))),
    Case("BitwiseXor", (ints(), ints(3))),
    Case(
        "BitShift", (ints(3, dtype=np.uint32), ints(2, 1, dtype=np.uint32)), {"direction": "LEFT"}
    ),
    Case("Equal", (ints(2, 3), ints(3))),
    Case("Mod", (ints(2, 3), ints(3, low=1))),
    Case("Max", (floats(2, 3), floats(3), floats())),
    Case("Min", (floats(3), floats(2, 1))),
    Case("Sum", (floats(3), floats(2, 3), floats())),
    Case("Mean", (floats(3), floats(2, 3))),
    Case("Where", (bools(3), floats(2, 1), floats())),
    Case("Where", (bools(2, 1), floats(3), floats(2, 3))),
    Case("StringConcat", (lambda rng: np.array(["a", "b"], object), const(["x"], object))),
    Case(
        "RegexFullMatch",
        (lambda rng: rng.permutation(np.array(["a", "b", "c"], object)),),
        {"pattern": "[ab]"},
    ),
    Case("Clip", (floats(2, 3), floats(low=-1.0, high=0.0), floats(low=0.0, high=1.0))),
    Case("Clip", (floats(3), None, floats())),
    Case("PRelu", (floats(2, 3), floats(3))),
    Case("PRelu", (floats(2, 3), floats())),
    Case(
        "QuantizeLinear",
        (floats(2, 3), const([0.1, 0.2], np.float32), const([1, 2], np.uint8)),
        {"axis": 0},
        loops=(1, 2),
    ),
    Case("DequantizeLinear", (ints(2, 3, dtype=np.uint8), const(0.1, np.float32)), loops=(1,)),
]
_REDUCTIONS = [
    case
    for op in (
        *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
        *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
    )
    for case in (
        Case(op, (_positive, const([1])), fixed=(1,)),
        Case(op, (_positive, const([-2])), {"keepdims": 0}, fixed=(1,)),
        Case(op, (_positive,), {"keepdims": 0}),
        Case(op, (floats(low=0.2),), {"keepdims": 0}),
    )
]
_AXES = [
    *_REDUCTIONS,
    Case("ReduceSum", (_positive, None), {"noop_with_empty_axes": 1}),
    *(
        Case(op, (distinct(2, 3),), {"axis": axis, "keepdims": keep})
        for op in ("ArgMax", "ArgMin")
        for axis, keep in ((0, 1), (-1, 0), (1, 1))
    ),
    *(
        Case(op, (floats(2, 3),), {"axis": axis})
        for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
        for axis in (0, 1, -1)
    ),
    Case("Softmax", (floats(4),)),
    Case("TopK", (distinct(2, 4), const([2])), {"axis": 1}, fixed=(1,), outputs=2),
    Case("TopK", (distinct(4), const([3])), {"largest": 0}, fixed=(1,), outputs=2),
    Case("CumSum", (floats(2, 3), const(1)), loops=(1,)),
    Case("CumSum", (floats(3), const(-1)), {"exclusive": 1, "reverse": 1}, loops=(1,)),
    Case("CumProd", (floats(2, 3), const(0)), {"reverse": 1}, loops=(1,)),
    Case(
        "ReverseSequence", (floats(2, 4), ints(2, low=1, high=5)), {"batch_axis": 0, "time_axis": 1}
    ),
    Case(
        "ReverseSequence",
        (floats(4, 2, 3), ints(2, low=1, high=5)),
        {"batch_axis": 1, "time_axis": 0},
    ),
]
_SHAPES = [
    Case("Reshape", (floats(2, 3), const([3, -1])), fixed=(1,)),
    Case("Reshape", (floats(2, 3), const([0, 3, 1])), fixed=(1,)),
    Case("Reshape", (floats(1), const([])), fixed=(1,)),
    Case("Flatten", (floats(2, 3, 2),), {"axis": 2}),
    Case("Flatten", (floats(2, 3),), {"axis": -1}),
    Case("Transpose", (floats(2, 3, 4),)),
    Case("Transpose", (floats(2, 3, 4),), {"perm": [1, 2, 0]}),
    Case("Expand", (floats(3), const([2, 1])), fixed=(1,)),
    Case("Expand", (floats(2, 1), const([3])), fixed=(1,)),
    Case("Tile", (floats(2, 3), const([2, 1])), fixed=(1,)),
    Case("Squeeze", (floats(1, 3, 1), const([0])), fixed=(1,)),
    Case("Squeeze", (floats(1, 3, 1), const([-1])), fixed=(1,)),
    Case("Squeeze", (floats(1, 3, 1),)),
    Case("Unsqueeze", (floats(3), const([0, -1])), fixed=(1,)),
    Case("Unsqueeze", (floats(), const([0])), fixed=(1,)),
    Case("Concat", (floats(2, 3), floats(1, 3)), {"axis": 0}),
    Case("Concat", (floats(2, 3), floats(2, 1), floats(2, 2)), {"axis": -1}),
    Case("Split", (floats(4, 2),), {"num_outputs": 4}, outputs=4),
    Case("Split", (floats(2, 4),), {"axis": -1, "num_outputs": 2}, outputs=2),
    Case(
        "Slice", (floats(4, 5), const([1]), const([4]), const([1]), const([2])), fixed=(1, 2, 3, 4)
    ),
    Case(
        "Slice",
        (floats(4, 5), const([-1]), const([-9]), const([-2]), const([-1])),
        fixed=(1, 2, 3, 4),
    ),
    Case("Slice", (floats(4, 5), const([1, 0]), const([3, 2])), fixed=(1, 2)),
    Case(
        "Slice",
        (floats(5), ints(1, low=0, high=3), const([2**40]), const([0]), const([9])),
        fixed=(2, 3, 4),
        loops=(1,),
    ),
    # Equally many places from each start: the size is known from the inference of the two.
    Case("Slice", (floats(3, 5), const([-2]), const([9]), const([1])), fixed=(1, 2, 3)),
    Case("Pad", (floats(2, 3), const([0, 1, 2, 0])), fixed=(1,)),
    Case("Pad", (floats(2, 3), const([1, 1]), floats(), const([-1])), fixed=(1, 3), loops=(2,)),
    Case("Pad", (floats(2, 3), const([0, 1, 0, 1])), {"mode": "edge"}, fixed=(1,)),
    Case("Trilu", (floats(3, 3),)),
    Case("EyeLike", (floats(2, 3),), {"k": 1}),
    Case("EyeLike", (floats(2, 2),), {"dtype": 7}),
    Case("Trilu", (floats(2, 3, 3), const(1)), {"upper": 0}, loops=(1,)),
    Case("DepthToSpace", (floats(1, 4, 2, 2),), {"blocksize": 2}),
    Case("SpaceToDepth", (floats(2, 1, 4, 2),), {"blocksize": 2}),
    Case("OneHot", (ints(3), const(4), const([0, 1], np.float32)), fixed=(1,)),
    Case("OneHot", (ints(3), const(4), floats(2)), {"axis": 0}, fixed=(1,)),
    Case("OneHot", (ints(2, 2), const(4), floats(2)), fixed=(1,)),
    Case("Compress", (floats(2, 3), const([1, 0], bool)), {"axis": 0}, fixed=(1,)),
    Case("Compress", (floats(2, 3), const([1, 0, 1, 1], bool)), fixed=(1,)),
]
_PRODUCTS = [
    *(
        Case("MatMul", (floats(*a), floats(*b)))
        for a, b in (
            *(((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,))),
            *(((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4))),
            *(((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((1, 5, 2, 3), (2, 1, 3, 4))),
        )
    ),
    Case("Gemm", (floats(2, 3), floats(3, 4), floats(4))),
    Case(
        "Gemm",
        (floats(3, 2), floats(4, 3), floats(2, 4)),
        {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0},
    ),
    Case("Gemm", (floats(2, 3), floats(3, 4), floats(2, 1))),
    Case("Gemm", (floats(2, 3), floats(3, 4))),
    Case("Einsum", (floats(2, 3), floats(3, 4)), {"equation": "ij,jk->ki"}),
    Case("Einsum", (floats(2, 3), floats(3)), {"equation": "ij,j"}),
    Case("Einsum", (floats(5, 2, 3), floats(3, 4)), {"equation": "...ij,jk->...ik"}),
    Case("Einsum", (floats(3, 3),), {"equation": "ii->i"}),
    Case("Det", (floats(3, 3),)),
]
_INDEX = [
    *(
        Case("Gather", (floats(4, 3, 2), ints(*places, low=-2, high=2)), {"axis": axis})
        for axis in (0, 1, -1)
        for places in ((), (2,), (2, 2))
    ),
    Case("Gather", (floats(4), ints(dtype=np.int32))),
    Case("GatherElements", (floats(2, 3), ints(2, 2, high=3)), {"axis": 1}),
    Case("GatherElements", (floats(2, 3), ints(1, 3, high=2)), {"axis": -2}),
    Case("GatherND", (floats(3, 4), ints(2, 2, high=3))),
    Case("GatherND", (floats(3, 4), ints(2, 1, high=3))),
    Case("GatherND", (floats(2, 3, 4), ints(2, 1, high=3)), {"batch_dims": 1}),
    Case(
        "ScatterElements",
        (floats(3, 3), ints(2, 3, high=3), floats(2, 3)),
        {"axis": 0, "reduction": "add"},
    ),
    Case(
        "ScatterElements", (floats(3), lambda rng: rng.permutation(3)[:2], floats(2)), {"axis": -1}
    ),
    Case("ScatterND", (floats(4, 3), lambda rng: rng.permutation(4)[:2, None], floats(2, 3))),
    Case("ScatterND", (floats(4, 3), ints(2, 2, high=3), floats(2)), {"reduction": "add"}),
]
CASES: list[Case] = [*_ELEMENTWISE, *_AXES, *_SHAPES, *_PRODUCTS, *_INDEX]
