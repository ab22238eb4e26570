"""Products of matrices and vectors along very many elements, and losses of many targets.

References are computed in float64 or wider. NumPy's own products of float32 are off by up to 2e-5
of the longest lengths here, TensorFlow's by 9e-4.
"""

from __future__ import annotations

import functools

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tfx.graph.passes.pipeline import prepare

# 4 ulp of float32, of a sum of numbers of one sign.
LIMIT = 5e-7
# Lengths with good divisors, with none (a prime), and just long enough.
SIZES = [65_536, 100_000, 999_983, 4_800_000]


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).random(shape).astype(dtype)


def plain(function):
    return function


def traced(function):
    return tf.function(function)


def check(function, *given, limit=LIMIT):
    """Eagerly and traced, against the same of float64 (in NumPy)."""
    wide = np.float64 if given[0].dtype != np.float64 else np.longdouble
    exact = function(*(x.astype(wide) for x in given))
    tensors = [tf.constant(x) for x in given]
    own = FUNCTIONS[function]
    for how in (plain, traced):
        y = how(own)(*tensors).numpy()
        assert y.shape == exact.shape
        assert y.dtype == given[0].dtype
        np.testing.assert_allclose(y.astype(wide), exact, rtol=limit, err_msg=how.__name__)


def dot(x, y):
    return np.dot(x, y)


def all_axes(x, y):
    return np.tensordot(x, y, 2)


def matvec(a, v):
    return a @ v


def product(a, b):
    return a @ b


def turned_left(a, b):
    return a.T @ b


def turned_right(a, b):
    return a @ b.T


def both_turned(a, b):
    return a.T @ b.T


def batched(a, v):
    return np.einsum("bik,k->bi", a, v)


FUNCTIONS = {
    dot: lambda x, y: tf.tensordot(x, y, 1),
    all_axes: lambda x, y: tf.tensordot(x, y, 2),
    matvec: tf.linalg.matvec,
    product: tf.matmul,
    turned_left: functools.partial(tf.matmul, transpose_a=True),
    turned_right: functools.partial(tf.matmul, transpose_b=True),
    both_turned: functools.partial(tf.matmul, transpose_a=True, transpose_b=True),
    batched: lambda a, v: tf.einsum("bik,k->bi", a, v),
}


@pytest.mark.parametrize("size", SIZES)
def test_dot_products(size):
    x = numbers(size)
    check(dot, x, x[::-1].copy())
    check(product, x[None], x[:, None])
    check(turned_left, x[:, None], x[:, None])
    check(turned_right, x[None], x[None])


def test_all_pixels_of_an_image():
    x = numbers(1000, 1200)
    check(all_axes, x, x)


@pytest.mark.parametrize("size", SIZES[:3])
@pytest.mark.parametrize("count", [2, 5])
def test_matrix_and_vector(size, count):
    rows, v = numbers(count, size), numbers(size)
    columns = rows.T.copy()
    check(matvec, rows, v)
    check(product, rows, v[:, None])
    check(product, v[None], columns)
    check(turned_left, columns, v[:, None])
    check(turned_left, v[:, None], columns)
    check(turned_right, v[None], rows)
    check(turned_right, rows, v[None])
    check(both_turned, columns, v[None])
    check(both_turned, v[:, None], rows)


@pytest.mark.parametrize("size", [100_000, 65_537])
def test_batches_of_rows(size):
    check(batched, numbers(2, 3, size), numbers(size))


@pytest.mark.parametrize("size", [1_000_000, 999_983])
def test_wide_and_narrow_types(size):
    check(matvec, numbers(3, size, dtype=np.float64), numbers(size, dtype=np.float64), limit=1e-15)
    small = (numbers(3, size) / 256).astype(np.float16), numbers(size).astype(np.float16)
    check(matvec, *small, limit=1e-3)


