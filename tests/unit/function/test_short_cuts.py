"""The short cut serves every spelling of a call with the right trace and the right tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf

# Structures whose leaves are numbers: which tensor, or a Python value with its type.
_LEAF = st.one_of(
    st.tuples(st.just("tensor"), st.integers(0, 3)),
    st.tuples(st.just("value"), st.sampled_from([0, 1, True, 1.0, 0.0, -0.0, "a", None, b"a", 2j])),
)
_NEST = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(lambda x: ("tuple", x)),
        st.dictionaries(st.sampled_from("cab"), inner, max_size=3),
    ),
    max_leaves=6,
)
TENSORS = [np.float32(1.5), np.arange(2, dtype=np.float32), np.float32(-2.0), np.int32(3)]


def _built(nest, tensors):
    if isinstance(nest, dict):
        return {k: _built(v, tensors) for k, v in nest.items()}
    if isinstance(nest, list):
        return [_built(v, tensors) for v in nest]
    if nest[0] == "tuple":
        return tuple(_built(v, tensors) for v in nest[1])
    return tensors[nest[1]] if nest[0] == "tensor" else nest[1]


def _text(x):
    """A call as text, tensors by their contents: what the traced function should have seen."""
    if isinstance(x, dict):
        return "{" + ",".join(f"{k}:{_text(x[k])}" for k in sorted(x)) + "}"
    if isinstance(x, list | tuple):
        return f"{type(x).__name__}({','.join(map(_text, x))})"
    if isinstance(x, tf.Tensor):
        return f"{x.dtype.name}{x.shape}{x.numpy().tolist()}"
    return repr(x)


@settings(max_examples=60)
@given(st.lists(_NEST, min_size=1, max_size=3), st.integers(0, 2), st.booleans())
def test_any_nest_in_any_spelling(nests, by_name, backwards):
    @tf.function
    def f(p=(), q=(), r=()):
        leaves = tf.nest.flatten([p, q, r])
        return {
            "tensors": [x for x in leaves if isinstance(x, tf.Tensor)],
            "values": tf.constant(repr([None if isinstance(x, tf.Tensor) else x for x in leaves])),
        }

    names = ["p", "q", "r"][: len(nests)]
    count = min(by_name, len(nests))
    for round_ in range(4):  # traced, found, remembered, served by the short cut
        tensors = [tf.constant(x + x.dtype.type(round_)) for x in TENSORS]
        values = [_built(n, tensors) for n in nests]
        args = values[: len(values) - count]
        pairs = list(zip(names, values, strict=True))[len(args) :]
        kwargs = dict(reversed(pairs) if backwards else pairs)
        result = f(*args, **kwargs)
        leaves = tf.nest.flatten([*values, *[()] * (3 - len(values))])
        expected = [x for x in leaves if isinstance(x, tf.Tensor)]
        assert len(result["tensors"]) == len(expected)
        for ours, wanted in zip(result["tensors"], expected, strict=True):
            np.testing.assert_array_equal(ours, wanted)
        shown = repr([None if isinstance(x, tf.Tensor) else x for x in leaves])
        assert result["values"].numpy().decode() == shown
    assert f.experimental_get_tracing_count() == 1


def test_what_looks_alike_is_not_confused():
    f = tf.function(lambda *a, **k: tf.constant(_shown((a, k))))
    x = tf.constant(1.0)
    calls = [
        ((1,), {}), ((True,), {}), ((1.0,), {}), ((0.0,), {}), ((-0.0,), {}), ((float("nan"),), {}),
        ((0,), {}), ((False,), {}), (("1",), {}), ((b"1",), {}), ((None,), {}), ((0j,), {}),
        ((x,), {}), (([x],), {}), (((x,),), {}), (([x, x],), {}), (([x], x), {}), (([[x]],), {}),
        (({"a": x},), {}), ((), {"a": x}), (({1: x},), {}), (({True: x},), {}), (({1.0: x},), {}),
        ((x, [], x), {}), ((x, x, []), {}), (([], x, x), {}), (({},), {}), (([],), {}), (((),), {}),
        ((), {"a": x, "b": 1}), ((), {"b": x, "a": 1}), ((x,), {"a": x}), (({"a": x, "b": x},), {}),
        (({"a": {"b": x}},), {}), (({"a": x}, {"b": x}), {}), ((int, x), {}), ((list, 1, x), {}),
    ]  # fmt: skip
    for _ in range(3):
        for args, kwargs in calls:
            assert f(*args, **kwargs).numpy().decode() == _shown((args, kwargs))
    assert f.experimental_get_tracing_count() == len(calls)


def _shown(x):
    if isinstance(x, dict):
        return "{" + ",".join(f"{k!r}:{_shown(x[k])}" for k in x) + "}"
    if isinstance(x, list | tuple):
        return f"{type(x).__name__}({','.join(map(_shown, x))})"
    return "T" if isinstance(x, tf.Tensor) else repr(x)


def test_one_tensor_in_several_places():
    f = tf.function(lambda d, *a, k: d["b"] - 2.0 * d["a"] + 4.0 * a[0] + 8.0 * k)
    x, y, z = (tf.constant(v) for v in (1.0, 10.0, 100.0))
    for _ in range(3):
        assert float(f({"b": x, "a": x}, x, k=x)) == 11.0
        assert float(f({"b": x, "a": y}, z, k=x)) == 1.0 - 20.0 + 400.0 + 8.0
        assert float(f({"a": y, "b": x}, z, k=x)) == 1.0 - 20.0 + 400.0 + 8.0
    assert f.experimental_get_tracing_count() == 1


def test_defaults_that_are_tensors():
    five = tf.constant(5.0)
    f = tf.function(lambda x, y=five, *, z=2.0: x + y * z)
    for _ in range(4):
        assert float(f(tf.constant(1.0))) == 11.0
        assert float(f(tf.constant(1.0), tf.constant(2.0))) == 5.0
        assert float(f(x=tf.constant(1.0), z=2.0)) == 11.0
    assert f.experimental_get_tracing_count() == 1


def test_casts_of_an_input_signature_are_not_skipped():
    f = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None])])
    one = tf.constant(1.0)
    for _ in range(4):
        assert f([one]).numpy().tolist() == [2.0]
        assert f([one, one]).numpy().tolist() == [2.0, 2.0]
        assert f([3]).numpy().tolist() == [6.0]
        with pytest.raises(ValueError, match="expected shape"):
            f(one)
    assert f.experimental_get_tracing_count() == 1


def test_objects_and_variables():
    class Params:
        def __init__(self, scale):
            self.scale = scale

    f = tf.function(lambda x, p, v: x * p.scale + v)
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    x = tf.constant(1.0)
    for round_ in range(5):
        p, q = Params(10.0 + round_), Params(100.0)  # perhaps at the addresses of the last ones
        for _ in range(4):
            assert float(f(x, p, v)) == 11.0 + round_
            assert float(f(x, p=q, v=w)) == 102.0
            assert float(f(x, q, v=v)) == 101.0
        del p, q
        assert len(f.concrete_functions) == 0
    p = Params(5.0)
    for _ in range(3):
        assert float(f(x, p, w)) == 7.0
    del w
    w = tf.Variable(3.0)
    assert float(f(x, p, w)) == 8.0


def test_objects_inside_structures_and_functions_as_arguments():
    f = tf.function(lambda x, table: table["f"](x) + table["n"][0])
    double, triple = (lambda x: x * 2.0), (lambda x: x * 3.0)
    x = tf.constant(5.0)
    for _ in range(3):
        for g, expected in ((double, 11.0), (triple, 16.0)):
            assert float(f(x, {"f": g, "n": [1]})) == expected
            assert float(f(x, table={"n": [1], "f": g})) == expected
    assert f.experimental_get_tracing_count() == 2


def test_ranges_are_values():
    f = tf.function(lambda x, r: x * float(r.stop))
    for _ in range(3):
        assert float(f(tf.constant(1.0), range(3))) == 3.0
        assert float(f(tf.constant(1.0), range(0, 4, 2))) == 4.0
    assert f.experimental_get_tracing_count() == 2


def test_switches_and_devices_are_looked_at_in_every_call():
    seen = []
    f = tf.function(lambda x, n: seen.append(n) or x * float(n))
    x = tf.constant(1.0)
    for _ in range(3):
        f(x, 2)
    tf.config.run_functions_eagerly(True)
    try:
        f(x, 2)
        f(x, 2)
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [2, 2, 2]
    f(x, 2)
    assert len(seen) == 3


def test_a_trace_inside_another_is_not_served_elsewhere():
    results = []

    @tf.function
    def outer(x):
        inner = tf.function(lambda n: x * float(n))
        for _ in range(3):
            results.append(inner(2))
        kept.append(inner)
        return results[-1]

    kept = []
    assert float(outer(tf.constant(3.0))) == 6.0
    with pytest.raises(Exception, match=r"leaked|belongs to function"):
        kept[0](2)


def test_many_shapes():
    f = tf.function(lambda x: x + 1.0)
    f.get_concrete_function(tf.TensorSpec([None]))
    for n in range(1100):
        assert f(tf.zeros([n])).shape == [n]
    assert f.experimental_get_tracing_count() == 1
