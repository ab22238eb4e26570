"""Random programs: a table of operations with NumPy's meaning of each, and a strategy over it.

A program is a list of steps on earlier values. It is checked step by step: NumPy computes each
step from the operands that the run itself produced, so that rounding does not add up and values
close to a jump do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from hypothesis import strategies as st

import tfx.ops.common.operator_overloads  # noqa: F401
from tfx.ops.array import reshape, where
from tfx.ops.math import (
    argmax,
    arithmetic,
    cast,
    clip,
    comparison,
    cumulative,
    elementwise,
    error_functions,
    reduction,
    statistics,
    trigonometry,
)
from tfx.ops.nn import softmax

# Shapes of one row broadcast together. The second is long enough for vector instructions.
SHAPES = [
    [(), (3,), (2, 1), (2, 3), (1, 1)],
    [(), (19,), (5, 1), (5, 19), (1, 1)],
]
FLOATS = ["float64", "float32", "float16"]
INTEGERS = ["int32", "int64", "int8", "uint8", "uint32"]
LIMIT = 6.0  # floats are brought back into [-LIMIT, LIMIT] after each step
TOLERANCE = {"float64": 1e-12, "float32": 5e-6, "float16": 5e-3}


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    Attributes:
        name: For messages.
        run: The operation on tensors.
        reference: The same on arrays; float operands come as float64.
        operands: For each operand the kinds of dtype that it may have ("f", "i", "b"), or "=" for
            the dtype of the operand before it.
        smooth: Whether it has derivatives everywhere.
    """

    name: str
    run: Callable[..., Any]
    reference: Callable[..., Any]
    operands: tuple[str, ...] = ("f",)
    smooth: bool = False


@dataclass(frozen=True)
class Step:
    """An operation applied to earlier values, given by position."""

    operation: Operation
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Leaves, and steps on them and on each other's results.

    Attributes:
        leaves: The arrays that it starts from.
        steps: In order; each makes one more value.
        smooth: Results are brought back into range by a function without kinks.
    """

    leaves: tuple[np.ndarray[Any, Any], ...]
    steps: tuple[Step, ...]
    smooth: bool = False

    def run(self, *leaves: Any) -> list[Any]:
        """All values, leaves first; made for tensors."""
        values = list(leaves)
        for step in self.steps:
            y = step.operation.run(*[values[i] for i in step.operands])
            values.append(self._in_range(y) if y.dtype.is_floating else y)
        return values

    def _in_range(self, y: Any) -> Any:
        if self.smooth:
            return trigonometry.tanh(y / LIMIT) * LIMIT
        return clip.clip_by_value(y, -LIMIT, LIMIT)

    def check(self, values: Sequence[Any]) -> None:
        """Assert that each value is what NumPy makes of the values that it was made from."""
        arrays = [np.asarray(v) for v in values]
        for step, actual in zip(self.steps, arrays[len(self.leaves) :], strict=True):
            operands = [arrays[i] for i in step.operands]
            _compare(step.operation, operands, actual)

    def __repr__(self) -> str:
        leaves = [f"v{i}: {x.dtype}{list(x.shape)}" for i, x in enumerate(self.leaves)]
        steps = [
            f"v{len(leaves) + i} = {s.operation.name}({', '.join(f'v{k}' for k in s.operands)})"
            for i, s in enumerate(self.steps)
        ]
        return "; ".join([*leaves, *steps])


def _compare(operation: Operation, operands: list[Any], actual: Any) -> None:
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in operands]
    with np.errstate(all="ignore"):
        expected = np.asarray(operation.reference(*wide))
    if expected.dtype.kind != "f":
        assert actual.dtype == expected.dtype, operation.name
        np.testing.assert_array_equal(actual, expected, err_msg=operation.name)
        return
    if operands[-1].dtype.kind == "f":
        assert actual.dtype == operands[-1].dtype or operation.name.startswith("cast")
    tolerance = TOLERANCE[actual.dtype.name]
    scale = sum(float(np.abs(x).sum()) for x in wide if x.dtype.kind == "f")
    np.testing.assert_allclose(
        actual.astype(np.float64),
        np.clip(expected.astype(np.float64), -LIMIT, LIMIT),
        rtol=tolerance,
        atol=tolerance * (1.0 + scale),
        err_msg=operation.name,
    )


def _along_last(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function along an axis; a scalar is left as it is."""
    return lambda x: f(x) if len(x.shape) else x