def test_what_gemm_does_besides():
    a, v, c = numbers(70_000, 3), numbers(70_000, 1), numbers(3, 1)
    exact = 0.5 * (a.astype(np.float64).T @ v) + 3 * c

    def scaled(x, y, z):
        return tf.raw.Gemm(x, y, z, transA=1, alpha=0.5, beta=3.0)

    for call in (scaled, tf.function(scaled)):
        y = call(tf.constant(a), tf.constant(v), tf.constant(c)).numpy()
        np.testing.assert_allclose(y, exact, rtol=LIMIT)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_number_of_rows_that_is_unknown(rows):
    v = numbers(100_000, 1)
    signature = [tf.TensorSpec([None, 100_000])]
    f = tf.function(lambda a: tf.matmul(a, tf.constant(v)), input_signature=signature)
    a = numbers(rows, 100_000)
    y = f(tf.constant(a)).numpy()
    assert y.shape == (rows, 1)
    np.testing.assert_allclose(y, a.astype(np.float64) @ v, rtol=LIMIT)
    signature = [tf.TensorSpec([100_000, None])]
    f = tf.function(lambda b: tf.matmul(tf.constant(v.T.copy()), b), input_signature=signature)
    y = f(tf.constant(a.T.copy())).numpy()
    assert y.shape == (1, rows)
    np.testing.assert_allclose(y, v.astype(np.float64).T @ a.T, rtol=LIMIT)


def test_gradient_of_a_regression():
    """The slope of a weight is a product along all samples."""
    x, t = numbers(1_000_000, 3), numbers(1_000_000, 1)
    w = tf.constant([[0.0], [0.0], [0.0]])

    def slope(w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_sum(tf.matmul(tf.constant(x), w) * tf.constant(t))
        return tape.gradient(loss, w)

    exact = x.astype(np.float64).T @ t
    for how in (plain, traced):
        np.testing.assert_allclose(how(slope)(w).numpy(), exact, rtol=LIMIT)


def test_infinities_and_nan():
    x = np.ones((2, 100_000), np.float32)
    x[0, 7] = np.inf
    x[1, 8] = np.nan
    for how in (plain, traced):
        f = how(tf.linalg.matvec)
        np.testing.assert_array_equal(f(tf.constant(x), tf.ones(100_000)).numpy(), [np.inf, np.nan])


def nodes_of(op, left, right, attrs=None):
    from tfx.graph.infer import infer
    from tfx.graph.ir import Graph

    graph = Graph("one")
    given = [graph.add_input("x", 1, left), graph.add_input("y", 1, right)]
    types = infer(op, given, attrs or {})
    graph.outputs = list(graph.add_node(op, given, attrs or {}, types).outputs)
    return [n.op for n in prepare(graph).nodes]


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("MatMul", (4, 65_535), (65_535, 1)),
        ("MatMul", (4, 100_000), (100_000, 4)),
        ("MatMul", (2, 4, 100_000), (2, 100_000, 1)),
        ("MatMul", (4, None), (None, 1)),
        ("Gemm", (4, 100_000), (100_000, 4)),
    ],
)
def test_ordinary_products_stay_one_node(op, left, right):
    assert nodes_of(op, left, right) == [op]


def test_what_is_saved_gives_the_same_elsewhere(tmp_path):
    module = tf.Module()
    module.f = tf.function(tf.linalg.matvec)
    a, v = numbers(3, 999_983), numbers(999_983)
    signature = module.f.get_concrete_function(
        tf.TensorSpec(a.shape, name="a"), tf.TensorSpec(v.shape, name="b")
    )
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=signature)
    session = onnxruntime.InferenceSession(str(tmp_path / "m" / "serving_default.onnx"))
    names = [x.name for x in session.get_inputs()]
    (y,) = session.run(None, dict(zip(names, (a, v), strict=True)))
    np.testing.assert_allclose(y, a.astype(np.float64) @ v, rtol=LIMIT)
