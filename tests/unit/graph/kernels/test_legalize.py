"""Operators on dtypes that the CPU provider has no kernel for give NumPy's answer all the same."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tfx.core import dtypes
from tfx.framework.apply import apply, apply_n
from tfx.framework.convert import constant, int64_constant
from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.graph.kernels import accurate_sums
from tfx.graph.kernels.legalize import legalize, replacement
from tfx.graph.schema import operator
from tfx.graph.verify import verify

SMALL_FLOATS = ["float16", "bfloat16"]
FLOATS = [*SMALL_FLOATS, "float32", "float64"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = [*FLOATS, *INTEGERS]
ANY = [*NUMBERS, "bool"]


def _in_standard(op, name):
    """Whether ONNX has the operator for the dtype (``legalize`` adds none)."""
    schema = operator(op).schema
    (first,) = (c for c in schema.type_constraints if c.type_param_str == schema.inputs[0].type_str)
    text = {"float32": "float", "float64": "double"}.get(name, name)
    return f"tensor({text})" in first.allowed_type_strs


def _cases(references, names):
    """Parameters: every operator with every dtype that the standard gives it."""
    return pytest.mark.parametrize(
        ("op", "reference", "name"),
        [
            pytest.param(op, reference, name, id=f"{op}-{name}")
            for op, reference in references.items()
            for name in names
            if _in_standard(op, name)
        ],
    )


def _array(name, shape, rng, low=1, high=5):
    return rng.integers(low, high, shape).astype(dtypes.as_dtype(name).as_numpy_dtype)


def _check(result, expected, name):
    """Computed in a wider type and rounded once, or in the type itself."""
    result = result.numpy()
    expected = np.asarray(expected)
    if dtypes.as_dtype(name).is_floating and dtypes.as_dtype(result.dtype).is_floating:
        epsilon = float(ml_dtypes.finfo(result.dtype).eps)
        wide = result.astype(np.float64)
        np.testing.assert_allclose(wide, expected.astype(np.float64), rtol=4 * epsilon)
    else:
        np.testing.assert_array_equal(result, expected)


@_cases(
    {
        "Add": np.add,
        "Sub": lambda a, b: a - b,
        "Mul": np.multiply,
        "Div": lambda a, b: a / b if a.dtype.kind in "fV" else a // b,
        "Max": np.maximum,
        "Min": np.minimum,
        "Pow": np.power,
    },
    NUMBERS,
)
def test_arithmetic(op, reference, name, rng):
    a, b = _array(name, (2, 3), rng, 4, 9), _array(name, (3,), rng, 1, 3)
    exact = (a.astype(np.float64), b.astype(np.float64)) if name in FLOATS else (a, b)
    _check(apply(op, (constant(a), constant(b))), reference(*exact), name)


@_cases(
    {
        "Equal": np.equal,
        "Less": np.less,
        "LessOrEqual": np.less_equal,
        "Greater": np.greater,
        "GreaterOrEqual": np.greater_equal,
    },
    NUMBERS,
)
def test_comparison(op, reference, name, rng):
    a, b = _array(name, (4, 5), rng), _array(name, (5,), rng)
    result = apply(op, (constant(a), constant(b)))
    np.testing.assert_array_equal(result.numpy(), reference(a, b))


@_cases(
    {
        "Exp": np.exp,
        "Log": np.log,
        "Sqrt": np.sqrt,
        "Sin": np.sin,
        "Tanh": np.tanh,
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Reciprocal": lambda x: 1 / x,
        "Floor": np.floor,
        "Neg": np.negative,
    },
    FLOATS,
)
def test_functions(op, reference, name, rng):
    x = _array(name, (3, 4), rng)
    _check(apply(op, (constant(x),)), reference(x.astype(np.float64)), name)


@_cases({"Abs": np.abs, "Sign": np.sign}, NUMBERS)
def test_magnitudes(op, reference, name, rng):
    x = _array(name, (3, 4), rng)
    if not name.startswith("u"):
        x = x * np.array([1, -1, 1, -1], x.dtype)
    _check(apply(op, (constant(x),)), reference(x.astype(np.float64)).astype(x.dtype), name)


@pytest.mark.parametrize("name", ANY)
def test_moving(name, rng):
    x = _array(name, (2, 3), rng, 0, 2)
    t = constant(x)
    condition = constant(np.array([True, False, True]))
    cases = [
        (apply("Where", (condition, t, t)), x),
        (apply("Transpose", (t,), {"perm": (1, 0)}), x.T),
        (apply("Gather", (t, int64_constant((1, 0))), {"axis": 1}), x[:, [1, 0]]),
        (apply("Concat", (t, t), {"axis": 1}), np.concatenate([x, x], 1)),
        (apply("Expand", (t, int64_constant((2, 2, 3)))), np.broadcast_to(x, (2, 2, 3))),
        (apply("Tile", (t, int64_constant((1, 2)))), np.tile(x, (1, 2))),
        (apply("Slice", (t, int64_constant((1,)), int64_constant((9,)))), x[1:]),
        (apply("Pad", (t, int64_constant((0, 1, 0, 1)))), np.pad(x, ((0, 0), (1, 1)))),
        (apply("Reshape", (t, int64_constant((-1,)))), x.reshape(-1)),
        (apply("Identity", (t,)), x),
        (apply("NonZero", (t,)), np.stack(np.nonzero(x))),
    ]
    for result, expected in cases:
        np.testing.assert_array_equal(result.numpy(), expected)


@_cases(
    {
        "ReduceSum": np.sum,
        "ReduceMax": np.max,
        "ReduceMin": np.min,
        "ReduceProd": np.prod,
        "ReduceMean": np.mean,
    },
    NUMBERS,
)
def test_reductions(op, reference, name, rng):
    x = _array(name, (2, 3), rng, 1, 3)
    expected = reference(x.astype(np.float64), axis=1)
    if name in INTEGERS:
        expected = np.trunc(expected).astype(x.dtype)
    _check(apply(op, (constant(x), int64_constant((1,))), {"keepdims": 0}), expected, name)


@pytest.mark.parametrize("name", [*FLOATS, "int32", "int64", "uint32", "uint64"])
def test_matrix_products(name, rng):
    a, b = _array(name, (2, 3), rng), _array(name, (3, 4), rng)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    _check(apply("MatMul", (constant(a), constant(b))), expected, name)


@pytest.mark.parametrize("name", FLOATS)
def test_normalisation_with_several_types(name, rng):
    """Every type variable lacks bfloat16: all are widened together."""
    x = _array(name, (2, 3, 4), rng)
    ones, zeros = (constant(np.full(3, v, x.dtype)) for v in (1, 0))
    result = apply("BatchNormalization", (constant(x), ones, zeros, zeros, ones), {"epsilon": 0.0})
    _check(result, x.astype(np.float64), name)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int16", "uint8"])
def test_several_outputs(name, rng):
    x = rng.permutation(6).astype(dtypes.as_dtype(name).as_numpy_dtype)
    values, indices = apply_n("TopK", (constant(x), int64_constant((2,))), outputs=2)
    np.testing.assert_array_equal(indices.numpy(), np.argsort(-x.astype(float))[:2])
    np.testing.assert_array_equal(values.numpy(), x[indices.numpy()])


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_operators_without_kernel_of_their_own(name, rng):
    x = _array(name, (3,), rng)
    wide = x.astype(np.float64)
    swish = apply("Swish", (constant(x),))
    _check(swish, wide / (1 + np.exp(-wide)), name)


def test_replacements():
    code = {d.name: d.onnx for d in map(dtypes.as_dtype, ANY)}
    bfloat16, float32 = code["bfloat16"], code["float32"]
    assert replacement("Add", (float32, float32), (float32,)) is None
    assert replacement("Add", (bfloat16, bfloat16), (bfloat16,)) == ((float32, float32), (float32,))
    assert replacement("Clip", (bfloat16, None), (bfloat16,)) == ((float32, None), (float32,))


def test_bodies_and_callees_are_legal_too():
    bfloat16, boolean = dtypes.bfloat16.onnx, dtypes.bool.onnx
    scalar = [(bfloat16, ())]
    callee = Graph("callee")
    a = callee.add_input("a", bfloat16, ())
    callee.outputs = list(callee.add_node("Add", [a, a], {}, scalar).outputs)
    graph = Graph("g")
    condition, x = graph.add_input("c", boolean, ()), graph.add_input("x", bfloat16, ())
    body = Graph("body", graph)
    body.outputs = list(body.add_node("Mul", [x, x], {}, scalar).outputs)
    branch = graph.add_node("If", [condition], {"then_branch": body, "else_branch": body}, scalar)
    call = graph.add_node(ir.CALL, [branch.outputs[0]], {"graph": callee}, scalar)
    graph.outputs = list(call.outputs)
    legal = legalize(graph)
    verify(legal)
    ops = [n.op for g in (legal, *legal.subgraphs()) for n in g.nodes]
    assert ops.count("Cast") == 4
    assert [n.op for n in body.nodes] == ["Mul"]


def test_the_branches_of_corrections_are_each_their_own(monkeypatch):
    """Branches that the pass makes itself are known by ``id``: they stay until it ends.

    One that got the ``id`` of another, which the collector had freed, was once taken for it.
    """
    count, correct, made = 4, accurate_sums.CORRECTIONS["ReduceSum"], []

    def collecting(out, node, asks):
        gc.collect()
        assert all(body() is not None for body in made)
        done = correct(out, node, asks)
        if done:  # not a part of such a sum
            made.extend(weakref.ref(body) for body in out.nodes[-1].bodies())
        return done

    monkeypatch.setitem(accurate_sums.CORRECTIONS, "ReduceSum", collecting)

    @tf.function(input_signature=[tf.TensorSpec([None] * 3, tf.float32)])
    def f(x):
        return [tf.reduce_sum(x * float(i), axis=i % 3) for i in range(count)]

    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    gc.collect()
    gc.freeze()  # collections look at what is made from now on only
    try:
        found = f(tf.constant(x))
    finally:
        gc.unfreeze()
    for i, y in enumerate(found):
        np.testing.assert_allclose(y, (x * i).sum(i % 3), rtol=1e-5, atol=1e-4)
    assert len(made) == 2 * count
