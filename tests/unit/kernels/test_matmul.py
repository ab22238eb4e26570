"""Products of matrices by our kernels: as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.kernels.library import state as library_state
from tfx.kernels.library import usable_library

pytestmark = [
    needs_library,
    pytest.mark.skipif(
        not getattr(usable_library(True), "product_width", 0),
        reason="ONNX Runtime's kernels are the quicker ones on this processor",
    ),
]

ROWS = [1, 3, 5, 12, 24, 25, 100, 300]


def products(function, *args):
    """The nodes of our operator in a run."""
    with tf.profile() as p:
        function(*args)
    return [node for node in p.nodes if node.op == "Product"]


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def assert_close(found, left, right, bias=0.0):
    left, right = left.astype(np.float64), right.astype(np.float64)
    scale = np.abs(left) @ np.abs(right) + np.abs(bias) + 1e-30
    assert (np.abs(np.asarray(found) - (left @ right + bias)) / scale).max() < 5e-7


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("sizes", [(300, 90), (64, 512), (1100, 61)])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_either_matrix_may_lie_the_other_way_round(rows, sizes, turned, rng):
    inner, columns = sizes
    left, right = floats(rng, rows, inner), floats(rng, inner, columns)
    given = [m.T.copy() if t else m for m, t in zip((left, right), turned, strict=True)]
    shapes = [[None, None], right.T.shape if turned[1] else right.shape]

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32) for shape in shapes])
    def function(a, b):
        return tf.matmul(a, b, transpose_a=turned[0], transpose_b=turned[1])

    assert_close(function(*given), left, right)
    assert len(products(function, *given)) == 1


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("shape", [(2, 1, 200), (7, 30, 200), (4, 2, 9, 200)])
def test_a_bias_and_what_is_below_0(shape, frozen, rng):
    """One operator, also where weights are packed once for all runs."""
    w, b = tf.Variable(floats(rng, 200, 90)), tf.Variable(floats(rng, 90))
    x = floats(rng, *shape)

    @tf.function(input_signature=[tf.TensorSpec([None] * (len(shape) - 1) + [200], tf.float32)])
    def function(x):
        y = tf.matmul(x, w) + b
        return tf.nn.relu(y)

    for _ in range(10 if frozen else 1):  # of a function that only reads them, after some calls
        y = function(x)
    expected = np.maximum(x.astype(np.float64) @ w.numpy() + b.numpy(), 0)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    (node,) = products(function, x)
    assert {part.op for part in node.parts} == {"MatMul", "Add"}


def test_weights_that_change_after_they_were_packed(rng):
    w = tf.Variable(floats(rng, 64, 64))
    x = floats(rng, 40, 64)

    @tf.function
    def function(x):
        return tf.matmul(x, w)

    for step in range(25):
        if step % 12 == 11:
            w.assign(floats(rng, 64, 64))
        assert_close(function(x), x, w.numpy())


def test_weights_multiplied_with_twice_are_packed_once_for_each_way(rng):
    w = tf.constant(floats(rng, 96, 96))

    @tf.function(input_signature=[tf.TensorSpec([None, 96], tf.float32)])
    def function(x):
        y = tf.matmul(tf.matmul(x, w), w, transpose_b=True)
        return tf.matmul(y, w)

    x = floats(rng, 50, 96)
    wide = w.numpy().astype(np.float64)
    np.testing.assert_allclose(function(x), x @ wide @ wide.T @ wide, rtol=1e-3, atol=1e-3)
    assert len(products(function, x)) == 3


@pytest.mark.parametrize("shape", [(0, 64), (5, 0)])
def test_nothing_to_multiply(shape, rng):
    right, b = floats(rng, shape[1], 32), floats(rng, 32)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)] * 2)
    def function(x, w):
        return tf.matmul(x, w) + b

    signature = [tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None, 32], tf.float32)]
    known = tf.function(lambda x, w: tf.matmul(x, w) + b, input_signature=signature)
    for f in (function, known):
        y = f(np.zeros(shape, np.float32), right)
        np.testing.assert_array_equal(y, np.broadcast_to(b, (shape[0], 32)))


def test_numbers_that_are_not_finite(rng):
    """What a row has, no other row gets, and a bias does not hide it."""
    x, w = floats(rng, 30, 128), floats(rng, 128, 64)
    x[3, 5], x[7, 9], w[40, 11] = np.inf, np.nan, -np.inf
    signature = [tf.TensorSpec([None, 128], tf.float32), tf.TensorSpec([128, 64], tf.float32)]

    def computed(x, w):
        return tf.nn.relu(tf.matmul(x, w) + tf.ones([64]))

    function = tf.function(computed, input_signature=signature)
    plain = tf.function(computed, input_signature=signature, jit_compile=False)
    found, expected = function(x, w).numpy(), plain(x, w).numpy()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    assert products(function, x, w)


def test_sizes_that_do_not_fit_are_refused_as_without(rng):
    function = tf.function(
        lambda x, w: tf.matmul(x, w),
        input_signature=[
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None, 32], tf.float32),
        ],
    )
    assert products(function, floats(rng, 20, 50), floats(rng, 50, 32))
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(floats(rng, 20, 50), floats(rng, 49, 32))


@pytest.mark.parametrize("sizes", [(500, 100), (3000, 64), (4096, 96)])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_row_does_not_depend_on_those_beside_it(sizes, frozen, rng):
    """For more than a few rows: the same bits, whatever the batch is."""
    w = (tf.constant if frozen else tf.Variable)(floats(rng, *sizes))
    signature = [tf.TensorSpec([None, sizes[0]], tf.float32)]
    function = tf.function(lambda x: tf.matmul(x, w), input_signature=signature)
    x = floats(rng, 900, sizes[0])
    whole = function(x).numpy()
    for rows in (7, 30, 60, 150):
        np.testing.assert_array_equal(function(x[:rows]), whole[:rows])
    assert products(function, x)


def test_weights_in_branches_and_loops_and_around_them(rng):
    """What is packed for one graph, no other one takes that does not see it."""
    w = tf.constant(floats(rng, 96, 96) * 0.1)
    signature = [tf.TensorSpec([None, 96], tf.float32)]

    @tf.function(input_signature=signature)
    def branches(x):
        y = tf.cond(
            tf.reduce_sum(x) > 0.0, lambda: tf.matmul(x, w), lambda: tf.nn.relu(tf.matmul(x, w))
        )
        return tf.matmul(y, w)

    @tf.function(input_signature=signature)
    def dropped(x):
        y = tf.cond(tf.size(w) > 10, lambda: x + 1.0, lambda: tf.nn.relu(tf.matmul(x, w)))
        return tf.matmul(y, w)

    @tf.function(input_signature=signature)
    def loop(x):
        for _ in tf.range(3):
            x = tf.tanh(tf.matmul(x, w))
        return tf.matmul(x, w)

    x = floats(rng, 40, 96)
    wide = w.numpy().astype(np.float64)
    first = x @ wide if x.sum() > 0 else np.maximum(x @ wide, 0)
    looped = x.astype(np.float64)
    for _ in range(3):
        looped = np.tanh(looped @ wide)
    for function, expected in (
        (branches, first @ wide),
        (dropped, (x + 1.0) @ wide),
        (loop, looped @ wide),
    ):
        np.testing.assert_allclose(function(x), expected, rtol=1e-4, atol=1e-4)
        assert products(function, x)
    assert not library_state.failed


def test_what_is_the_same_in_every_run_is_computed_once(rng):
    a, b = (tf.constant(floats(rng, 128, 128)) for _ in range(2))
    scale = tf.constant(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 128], tf.float32)])
    def function(x):
        return x + tf.matmul(a, b)[0] + tf.reduce_sum(tf.tile(a, [4, 1]) * scale, 0)

    x = floats(rng, 3, 128)
    expected = x + (a.numpy() @ b.numpy())[0] + 8.0 * a.numpy().sum(0)
    np.testing.assert_allclose(function(x), expected, rtol=1e-4, atol=1e-3)
    with tf.profile() as p:
        function(x)
    assert not {"Product", "ColumnSum", "MatMul"} & {node.op for node in p.nodes}


def test_large_weights_are_left_to_onnx_runtime(rng):
    """Which does without a copy of what it packs."""
    w = tf.constant(floats(rng, 1500, 1500))
    function = tf.function(lambda x: tf.matmul(x, w))
    assert_close(function(x := floats(rng, 30, 1500)), x, w.numpy())
    assert not products(function, x)


def test_long_sums_are_accurate(rng):
    """Of 200,000 equal numbers, which would be off by 1e-3 if one were added after the other."""
    x, y = np.full((200_000, 40), 0.1, np.float32), np.ones((200_000, 30), np.float32)
    function = tf.function(
        lambda a, b: tf.matmul(a, b, transpose_a=True),
        input_signature=[tf.TensorSpec([None, n], tf.float32) for n in (40, 30)],
    )
    np.testing.assert_allclose(function(x, y), np.full((40, 30), 200_000 * 0.1), rtol=5e-6)
    assert products(function, x, y)


def test_gradients_of_a_network(rng):
    """Against operators one by one."""

    def slopes(x, *weights):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            y = x
            for w in weights:
                y = tf.nn.relu(tf.matmul(y, w) + tf.ones_like(w[0]))
            loss = tf.reduce_mean(tf.square(y))
        return loss, *tape.gradient(loss, weights)

    shapes = [(60, 128), (128, 130), (130, 32)]
    signature = [tf.TensorSpec([None, 60], tf.float32), *(tf.TensorSpec(s) for s in shapes)]
    given = [floats(rng, 90, 60), *(floats(rng, *shape) * 0.1 for shape in shapes)]
    ours = tf.function(slopes, input_signature=signature)
    theirs = tf.function(slopes, input_signature=signature, jit_compile=False)
    for a, b in zip(ours(*given), theirs(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * np.abs(b).max())
    assert len(products(ours, *given)) >= 8


def test_what_is_saved_has_no_product_of_ours(tmp_path, rng):
    import onnx

    module = tf.Module()
    module.w = tf.Variable(floats(rng, 64, 64))
    module.f = tf.function(
        lambda x: tf.nn.relu(tf.matmul(x, module.w)),
        input_signature=[tf.TensorSpec([None, 64], tf.float32)],
    )
    assert products(module.f, floats(rng, 40, 64))
    tf.saved_model.save(module, str(tmp_path / "saved"))
    paths = list((tmp_path / "saved").glob("*.onnx"))
    assert paths
    for path in paths:
        model = onnx.load(str(path))
        assert {node.op_type for node in model.graph.node} <= {"MatMul", "Gemm", "Relu"}
