"""Reductions over many elements: as accurate as a sum in pairs, whatever runs them.

References are computed in NumPy's widest type; what is allowed is four times the error of NumPy's
own sum in pairs in the dtype at hand, and one unit in the last place.
"""

from __future__ import annotations

import functools
import math

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tfx.graph.passes.pipeline import prepare
from tfx.graph.tags import Mark

KINDS = ("same", "uniform", "around three")
# Shape and reduced axes: lengths on both sides of what is cut, with and without good divisors.
CASES = {
    "few": ((100,), (0,)),
    "thousand": ((1000,), (0,)),
    "prime": ((1009,), (0,)),
    "hundred thousand": ((100_000,), (0,)),
    "large prime": ((100_003,), (0,)),
    "million": ((1_000_000,), (0,)),
    "last axis": ((3, 4096), (1,)),
    "first axis": ((5000, 3), (0,)),
    "first axis, prime": ((4099, 3), (0,)),
    "first axis before 1": ((30_011, 1), (0,)),
    "middle": ((2, 3000, 3), (1,)),
    "outer two": ((50, 7, 300), (0, 2)),
    "channels first": ((4, 3, 40, 50), (0, 2, 3)),
    "channels last": ((4, 40, 50, 3), (0, 1, 2)),
    "short last": ((20_000, 2, 3), (0, 2)),
    "all": ((17, 19, 23), (0, 1, 2)),
}


def _norm(x):
    return np.sqrt(np.sum(x * x, -1, dtype=x.dtype))


def _logsumexp(x):
    top = x.max(-1)
    return top + np.log(np.sum(np.exp(x - top[..., None]), -1, dtype=x.dtype))


REDUCTIONS = {
    "sum": (tf.reduce_sum, lambda x: np.sum(x, -1, dtype=x.dtype)),
    "mean": (tf.reduce_mean, lambda x: np.sum(x, -1, dtype=x.dtype) / x.dtype.type(x.shape[-1])),
    "norm": (tf.math.reduce_euclidean_norm, _norm),
    "logsumexp": (tf.reduce_logsumexp, _logsumexp),
}


def numbers(kind, shape, dtype):
    rng = np.random.default_rng(len(kind))
    if kind == "same":
        return np.full(shape, 0.1).astype(dtype)
    x = rng.random(shape) if kind == "uniform" else 3 + rng.standard_normal(shape)
    return x.astype(dtype)


def rows(x, axes):
    """The reduced elements on one last axis that lies together: NumPy sums such in pairs."""
    moved = np.ascontiguousarray(np.moveaxis(x, axes, range(-len(axes), 0)))
    return moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)


def wide(x):
    return x.astype(np.longdouble)


@functools.cache
def allowed(reduction, shape, axes, dtype):
    """The error that is allowed: NumPy's worst of the kinds of numbers, relatively."""
    plain = REDUCTIONS[reduction][1]
    worst = 0.0
    pairwise = dtype if np.finfo(dtype).bits > 16 else np.float32
    for kind in KINDS:
        x = rows(numbers(kind, shape, dtype), axes)
        exact = plain(wide(x))
        worst = max(
            worst, float(np.max(np.abs(wide(plain(x.astype(pairwise))) - exact) / np.abs(exact)))
        )
    # Exponentials and the logarithm have errors of their own, in NumPy's as in ours.
    ulps = 3 if reduction == "logsumexp" else 1
    return 4 * worst + ulps * float(ml_dtypes.finfo(dtype).eps)


def error(y, exact):
    assert y.shape == exact.shape
    return float(np.max(np.abs(wide(y) - exact) / np.abs(exact)))


def calls(function, shape, dtype):
    """An operation eagerly, traced for the shape, and traced for any sizes."""
    unknown = tf.TensorSpec([None] * len(shape), dtype)
    return {
        "eager": function,
        "static": tf.function(function),
        "unknown": tf.function(function, input_signature=[unknown]),
    }


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_error_stays_that_of_a_sum_in_pairs(case, dtype, reduction):
    shape, axes = CASES[case]
    function, plain = REDUCTIONS[reduction]
    limit = allowed(reduction, shape, axes, dtype)
    for how, call in calls(lambda x: function(x, axes), shape, dtype).items():
        for kind in KINDS:
            x = numbers(kind, shape, dtype)
            found = error(call(tf.constant(x)).numpy(), plain(wide(rows(x, axes))))
            assert found <= limit, (how, kind, found, limit)


