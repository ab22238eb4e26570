"""Each operator in a fused program gives what ONNX Runtime's own kernel gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special

from tests.unit.graph.passes.programs import random_graph
from tests.unit.kernels.fused_graphs import always_fuse, fused, fused_nodes, needs_library, run
from tfx.core import dtypes
from tfx.graph.ir import Graph
from tfx.testing import assert_close

pytestmark = [needs_library, pytest.mark.usefixtures("always_fuse")]
__all__ = ["always_fuse"]

F, D, I4, L, U, V, B = (np.dtype(n) for n in ("f4", "f8", "i4", "i8", "u4", "u8", "?"))
FLOATS, SIGNED, BITS = (F, D), (I4, L), (U, V)
# Operator, attributes, types of the operands, type of the result.
CASES = [
    *[
        (op, {}, (t, t), t)
        for op in ("Add", "Sub", "Mul", "Max", "Min")
        for t in (*FLOATS, *SIGNED)
    ],
    *[("Div", {}, (t, t), t) for t in FLOATS],
    *[(op, {}, (t,), t) for op in ("Neg", "Sign", "Abs") for t in (*FLOATS, *SIGNED)],
    *[(op, {}, (t,), t) for op in ("Relu", "Reciprocal", "Sqrt") for t in FLOATS],
    *[(op, {}, (t,), t) for op in ("Floor", "Ceil", "Round") for t in FLOATS],
    *[("IsNaN", {}, (t,), B) for t in FLOATS],
    *[
        ("IsInf", {"detect_negative": n, "detect_positive": p}, (t,), B)
        for t in FLOATS
        for n, p in itertools.product((0, 1), (0, 1))
    ],
    ("ThresholdedRelu", {}, (F,), F),
    ("ThresholdedRelu", {"alpha": -0.5}, (F,), F),
    *[("Where", {}, (B, t, t), t) for t in (*FLOATS, *SIGNED, U)],
    *[
        (op, {}, (t, t), B)
        for op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
        for t in (*FLOATS, *SIGNED, *BITS)
    ],
    *[(op, {}, (B, B), B) for op in ("And", "Or", "Xor", "Equal")],
    ("Not", {}, (B,), B),
    *[
        (op, {}, (t, t), t)
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for t in (*BITS, *SIGNED)
    ],
    *[("BitwiseNot", {}, (t,), t) for t in (*BITS, *SIGNED)],
    *[("BitShift", {"direction": d}, (t, t), t) for d in ("LEFT", "RIGHT") for t in BITS],
    *[("Clip", {}, (t, t, t), t) for t in FLOATS],
    *[("Sum", {}, (t, t, t), t) for t in FLOATS],
    ("Mean", {}, (F, F, F), F),
    *[("Shrink", attrs, (F,), F) for attrs in ({}, {"lambd": 0.3, "bias": 0.7})],
    *[
        (op, {}, (F,), F)
        for op in ("LeakyRelu", "HardSigmoid", "HardSwish", "Tan", "Sinh", "Cosh", "Asinh")
    ],
    *[(op, {}, (F,), F) for op in ("Acosh", "Atanh")],
    ("LeakyRelu", {"alpha": 0.3}, (F,), F),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.25}, (F,), F),
    *[("Pow", {}, (t, t), t) for t in FLOATS],
    *[("Mod", {"fmod": 1}, (t, t), t) for t in (*FLOATS, *SIGNED)],
    *[(op, {}, (t, t), t) for op in ("Div", "Mod") for t in SIGNED],
]
CASTS = [
    *itertools.permutations((F, D, I4, L, B), 2),
    (L, U),
    (V, U),
    (U, V),
    (U, F),
    (U, D),
    (V, F),
    (V, D),
]


def code(dtype):
    return dtypes.as_dtype(dtype).onnx


def twice(op, attrs, kinds, result, shapes):
    """The operator, then something that its result is used for, so that there are two nodes."""
    graph = Graph("g")
    inputs = [
        graph.add_input(f"x{i}", code(k), s)
        for i, (k, s) in enumerate(zip(kinds, shapes, strict=True))
    ]
    shape = np.broadcast_shapes(*[tuple(1 if d is None else d for d in s) for s in shapes])
    first = graph.add_node(op, inputs, attrs, [(code(result), shape)]).outputs[0]
    after = "BitwiseNot" if result in BITS else "Not" if result == B else "Neg"
    second = graph.add_node(after, [first], {}, [(code(result), shape)])
    graph.outputs = [first, second.outputs[0]]
    return graph


def numbers(dtype, rng, count):
    if dtype == B:
        return rng.integers(0, 2, count).astype(B)
    if dtype in FLOATS:
        info = np.finfo(dtype)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.tiny / 4, 1, -1]
        special += [0.5, -0.5, 1.5, 2.5, -2.5, 1e-30, 88.7, -88.7, -100.0, 104.0, 709.0]
        usual = rng.normal(size=count) * np.power(10.0, rng.integers(-3, 3, count))
    else:
        info = np.iinfo(dtype)
        special = [0, 1, 2, info.max, info.min, info.max - 1, 31, 32, 63, 64]
        usual = rng.integers(max(info.min, -1000), 1000, count)
    with np.errstate(over="ignore"):
        chosen = rng.choice(np.array(special, dtype), count)
        return np.where(rng.random(count) < 0.5, chosen, usual.astype(dtype)).astype(dtype)


# Of one shape, one number, a row and a column; what does not fill a tile and what fills several.
SHAPES = [
    lambda n: [(1300,)] * n,
    lambda n: [(7,)] * n,
    lambda n: [(40, 30), (), (40, 30)][:n] if n > 1 else [()],
    lambda n: [(), (40, 30), ()][:n] if n > 1 else [(1, 1)],
    lambda n: [(40, 30), (30,), (40, 1)][:n] if n > 1 else [(0, 3)],
    lambda n: [(40, 1), (1, 30), (30,)][:n] if n > 1 else [(513,)],
    lambda n: [(3, 1, 5, 1), (4, 1, 7), (1, 1, 5, 7)][:n] if n > 1 else [(2, 3, 4, 5)],
]


def compare(op, attrs, kinds, result, rng):
    for shapes in SHAPES:
        sizes = shapes(len(kinds))
        given = [
            numbers(k, rng, int(np.prod(s))).reshape(s) for k, s in zip(kinds, sizes, strict=True)
        ]
        if op == "BitShift":  # by the width and more is not defined in ONNX
            given[1] %= np.array(8 * given[1].itemsize, given[1].dtype)
        if op in ("Div", "Mod") and kinds[0] in SIGNED:  # plain kernels end the process at -1
            given[1] = np.where((given[1] == 0) | (given[1] == -1), 7, given[1]).astype(kinds[0])
        if op == "Clip":
            given[1:] = [np.array(x, kinds[0]) for x in (-0.5, 0.75)]
            sizes = [sizes[0], (), ()]
        graph = twice(op, attrs, kinds, result, sizes)
        together = fused(graph)
        assert fused_nodes(together) == 1
        with np.errstate(all="ignore"):
            for found, expected in zip(run(together, given), run(graph, given), strict=True):
                assert found.dtype == expected.dtype and found.shape == expected.shape
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("op", "attrs", "kinds", "result"),
    CASES,
    ids=[f"{c[0]}{''.join(str(v) for v in c[1].values())}-{c[2][-1]}" for c in CASES],
)
def test_as_the_kernel_alone(op, attrs, kinds, result, rng):
    compare(op, attrs, kinds, result, rng)


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source, target, rng):
    compare("Cast", {"to": code(target)}, (source,), target, rng)


@pytest.mark.parametrize("count", [5, 100_000])
@pytest.mark.parametrize("op", ["Div", "Mod"])
def test_divisors_of_zero_and_minus_one(op, count):
    least = np.iinfo(I4).min
    graph = twice(op, {}, (I4, I4), I4, [(count,), (count,)])
    together = fused(graph)
    assert fused_nodes(together) == 1
    x, y = np.full(count, least, I4), np.full(count, -1, I4)
    result = run(together, [x, y])[0]
    np.testing.assert_array_equal(result, np.full(count, least if op == "Div" else 0))
    y[count - 2] = 0
    with pytest.raises(Exception, match="an integer is divided by 0"):
        run(together, [x, y])
    y[count - 2] = 1
    np.testing.assert_array_equal(run(together, [x, y])[0][-2], least if op == "Div" else 0)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 1.5])
def test_powers(exponent, rng):
    graph = Graph("g")
    x = graph.add_input("x", 1, (700,))
    power = graph.add_constant(np.array(exponent, np.float32), 1)
    first = graph.add_node("Pow", [x, power], {}, [(1, (700,))]).outputs[0]
    second = graph.add_node("Neg", [first], {}, [(1, (700,))]).outputs[0]
    graph.outputs = [graph.add_node("Abs", [second], {}, [(1, (700,))]).outputs[0]]
    together = fused(graph)
    assert [node.op for node in together.nodes] == ["Fused"]
    given = [np.abs(numbers(F, rng, 700))]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(together, given)[0], run(graph, given)[0])


FUNCTIONS = {
    "Exp": np.exp,
    "Log": np.log,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))),
    "Erf": scipy.special.erf,
    "Sin": np.sin,
    "Cos": np.cos,
}
# Operators of several steps, and those for which ONNX Runtime has functions of its own.
ABOUT = [
    *[(op, {}) for op in ("Elu", "Softplus", "Softsign", "Mish", "Gelu", "Asin", "Acos", "Atan")],
    ("Elu", {"alpha": 0.5}),
    *[("Selu", {}), ("Celu", {}), ("Celu", {"alpha": 0.5})],
    ("Gelu", {"approximate": "tanh"}),
]


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_are_accurate(op, dtype):
    """Within 2 units in the last place of what wider numbers give, down to the least ones."""
    wide = np.float64 if dtype == F or op == "Erf" else np.longdouble
    info = np.finfo(dtype)
    edge = 100 if dtype == F else 730
    x = np.concatenate(
        [
            np.linspace(-edge, edge, 200_001),
            np.linspace(-1, 1, 200_001),
            np.geomspace(float(info.tiny) / 8, float(info.max) / 2, 100_001),
            [0.0, -0.0, np.inf, -np.inf, np.nan],
        ]
    )
    together = fused(twice(op, {}, (dtype,), dtype, [x.shape]))
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        expected = FUNCTIONS[op](x.astype(wide))
        found = run(together, [x])[0]
        unit = np.spacing(np.abs(expected.astype(dtype))).astype(wide)
        error = np.abs(found - expected) / unit
        rounded = expected.astype(dtype)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    worst = np.argmax(np.where(finite, error, 0))
    most = 4 if dtype == D and op == "Erf" else 2  # SciPy's is no more exact
    assert error[worst] <= most, (x[worst], found[worst], expected[worst], error[worst])


@pytest.mark.parametrize(
    ("op", "attrs"), ABOUT, ids=[f"{op}{list(attrs.values())}" for op, attrs in ABOUT]
)
def test_about_as_the_kernel_alone(op, attrs, rng):
    x = np.concatenate([numbers(F, rng, 900), np.linspace(-12, 12, 2001).astype(F)])
    if op == "Mish":  # where ONNX Runtime's own step raises e to more than it can hold
        x = x[~(x > 80)]
    graph = twice(op, attrs, (F,), F, [x.shape])
    together = fused(graph)
    assert [node.op for node in together.nodes] == ["Fused"]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(run(together, [x])[0], run(graph, [x])[0], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("attrs", [{}, {"lambd": 0.25, "bias": 0.5}])
def test_shrink_of_float64(attrs, rng):
    """ONNX Runtime's kernel computes it in float32."""
    x = numbers(D, rng, 1300)
    edge, bias = attrs.get("lambd", 0.5), attrs.get("bias", 0.0)
    together = fused(twice("Shrink", attrs, (D,), D, [x.shape]))
    assert [node.op for node in together.nodes] == ["Fused"]
    expected = np.where(x < -edge, x + bias, np.where(x > edge, x - bias, 0.0))
    np.testing.assert_array_equal(run(together, [x])[0], expected)


