"""Shape arithmetic on symbols: what is known statically is never wrong, and seldom unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfx.core.dim_names import product_dim
from tfx.framework.apply import apply
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.serialize import to_model
from tfx.graph.shape_rules import reshaped
from tfx.graph.symbolic_shapes import elements
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

FLOAT = 1


def _ints(*items):
    return convert_to_tensor(np.array(items, np.int64))


def _shape(x, **attrs):
    return apply("Shape", (x,), attrs)


def _dim(x, i):
    return apply("Gather", (_shape(x), _ints(i)))


@pytest.fixture
def graph():
    graph = FuncGraph("f")
    with using(graph=graph):
        yield graph


def test_reshape_by_its_own_shape(graph):
    x = graph.add_argument("x", FLOAT, ("n", 4, "m"))
    merged = apply("Concat", (_dim(x, 0), _ints(-1)), {"axis": 0})
    assert apply("Reshape", (x, merged))._symbol.shape == ("n", product_dim([4, "m"]))
    whole = apply("Concat", (_dim(x, 0), _ints(2, 2), _dim(x, 2)), {"axis": 0})
    assert apply("Reshape", (x, whole))._symbol.shape == ("n", 2, 2, "m")
    rest = apply("Concat", (_dim(x, 0), _ints(4, -1)), {"axis": 0})
    assert apply("Reshape", (x, rest))._symbol.shape == ("n", 4, "m")


def test_slices_of_shapes(graph):
    x = graph.add_argument("x", FLOAT, ("n", 4, "m", 5))
    last = apply("Slice", (_shape(x), _ints(-2), _ints(2**63 - 1)))
    assert last._symbol.dims == ("m", 5)
    backwards = apply("Slice", (_shape(x), _ints(-1), _ints(-(2**62)), _ints(0), _ints(-2)))
    assert backwards._symbol.dims == (5, 4)
    assert _shape(x, start=1, end=-1)._symbol.dims == (4, "m")


@pytest.mark.parametrize("bounds", [(-9, -9, -1), (-1, -9, -2), (0, -(2**62), -1), (9, 1, -1)])
def test_slices_of_shapes_from_behind_are_those_of_a_run(graph, bounds):
    x = graph.add_argument("x", FLOAT, (2, 3, 4, 5))
    first, last, step = bounds
    cut = apply("Slice", (_shape(x), _ints(first), _ints(last), _ints(0), _ints(step)))
    assert cut._symbol.dims is not None
    with using(graph=None):
        given = _ints(2, 3, 4, 5)
        ran = apply("Slice", (given, _ints(first), _ints(last), _ints(0), _ints(step)))
    assert cut._symbol.dims == tuple(to_numpy(ran._raw).tolist())


def test_arithmetic(graph):
    x = graph.add_argument("x", FLOAT, ("n", 6))
    assert apply("Mul", (_shape(x), _ints(1)))._symbol.dims == ("n", 6)
    assert apply("Add", (_shape(x), _ints(0, 1)))._symbol.dims == ("n", 7)
    assert apply("Div", (_shape(x), _ints(1, 4)))._symbol.dims == ("n", 1)
    assert apply("Sub", (_shape(x), _ints(1, 1)))._symbol.dims == (None, 5)
    assert apply("ReduceProd", (_dim(x, 1),))._symbol.dims == (6,)
    assert apply("Div", (_ints(-7), _ints(2)))._symbol.dims == (-3,)  # ONNX Runtime truncates


def test_expand_and_tile(graph):
    x = graph.add_argument("x", FLOAT, ("n", 1))
    wide = apply("Concat", (_dim(x, 0), _ints(5)), {"axis": 0})
    assert apply("Expand", (x, wide))._symbol.shape == ("n", 5)
    assert apply("Tile", (x, _ints(1, 3)))._symbol.shape == ("n", 3)
    assert apply("Tile", (x, _ints(2, 3)))._symbol.shape == (product_dim(["n", 2]), 3)


def test_matrices_of_sizes_keep_their_order(graph):
    """Columns put side by side: the elements interleave, unlike rows put one below the other."""
    before = apply("Unsqueeze", (_ints(1, 2), _ints(1)))
    after = apply("Unsqueeze", (_ints(3, 4), _ints(1)))
    flat = apply("Reshape", (apply("Concat", (before, after), {"axis": 1}), _ints(-1)))
    assert flat._symbol.dims in (None, (1, 3, 2, 4))
    rows = apply("Concat", (apply("Unsqueeze", (_ints(1, 2), _ints(0))),) * 2, {"axis": 0})
    assert apply("Reshape", (rows, _ints(-1)))._symbol.dims == (1, 2, 1, 2)
    outer = apply("Add", (before, _ints(10, 20)))
    assert apply("Reshape", (outer, _ints(-1)))._symbol.dims in (None, (11, 21, 12, 22))


def test_a_reduction_over_no_axes_reduces_nothing(graph):
    x = graph.add_argument("x", FLOAT, ("n", 6))
    same = apply("ReduceProd", (_shape(x), _ints()), {"noop_with_empty_axes": 1})
    assert same._symbol.dims is None


def test_large_contents_are_not_followed(graph):
    assert elements(convert_to_tensor(np.zeros(1000, np.int64))._symbol) is None
    assert elements(convert_to_tensor(np.zeros(3, np.float32))._symbol) is None
    assert elements(None) is None


@pytest.mark.parametrize(
    ("source", "target", "allow_zero", "shape"),
    [
        ((2, 3), (6,), False, (6,)),
        ((2, 3), (-1,), False, (6,)),
        (("n", 3), (-1, 3), False, ("n", 3)),
        (("n", 3), (-1, 1), False, (product_dim(["n", 3]), 1)),
        ((product_dim(["n", "m"]), 4), ("m", -1, 4), True, ("m", "n", 4)),
        (("n", 3), (-1, 2), False, (None, 2)),
        (("n", 3), (0, -1), False, ("n", 3)),
        (("n", 0), (0, 5), True, (0, 5)),
        (None, (0, -1), False, (None, None)),
        (("n", "m", 4), ("m", -1, 4), True, ("m", "n", 4)),
        (("n", "m", 4), ("m", -1, 4), False, (None, None, 4)),
        ((2, 3), (4, -1), False, (4, None)),
    ],
)
def test_reshaped(source, target, allow_zero, shape):
    assert reshaped(source, target, allow_zero=allow_zero) == shape


STEPS = ["concat", "gather", "slice", "add", "mul", "div", "sub", "prod", "cast", "pair", "stack"]


def _grow(vector, step, number):
    """A few operations on a vector of sizes; the result is a vector again."""
    sizes = apply("Shape", (vector,))
    if step == "concat":
        return apply("Concat", (vector, _ints(number)), {"axis": 0})
    if step == "gather":
        return apply("Gather", (vector, _ints(0, -1)))
    if step == "slice":
        return apply("Slice", (vector, _ints(-1 - number), _ints(2**40)))
    if step in ("add", "mul", "sub", "div"):
        op = step.capitalize()
        return apply(op, (vector, _ints(max(1, number) if step == "div" else number)))
    if step == "prod":
        return apply(
            "Concat", (apply("ReduceProd", (vector,), {"keepdims": 1}), sizes), {"axis": 0}
        )
    if step == "cast":
        return apply("Cast", (apply("Cast", (vector,), {"to": 6}),), {"to": 7})
    column = apply("Unsqueeze", (vector, _ints(1)))
    both = apply("Concat", (column, column), {"axis": 1 if step == "pair" else 0})
    return apply("Reshape", (both, _ints(-1)))


@settings(max_examples=60)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=5),
    sizes=st.tuples(st.integers(0, 3), st.integers(1, 3)),
)
def test_symbols_agree_with_what_runs(steps, sizes):
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", FLOAT, ("n", "m", 2))
        vector = apply("Shape", (x,))
        for step, number in steps:
            vector = _grow(vector, step, number)
        graph.graph.outputs = [vector._symbol]
        dims = vector._symbol.dims
    model = to_model(prepare(graph.graph), output_names=["y"])
    feed = from_numpy(np.zeros((*sizes, 2), np.float32))
    ran = to_numpy(Session(model.SerializeToString()).run({"x": feed})[0]).tolist()
    if dims is not None:
        known = {"n": sizes[0], "m": sizes[1]}
        assert len(dims) == len(ran)
        assert all(
            d is None or (known.setdefault(d, r) if isinstance(d, str) else d) == r
            for d, r in zip(dims, ran, strict=True)
        )