@pytest.mark.parametrize("shape", [(3_000_000,), (1_000_000, 2), (20, 100_000)])
def test_long_logarithms_of_sums_of_float64(shape):
    axis = 1 if shape[0] == 20 else 0
    x = np.random.default_rng(9).random(shape)
    exact = _logsumexp(wide(rows(x, (axis,))))
    for call in calls(lambda v: tf.reduce_logsumexp(v, axis), shape, np.float64).values():
        np.testing.assert_allclose(wide(call(tf.constant(x)).numpy()), exact, rtol=4.5e-16)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("case", ["thousand", "prime", "hundred thousand", "first axis", "middle"])
def test_narrow_types_are_summed_wider(case, dtype):
    shape, axes = CASES[case]
    for how, call in calls(lambda x: tf.reduce_mean(x, axes), shape, dtype).items():
        for kind in KINDS:
            x = numbers(kind, shape, dtype)
            exact = wide(rows(x, axes)).mean(-1)
            found = error(call(tf.constant(x)).numpy(), exact)
            assert found <= float(ml_dtypes.finfo(dtype).eps), (how, kind)


def test_the_sum_of_many_halves_does_not_overflow_on_the_way():
    x = np.where(np.arange(40_000) % 2, 30_000.0, -30_000.0).astype(np.float16)
    for call in calls(tf.reduce_sum, x.shape, tf.float16).values():
        assert call(tf.constant(x)).numpy() == 0


def test_ten_million_tenths():
    x = tf.fill([10**7], 0.1)
    assert abs(float(tf.reduce_mean(x)) - float(np.float32(0.1))) < 1e-8


def test_variance_and_standard_deviation():
    values = tf.constant(np.tile(np.float32([1000, 1001]), 500_000))
    assert float(tf.math.reduce_variance(values)) == 0.25
    large = tf.constant(np.tile(np.float32([1e4, 1e4 + 1]), 500_000))
    assert float(tf.math.reduce_std(large)) == 0.5
    mean, variance = tf.nn.moments(large, [0])
    assert float(mean) == 10_000.5
    assert float(variance) == 0.25


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [(0,), (-1,), (1, -1), (0, 2), None])
def test_axes_and_kept_dimensions(axes, keepdims):
    x = np.random.default_rng(0).random((70, 9, 500)).astype(np.float32)
    exact = x.astype(np.float64).sum(axes, keepdims=keepdims)

    def summed(v):
        return tf.reduce_sum(v, axes, keepdims)

    for call in calls(summed, x.shape, tf.float32).values():
        y = call(tf.constant(x)).numpy()
        assert y.shape == exact.shape
        np.testing.assert_allclose(y, exact, rtol=6e-7)


def test_axes_that_are_known_at_run_time_only():
    x = np.full((1_000_003, 2), 0.1, np.float32)
    summed = tf.function(
        lambda v, a: tf.reduce_sum(v, a),
        input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec([None], tf.int32)],
    )
    exact = 1_000_003 * float(np.float32(0.1))
    np.testing.assert_allclose(summed(tf.constant(x), tf.constant([0])).numpy(), exact, rtol=1e-7)