@pytest.mark.parametrize("alpha", [None, 1.0, 1.702, -0.5, 0.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_swish(alpha, dtype, rng):
    """ONNX Runtime's sigmoid is too far off, in what is below -17, for a comparison with it."""
    info = np.finfo(dtype)
    x = np.concatenate(
        [np.linspace(-120, 120, 20_001), [0.0, -0.0, np.nan], [info.tiny, -info.max]]
    )
    x = np.concatenate([x, numbers(dtype, rng, 900)]).astype(dtype)
    attrs = {} if alpha is None else {"alpha": alpha}
    together = fused(twice("Swish", attrs, (dtype,), dtype, [x.shape]))
    assert [node.op for node in together.nodes] == ["Fused"]
    with np.errstate(all="ignore"):
        scale = np.array(1.0 if alpha is None else alpha, np.float32).astype(dtype)
        raised = (x * scale).astype(np.longdouble)  # rounded, as the operator's formula has it
        expected = (x * FUNCTIONS["Sigmoid"](raised)).astype(dtype)
        found = run(together, [x])[0]
    least = float(info.smallest_subnormal)  # the sigmoid is rounded to these
    np.testing.assert_allclose(found, expected, rtol=4 * info.eps, atol=130 * least)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    graph = random_graph(seed)
    together = fused(graph)
    rng = np.random.default_rng(seed)
    given = [rng.normal(size=s).astype(np.float32) for s in ((5, 3), (3,))]
    for found, expected in zip(run(together, given), run(graph, given), strict=True):
        assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert fused_nodes(together) > 0