def _reduced(name: str, module: Any, f: Any, kinds: str, smooth: bool = False) -> list[Operation]:
    """A reduction of everything, and one of the last axis that keeps it."""
    run = getattr(module, name)
    return [
        Operation(f"{name}()", run, f, (kinds,), smooth),
        Operation(
            f"{name}(axis=-1, keepdims=True)",
            _along_last(lambda x: run(x, axis=-1, keepdims=True)),
            _along_last(lambda x: f(x, axis=-1, keepdims=True)),
            (kinds,),
            smooth,
        ),
    ]


def _in_dtype(f: Any) -> Any:
    """NumPy's sums and products of small integers in their own dtype."""
    return lambda x, **options: f(x, dtype=x.dtype, **options)


def _cast(dtype: str) -> Operation:
    # Negative floats have no meaning in unsigned dtypes: their size is cast.
    def run(x: Any) -> Any:
        return cast.cast(elementwise.abs(x) if x.dtype.is_floating else x, dtype)

    def reference(x: Any) -> Any:
        return (np.abs(x) if x.dtype.kind == "f" else x).astype(dtype)

    return Operation(f"cast({dtype})", run, reference, ("fib",))


_UNARY = [
    Operation("negative", elementwise.negative, np.negative, ("f",), True),
    Operation("square", elementwise.square, np.square, ("fi",), True),
    Operation("exp", elementwise.exp, np.exp, ("f",), True),
    Operation("expm1", elementwise.expm1, np.expm1, ("f",), True),
    Operation("sin", trigonometry.sin, np.sin, ("f",), True),
    Operation("cos", trigonometry.cos, np.cos, ("f",), True),
    Operation("atan", trigonometry.atan, np.arctan, ("f",), True),
    Operation("sinh", trigonometry.sinh, np.sinh, ("f",), True),
    Operation("tanh", trigonometry.tanh, np.tanh, ("f",), True),
    Operation("asinh", trigonometry.asinh, np.arcsinh, ("f",), True),
    Operation("erf", error_functions.erf, scipy.special.erf, ("f",), True),
    Operation("erfc", error_functions.erfc, scipy.special.erfc, ("f",), True),
    Operation("sigmoid", softmax.sigmoid, scipy.special.expit, ("f",), True),
    Operation("softplus", softmax.softplus, lambda x: np.logaddexp(0.0, x), ("f",), True),
    Operation("abs", elementwise.abs, np.abs, ("f",)),
    Operation("sign", elementwise.sign, np.sign, ("f",)),
    Operation("floor", elementwise.floor, np.floor, ("f",)),
    Operation("round", elementwise.round, np.round, ("f",)),
    Operation(
        "sqrt(abs)", lambda x: elementwise.sqrt(elementwise.abs(x)), lambda x: np.sqrt(abs(x))
    ),
    Operation("log1p(abs)", lambda x: elementwise.log1p(abs(x)), lambda x: np.log1p(abs(x))),
    Operation("is_finite", elementwise.is_finite, np.isfinite),
    Operation("logical_not", comparison.logical_not, np.logical_not, ("b",)),
]
_BINARY = [
    Operation("add", arithmetic.add, np.add, ("fi", "="), True),
    Operation("subtract", arithmetic.subtract, np.subtract, ("fi", "="), True),
    Operation("multiply", arithmetic.multiply, np.multiply, ("fi", "="), True),
    Operation("maximum", arithmetic.maximum, np.maximum, ("fi", "=")),
    Operation("minimum", arithmetic.minimum, np.minimum, ("fi", "=")),
    Operation("atan2", trigonometry.atan2, np.arctan2, ("f", "=")),
    Operation(
        "floordiv",
        lambda x, y: arithmetic.floordiv(x, arithmetic.maximum(y, 1)),
        lambda x, y: np.floor_divide(x, np.maximum(y, 1)),
        ("i", "="),
    ),
    Operation(
        "floormod",
        lambda x, y: arithmetic.floormod(x, arithmetic.maximum(y, 1)),
        lambda x, y: np.mod(x, np.maximum(y, 1)),
        ("i", "="),
    ),
    Operation(
        "divide_no_nan",
        lambda x, y: error_functions.divide_no_nan(x, elementwise.round(y)),
        lambda x, y: np.where(np.round(y) == 0, 0.0, x / np.round(y)),
        ("f", "="),
    ),
    Operation("equal", comparison.equal, np.equal, ("fib", "=")),
    Operation("less", comparison.less, np.less, ("fi", "=")),
    Operation("greater_equal", comparison.greater_equal, np.greater_equal, ("fi", "=")),
    Operation("logical_and", comparison.logical_and, np.logical_and, ("b", "=")),
    Operation("logical_xor", comparison.logical_xor, np.logical_xor, ("b", "=")),
    Operation("where", where.where, np.where, ("b", "fib", "=")),
]
_REDUCTIONS = [
    *_reduced("reduce_sum", reduction, _in_dtype(np.sum), "fi", True),
    *_reduced("reduce_prod", reduction, np.prod, "f", True),
    *_reduced("reduce_mean", reduction, np.mean, "f", True),
    *_reduced("reduce_max", reduction, np.max, "fi"),
    *_reduced("reduce_min", reduction, np.min, "fi"),
    *_reduced("reduce_all", reduction, np.all, "b"),
    *_reduced("reduce_any", reduction, np.any, "b"),
    *_reduced("reduce_logsumexp", reduction, scipy.special.logsumexp, "f", True),
    *_reduced("reduce_variance", statistics, np.var, "f", True),
    *_reduced("count_nonzero", statistics, np.count_nonzero, "fib"),
]
_ALONG_LAST = [
    Operation(
        "softmax",
        _along_last(softmax.softmax),
        _along_last(lambda x: scipy.special.softmax(x, -1)),
        ("f",),
        True,
    ),
    Operation(
        "cumsum",
        _along_last(lambda x: cumulative.cumsum(x, -1)),
        _along_last(lambda x: np.cumsum(x, -1, dtype=x.dtype)),
        ("fi",),
        True,
    ),
    Operation(
        "cumprod",
        _along_last(lambda x: cumulative.cumprod(x, -1)),
        _along_last(lambda x: np.cumprod(x, -1)),
        ("f",),
        True,
    ),
    Operation(
        "argmax",
        _along_last(lambda x: reshape.expand_dims(argmax.argmax(x, -1), -1)),
        _along_last(lambda x: np.argmax(x, -1, keepdims=True)),
        ("i",),
    ),
]
TABLE = [*_UNARY, *_BINARY, *_REDUCTIONS, *_ALONG_LAST]


