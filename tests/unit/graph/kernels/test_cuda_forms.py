"""Forms of operators that the CUDA provider has kernels for: the same numbers, to the last bit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core import dtypes
from tfx.function.execution.plan import Plan
from tfx.graph.ir import Graph
from tfx.graph.kernels.cuda_forms import use_cuda_forms
from tfx.graph.kernels.cuda_kernels import has_cuda_kernel
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.serialization.serialize import opset_of

INTEGERS = ["uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float32", "float64", "float16"]


def check(function: Callable[..., Any], *arrays: Any, shapes: Any = None) -> Graph:
    """Compare the results of a function with those of its other form, computed by the CPU."""
    specs = [
        tf.TensorSpec(a.shape if shapes is None else s, dtypes.as_dtype(a.dtype))
        for a, s in zip(arrays, shapes or arrays, strict=True)
    ]
    graph = tf.function(function).get_concrete_function(*specs).graph.graph
    other = remove_dead_nodes(use_cuda_forms(graph))
    given = [tf.constant(a) for a in arrays]
    found, expected = (Plan(g).run_tensors(given) for g in (other, graph))
    for x, y in zip(found, expected, strict=True):
        assert x.dtype is y.dtype
        np.testing.assert_array_equal(x.numpy(), y.numpy())
    return other


def lacking(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes if not has_cuda_kernel(n, opset_of(graph))]


def numbers(dtype: str, rng: np.random.Generator, *shape: int) -> Any:
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x.reshape(-1)[:2] = info.min, info.max
    return x


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits(name: str, dtype: str, rng: np.random.Generator) -> None:
    operation = getattr(tf.bitwise, name)
    x, y = numbers(dtype, rng, 5, 1), numbers(dtype, rng, 4)
    other = check(operation, x, y)
    assert not [op for op in lacking(other) if op.startswith("Bit")]
    check(operation, x[:0], y)
    check(operation, x[0, 0], y[1])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts(direction: str, dtype: str, rng: np.random.Generator) -> None:
    bits = np.iinfo(dtype).bits
    x = numbers(dtype, rng, 6, bits)
    y = np.arange(bits, dtype=dtype)
    other = check(lambda x, y: tf.raw.BitShift(x, y, direction=direction), x, y)
    assert "BitShift" not in [n.op for n in other.nodes]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
def test_equality(dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 2, (3, 7)).astype(dtype)
    y = rng.integers(0, 2, 7).astype(dtype)
    if dtype in FLOATS:
        x[0, :4] = y[:4] = [np.nan, np.inf, -np.inf, -0.0]
    check(tf.equal, x, y)
    check(tf.equal, x[:0], y)


def test_what_has_no_other_form_stays() -> None:
    words = np.array(["a", "b"], object)
    spec = tf.TensorSpec([2], tf.string)
    graph = tf.function(tf.equal).get_concrete_function(spec, spec).graph.graph
    found = Plan(use_cuda_forms(graph)).run_tensors([tf.constant(words)] * 2)
    assert found[0].numpy().tolist() == [True, True]
    small = np.array([3, -1, 2], np.int8)
    other = check(lambda x: tf.raw.ReduceMax(x, keepdims=0), small)
    assert "ReduceMax" in [n.op for n in other.nodes]
    byte = check(tf.equal, small, small)
    assert "Equal" in [n.op for n in byte.nodes]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", ["ReduceMin", "ReduceMax"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_extremes(name: str, keepdims: int, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((3, 4, 2)) * 100).astype(dtype)
    reduce = getattr(tf.raw, name)

    def extreme(given: Any, x: Any) -> Any:
        return reduce(x, *given, keepdims=keepdims)

    for axes in ([0], [-1], [2, 0], [0, 1, 2], None):
        given = () if axes is None else (np.array(axes, np.int64),)
        other = check(functools.partial(extreme, given), x)
        assert name not in [n.op for n in other.nodes]
    # Sizes that only a run tells: only an extreme of all has another form, also of nothing.
    for rows in (x, x[:0]):
        other = check(functools.partial(extreme, ()), rows, shapes=[[None, 4, 2]])
        assert name not in [n.op for n in other.nodes]
    first = (np.array([0], np.int64),)
    kept = check(functools.partial(extreme, first), x, shapes=[[None, 4, 2]])
    assert name in [n.op for n in kept.nodes]


def test_products_of_sizes(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 5, 0, 2)).astype(np.float32)

    def sizes(x: Any) -> Any:
        shape = tf.shape(x, tf.int64)
        return tf.reduce_prod(shape[1:]), tf.reduce_prod(tf.gather(shape, [0, 1, 3]))

    for given in (x, np.ones((3, 5, 4, 2), np.float32)):
        other = check(sizes, given, shapes=[[None, None, None, 2]])
        assert not lacking(other)
    # Other numbers may be too large for float64.
    large = np.array([2**31 + 1, 2**31 - 1], np.int64)
    other = check(lambda x: tf.raw.ReduceProd(x, keepdims=0), large)
    assert "ReduceProd" in lacking(other)


@pytest.mark.parametrize("outputs", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
def test_unique(outputs: int, dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(-3, 4, 40).astype(dtype)

    def unique(x: Any) -> Any:
        found = tf.raw.Unique(x, sorted=1, n_outputs=outputs)
        return found if outputs > 1 else (found,)

    for given in (x, x[:1], x[:0], np.full(9, 5, dtype)):
        other = check(unique, given, shapes=[[None]])
        assert "Unique" not in [n.op for n in other.nodes]


def test_random_numbers_are_the_same() -> None:
    generator = tf.random.Generator.from_seed(7)
    state = generator.state.numpy()

    @tf.function
    def draw() -> Any:
        return generator.normal([5, 3]), generator.uniform([4], maxval=100, dtype=tf.int64)

    graph = draw.get_concrete_function().graph
    from tfx.graph.passes.inline_calls import expand_all_calls
    from tfx.graph.passes.pipeline import prepare

    other = expand_all_calls(prepare(graph.graph, device="GPU:0"))
    assert not [op for op in lacking(other) if op.startswith("Bit")]
    found = Plan(other).run_tensors([tf.constant(state)])
    expected = draw()
    for x, y in zip(found, expected, strict=False):
        np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize("extra", [(), (1, 0)])
@pytest.mark.parametrize("pads", [(0, 0, 1, 1), (1, 0, 1, 0), (2, 1, 0, 1), (1, 2, 0, 0)])
def test_uneven_padding(pads: Any, extra: Any, rng: np.random.Generator) -> None:
    attrs = {"pads": pads, "strides": (2, 2), "kernel_shape": (3, 3)}
    if extra:
        attrs["output_padding"] = extra
    x = rng.standard_normal((2, 3, 5, 4)).astype("float32")
    w = rng.standard_normal((3, 2, 3, 3)).astype("float32")
    for shapes in (None, [[None, 3, None, None], [3, 2, 3, 3]]):
        other = check(lambda x, w: tf.raw.ConvTranspose(x, w, None, **attrs), x, w, shapes=shapes)
        assert not lacking(other)


def test_what_cudnn_cannot_pad_has_no_kernel() -> None:
    spec = tf.TensorSpec([2, 3, 5, 5])
    for attrs, has in [
        ({"pads": (1, 1, 1, 1)}, True),
        ({"pads": (0, 0, 1, 1)}, False),
        ({"auto_pad": "SAME_UPPER"}, False),
        ({}, True),
    ]:
        f = tf.function(
            lambda x, a=attrs: tf.raw.ConvTranspose(x, tf.ones([3, 1, 3, 3]), None, **a)
        )
        graph = f.get_concrete_function(spec).graph.graph
        assert ("ConvTranspose" not in lacking(graph)) == has, attrs