@pytest.mark.parametrize("size", [1000, 1009, 10_007, 100_000])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_infinities_and_nan(reduction, size):
    function = REDUCTIONS[reduction][0]
    for special, sums in ((np.inf, np.inf), (np.nan, np.nan)):
        x = np.ones((size, 2), np.float32)
        x[size // 3, 0] = special
        for call in calls(lambda v: function(v, 0), x.shape, tf.float32).values():
            y = call(tf.constant(x)).numpy()
            np.testing.assert_equal(y[0], np.float32(sums))
            assert np.isfinite(y[1])
        both = x.copy()
        both[-1, 0] = -np.inf
        if reduction == "sum":
            assert np.isnan(tf.reduce_sum(tf.constant(both), 0).numpy()[0])


def test_the_logsumexp_of_nothing_likely():
    x = np.full((2, 5000), -np.inf, np.float32)
    x[1, 77] = 2.0
    for call in calls(lambda v: tf.reduce_logsumexp(v, 1), x.shape, tf.float32).values():
        np.testing.assert_equal(call(tf.constant(x)).numpy(), np.float32([-np.inf, 2]))


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((0, 5000), (1,)),
        ((5000, 0), (0,)),
        ((0,), (0,)),
        ((2, 0, 5000), (1, 2)),
        ((5000, 3, 0), (0,)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nothing_to_sum(shape, axes, dtype):
    x = np.zeros(shape, dtype)
    for call in calls(lambda v: tf.reduce_sum(v, axes), shape, dtype).values():
        y = call(tf.constant(x)).numpy()
        np.testing.assert_array_equal(y, x.sum(axes))
        assert y.shape == x.sum(axes).shape


def test_integers_wrap_around_as_before():
    x = np.full(100_000, 2**31 - 1, np.int32)
    assert int(tf.reduce_sum(tf.constant(x))) == int(np.sum(x, dtype=np.int32))


@pytest.mark.parametrize("op", ["ReduceL1", "ReduceSumSquare", "ReduceLogSum", "ReduceL2"])
@pytest.mark.parametrize("size", [500, 1009, 1_000_000])
def test_operators_that_models_have(op, size):
    plain = {
        "ReduceL1": lambda x: np.abs(x).sum(-1),
        "ReduceSumSquare": lambda x: (x * x).sum(-1),
        "ReduceLogSum": lambda x: np.log(x.sum(-1)),
        "ReduceL2": lambda x: np.sqrt((x * x).sum(-1)),
    }[op]
    x = np.full((2, size), 0.1, np.float32)
    exact = plain(x.astype(np.float64))

    def reduced(v):
        return getattr(tf.raw, op)(v, tf.constant([1], tf.int64), keepdims=0)

    for call in calls(reduced, x.shape, tf.float32).values():
        np.testing.assert_allclose(call(tf.constant(x)).numpy(), exact, rtol=6e-7)


@pytest.mark.parametrize("size", [100, 20_000, 300_007])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax(size, dtype):
    x = np.random.default_rng(0).standard_normal((2, size)).astype(dtype)
    shifted = wide(x) - wide(x).max(-1, keepdims=True)
    total = np.exp(shifted).sum(-1, keepdims=True)
    eps = float(np.finfo(dtype).eps)
    for call in calls(tf.nn.softmax, x.shape, dtype).values():
        y = call(tf.constant(x)).numpy()
        np.testing.assert_allclose(wide(y), np.exp(shifted) / total, rtol=20 * eps)
        assert abs(float(wide(y)[0].sum()) - 1) < 2 * eps
    for call in calls(tf.nn.log_softmax, x.shape, dtype).values():
        y = call(tf.constant(x)).numpy()
        np.testing.assert_allclose(wide(y), shifted - np.log(total), rtol=4 * eps)
    for call in calls(lambda v: tf.nn.softmax(v, 0), (size, 2), dtype).values():
        y = call(tf.constant(np.ascontiguousarray(x.T))).numpy()
        np.testing.assert_allclose(wide(y.T), np.exp(shifted) / total, rtol=20 * eps)


def test_softmax_of_the_unlikely():
    x = np.full(20_000, -np.inf, np.float32)
    x[5] = 0
    for call in calls(tf.nn.softmax, x.shape, tf.float32).values():
        assert call(tf.constant(x)).numpy().sum() == 1
    for call in calls(tf.nn.log_softmax, x.shape, tf.float32).values():
        y = call(tf.constant(x)).numpy()
        assert y[5] == 0
        assert np.isneginf(y[0])


def test_averages_over_images():
    x = np.full((1, 2, 300, 301), 0.1, np.float32)
    exact = float(np.float32(0.1))
    for call in calls(tf.raw.GlobalAveragePool, x.shape, tf.float32).values():
        np.testing.assert_allclose(call(tf.constant(x)).numpy(), exact, rtol=3e-7)

    def pooled(v):
        return tf.raw.AveragePool(v, kernel_shape=(60, 50), strides=(30, 25), pads=(2, 3, 4, 5))

    for call in calls(pooled, x.shape, tf.float32).values():
        np.testing.assert_allclose(call(tf.constant(x)).numpy(), exact, rtol=2e-6)


def normalized(op, x):
    """What a normalization with scale 2 and offset 1 gives, in a wider type."""
    x = wide(x)
    if op == "RMSNormalization":
        return 2 * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    if op == "LpNormalization":
        return x / np.sqrt((x * x).sum(-1, keepdims=True))
    axes = {"BatchNormalization": (0, 2), "MeanVarianceNormalization": (0, 2)}.get(op, (-1,))
    grouped = x.reshape(len(x), 2, -1) if op == "GroupNormalization" else x
    epsilon = 0 if op == "MeanVarianceNormalization" else 1e-5
    variance = grouped.var(axes, keepdims=True) + epsilon
    h = ((grouped - grouped.mean(axes, keepdims=True)) / np.sqrt(variance)).reshape(x.shape)
    return h if op == "MeanVarianceNormalization" else 2 * h + 1


def normalizing(op, shape):
    """A function that normalizes ``[n, channels, positions]``."""
    last = op in ("LayerNormalization", "RMSNormalization")
    scale = tf.fill([shape[-1] if last else shape[1]], 2.0)
    offset = tf.ones_like(scale)
    if op == "BatchNormalization":
        rest = (tf.zeros_like(scale), offset)
        return lambda v: tf.raw.BatchNormalization(
            v, scale, offset, *rest, training_mode=1, n_outputs=3
        )[0]
    if op == "MeanVarianceNormalization":
        return lambda v: tf.raw.MeanVarianceNormalization(v, axes=(0, 2))
    attrs = {"num_groups": 2} if op == "GroupNormalization" else {}
    given = {"RMSNormalization": (scale,), "LpNormalization": ()}.get(op, (scale, offset))
    return lambda v: getattr(tf.raw, op)(v, *given, **attrs)


NORMALIZATIONS = (
    "BatchNormalization",
    "GroupNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "LpNormalization",
    "MeanVarianceNormalization",
    "RMSNormalization",
)


@pytest.mark.parametrize("op", NORMALIZATIONS)
@pytest.mark.parametrize("around", [0, 100])
def test_normalizations(op, around):
    x = (np.random.default_rng(0).standard_normal((2, 4, 1_000_003)) + around).astype(np.float32)
    exact = normalized(op, x)
    # The mean is a float32, too.
    allowed = 1e-6 * float(np.abs(exact).max()) + 2 * float(np.spacing(np.float32(around)))
    for how, call in calls(normalizing(op, x.shape), x.shape, tf.float32).items():
        np.testing.assert_allclose(
            call(tf.constant(x)).numpy(), exact, rtol=0, atol=allowed, err_msg=how
        )


@pytest.mark.parametrize("op", NORMALIZATIONS)
@pytest.mark.parametrize("shape", [(2, 4, 5), (2, 4, 1030), (0, 4, 5000), (2, 4, 10_007)])
def test_normalizations_of_any_length_in_branches(op, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    function = normalizing(op, shape)

    @tf.function(input_signature=[tf.TensorSpec([None, None, None]), tf.TensorSpec([], tf.bool)])
    def in_branch(v, yes):
        return tf.cond(yes, lambda: function(v), lambda: v)

    exact = normalized(op, x) if x.size else x
    y = in_branch(tf.constant(x), True).numpy()
    assert y.shape == shape
    np.testing.assert_allclose(y, exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("spec", [[None, None, None], [None, 4, None], [2, 4, None]])
def test_instance_normalization_of_images_without_pixels(spec):
    function = tf.function(
        normalizing("InstanceNormalization", (2, 4, 0)), input_signature=[tf.TensorSpec(spec)]
    )
    assert function(tf.zeros([2, 4, 0])).numpy().shape == (2, 4, 0)


@pytest.mark.parametrize("how", ["eager", "static", "unknown"])
def test_other_results_of_normalizations(how):
    x = (np.random.default_rng(0).standard_normal((2, 3, 500_009)) + 3).astype(np.float32)
    scale = tf.constant([1.0, 2.0, 3.0])

    def batch(v):
        return tf.raw.BatchNormalization(
            v, scale, scale, scale, scale, training_mode=1, momentum=0.75, n_outputs=3
        )

    _, mean, variance = calls(batch, x.shape, tf.float32)[how](tf.constant(x))
    exact = wide(x).mean((0, 2)), wide(x).var((0, 2))
    np.testing.assert_allclose(mean.numpy(), 0.75 * scale.numpy() + 0.25 * exact[0], rtol=5e-7)
    np.testing.assert_allclose(variance.numpy(), 0.75 * scale.numpy() + 0.25 * exact[1], rtol=5e-7)

    def layer(v):
        return tf.raw.LayerNormalization(v, tf.ones(x.shape[-1]), n_outputs=3)

    _, mean, r = calls(layer, x.shape, tf.float32)[how](tf.constant(x))
    np.testing.assert_allclose(mean.numpy(), wide(x).mean(-1, keepdims=True), rtol=5e-7)
    exact_r = 1 / np.sqrt(wide(x).var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(r.numpy(), exact_r, rtol=5e-7)


def test_what_does_not_vary_is_normalized_to_zero():
    x = tf.fill([1, 2, 100_000], 0.5)
    for call in calls(
        normalizing("MeanVarianceNormalization", x.shape), x.shape, tf.float32
    ).values():
        np.testing.assert_array_equal(call(x).numpy(), 0)
    zeros = tf.zeros_like(x)
    for call in calls(normalizing("LpNormalization", x.shape), x.shape, tf.float32).values():
        np.testing.assert_array_equal(call(zeros).numpy(), 0)


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        ("GroupNormalization", tf.float16),
        ("GroupNormalization", tf.bfloat16),
        ("InstanceNormalization", tf.float16),
        ("LayerNormalization", tf.float16),
        ("LayerNormalization", tf.bfloat16),
    ],
)
def test_normalizations_of_narrow_types(op, dtype):
    x = np.random.default_rng(0).standard_normal((1, 4, 100_003)).astype(dtype.as_numpy_dtype)
    exact = normalized(op, x.astype(np.float32))
    count = x.shape[-1] if op == "LayerNormalization" else 4
    scale = tf.cast(tf.fill([count], 2.0), dtype)
    attrs = {"num_groups": 2} if op == "GroupNormalization" else {}

    def function(v):
        return getattr(tf.raw, op)(v, scale, tf.ones_like(scale), **attrs)

    for how, call in calls(function, x.shape, dtype).items():
        y = call(tf.constant(x)).numpy().astype(np.float32)
        limit = 3 * float(ml_dtypes.finfo(dtype.as_numpy_dtype).eps) * float(np.abs(exact).max())
        np.testing.assert_allclose(y, exact, rtol=0, atol=limit, err_msg=how)


def test_gradients():
    count = 1_000_003
    x = tf.constant(np.full((count, 2), 0.1, np.float32))
    bias = tf.constant([0.0, 1.0])
    exact = count * float(np.float32(0.1))

    def slope(b):
        with tf.GradientTape() as tape:
            tape.watch(b)
            loss = tf.reduce_sum((x + b) * x)
        return tape.gradient(loss, b)

    unknown = tf.function(slope, input_signature=[tf.TensorSpec([None], tf.float32)])
    for call in (slope, tf.function(slope), unknown):
        np.testing.assert_allclose(call(bias).numpy(), exact, rtol=2e-7)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_what_is_saved_gives_the_same_elsewhere(tmp_path, dtype):
    module = tf.Module()
    module.static = tf.function(
        lambda x: {"y": tf.reduce_mean(x, 1)}, input_signature=[tf.TensorSpec([2, 100_003], dtype)]
    )
    module.unknown = tf.function(
        lambda x: {"y": tf.reduce_mean(x, 1)},
        input_signature=[tf.TensorSpec([None, None], dtype, name="x")],
    )
    tf.saved_model.save(
        module, str(tmp_path / "m"), signatures={"static": module.static, "unknown": module.unknown}
    )
    x = np.full((2, 100_003), 0.1, dtype.as_numpy_dtype)
    for name in ("static", "unknown"):
        session = onnxruntime.InferenceSession(str(tmp_path / "m" / f"{name}.onnx"))
        feed = session.get_inputs()[0].name
        (y,) = session.run(None, {feed: x})
        np.testing.assert_allclose(y, x[:, 0], rtol=4 * np.finfo(x.dtype).eps)
        (y,) = (
            session.run(None, {feed: x})
            if name == "static"
            else session.run(None, {feed: x[:, :7]})
        )
        np.testing.assert_allclose(y, x[:, 0], rtol=4 * np.finfo(x.dtype).eps)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    again = tmp_path / "again"
    tf.saved_model.save(loaded, str(again), signatures=dict(loaded.signatures))
    first = (tmp_path / "m" / "unknown.onnx").stat().st_size
    assert (again / "unknown.onnx").stat().st_size < 1.2 * first  # no branch in a branch


def nodes_of(shape, dtype=1, op="ReduceSum"):
    from tfx.graph.ir import Graph

    graph = Graph("one")
    x = graph.add_input("x", dtype, shape)
    graph.outputs = list(graph.add_node(op, [x], {"keepdims": 0}, [(dtype, ())]).outputs)
    return prepare(graph).nodes


def test_short_reductions_stay_one_node():
    assert [n.op for n in nodes_of((128,))] == ["ReduceSum"]
    assert [n.op for n in nodes_of((10, 10))] == ["ReduceSum"]
    assert [n.op for n in nodes_of((1000,))] == ["Cast", "ReduceSum", "Cast"]
    long = ["Reshape", "ReduceSum", "Cast", "ReduceSum", "Cast"]
    assert [n.op for n in nodes_of((100_000,))] == long


def test_unknown_sizes_ask_once_and_only_at_the_top():
    nodes = nodes_of((None,))
    assert [n.op for n in nodes] == ["Size", "Greater", "If"]
    assert nodes[-1].tag is Mark.PART_OF_SUM
    assert not any(n.op == "If" for body in nodes[-1].bodies() for n in body.nodes)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def chosen(x):
        if tf.reduce_max(x) > 0:
            return tf.reduce_sum(x)
        return tf.zeros([])

    x = np.full(1_000_003, 0.1, np.float32)
    exact = math.fsum(x)
    assert abs(float(chosen(tf.constant(x))) - exact) < 1e-7 * exact


def test_loops_that_sum():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def totals(x):
        return tf.map_fn(tf.reduce_sum, x)

    x = np.full((2, 100_000), 0.1, np.float32)
    np.testing.assert_allclose(
        totals(tf.constant(x)).numpy(), 100_000 * np.float64(x[0, 0]), rtol=1e-7
    )


@pytest.mark.parametrize("size", [None, 5000, 10**6])
@pytest.mark.parametrize("function", [tf.reduce_mean, tf.norm, tf.nn.softmax])
def test_what_is_saved_of_float32_has_no_float64(function, size, tmp_path):
    """Builds of the runtime for the web do not have it."""
    module = tf.Module()
    module.f = tf.function(function, input_signature=[tf.TensorSpec([size])])
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)
    model = onnx.load(tmp_path / "m" / "serving_default.onnx")
    graphs = [model.graph, *(f for f in model.functions)]
    while graphs:
        graph = graphs.pop()
        for node in graph.node:
            for attribute in node.attribute:
                assert not (node.op_type == "Cast" and attribute.i == onnx.TensorProto.DOUBLE)
                assert attribute.t.data_type != onnx.TensorProto.DOUBLE
                if attribute.HasField("g"):
                    graphs.append(attribute.g)
        for constant in getattr(graph, "initializer", ()):
            assert constant.data_type != onnx.TensorProto.DOUBLE


@pytest.mark.parametrize(
    ("spec", "axes"), [((None, 32, 32, 3), (1, 2)), ((None, 70_000), (1,)), ((None, 70_001), (1,))]
)
def test_a_dimension_that_is_not_reduced_need_not_be_known(spec, axes, tmp_path):
    """What is saved has no stages of unknown number: how much is summed is known."""

    class Mean(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(spec, tf.float32)])
        def __call__(self, x):
            return tf.reduce_mean(x, axes)

    module = Mean()
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.__call__)
    file = str(tmp_path / "m" / "serving_default.onnx")
    assert len(onnx.load(file).graph.node) <= 14
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (port,) = session.get_inputs()
    for size in (0, 1, 3):
        x = np.full([size if d is None else d for d in spec], 0.1, np.float32)
        (found,) = session.run(None, {port.name: x})
        np.testing.assert_allclose(found, x.mean(axes, dtype=np.float64), rtol=1e-6)