@st.composite
def programs(draw: Any, *, smooth: bool = False) -> Program:
    """Programs over one float dtype, one integer dtype and bool (smooth ones: float64 alone)."""
    floating, integer = draw(st.sampled_from(FLOATS)), draw(st.sampled_from(INTEGERS))
    kinds = ["float64"] if smooth else [floating, integer, "bool"]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = st.sampled_from(draw(st.sampled_from(SHAPES)))
    whole_range = draw(st.booleans())
    leaves = tuple(_leaf(rng, d, draw(shapes), whole_range) for d in [*kinds, *kinds])
    table = [o for o in TABLE if o.smooth] if smooth else [*TABLE, *map(_cast, kinds)]
    steps: list[Step] = []
    known = list(leaves)  # NumPy's values, of which only the dtypes and shapes are looked at
    for operation in draw(st.lists(st.sampled_from(table), min_size=1, max_size=8)):
        step = Step(operation, draw(_operands(operation, known)))
        steps.append(step)
        known.append(_example(operation, [known[i] for i in step.operands]))
    return Program(leaves, tuple(steps), smooth)


def _leaf(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], whole_range: bool) -> Any:
    if dtype in FLOATS:
        return rng.uniform(-3.0, 3.0, shape).astype(dtype)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if whole_range:
        info = np.iinfo(dtype)
        return np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
    return np.asarray(rng.integers(0 if dtype.startswith("u") else -5, 6, shape, dtype))


@st.composite
def _operands(draw: Any, operation: Operation, known: list[Any]) -> tuple[int, ...]:
    chosen: list[int] = []
    for kinds in operation.operands:
        fitting = [
            i
            for i, x in enumerate(known)
            if (x.dtype == known[chosen[-1]].dtype if kinds == "=" else _letter(x) in kinds)
        ]
        chosen.append(draw(st.sampled_from(fitting)))
    return tuple(chosen)


def _letter(x: Any) -> str:
    return {"f": "f", "b": "b"}.get(x.dtype.kind, "i")


def _example(operation: Operation, operands: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        y = np.asarray(operation.reference(*operands))
    if y.dtype.kind != "f":
        return y
    computed = operands[-1].dtype if operands[-1].dtype.kind == "f" else y.dtype
    return np.clip(y, -LIMIT, LIMIT).astype(y.dtype if "cast" in operation.name else computed)
