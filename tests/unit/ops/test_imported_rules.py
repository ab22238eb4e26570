"""What onnx's node tests do not reach of the rules for imported operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import raw
from tfx.framework.apply import apply
from tfx.testing import check_grads

TRUE = tf.constant(True)


def _gradients(f: Any, *xs: Any) -> tuple[Any, list[Any]]:
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return y, tape.gradient(y, list(xs))


@pytest.mark.parametrize("outputs", [1, 2])
def test_dropout_gradient_is_the_mask_that_was_drawn(outputs: int) -> None:
    x = tf.constant(np.linspace(1.0, 2.0, 1000))

    def f(x: Any) -> Any:
        found = raw.Dropout(x, 0.75, TRUE, n_outputs=outputs)
        return found[0] if outputs == 2 else found

    y, (dx,) = _gradients(f, x)
    kept = y.numpy() != 0
    assert 150 < kept.sum() < 350
    np.testing.assert_allclose(dx.numpy(), np.where(kept, 4.0, 0.0), rtol=1e-6)


def test_dropout_of_zeros_without_a_mask_passes_the_average() -> None:
    _, (dx,) = _gradients(lambda x: raw.Dropout(x, 0.5, TRUE), tf.zeros([5]))
    np.testing.assert_array_equal(dx.numpy(), 1.0)


def test_dropout_of_everything() -> None:
    _, (dx,) = _gradients(lambda x: raw.Dropout(x, 1.0 - 1e-7, TRUE, n_outputs=2)[0], tf.ones([3]))
    assert np.isfinite(dx.numpy()).all()


@pytest.mark.parametrize("training", [None, False])
def test_dropout_outside_of_training_is_nothing(training: bool | None) -> None:
    _, (dx,) = _gradients(lambda x: raw.Dropout(x, 0.5, training), tf.ones([3]))
    np.testing.assert_array_equal(dx.numpy(), 1.0)


def test_dropout_with_a_mode_that_is_known_at_run_time(rng: np.random.Generator) -> None:
    @tf.function
    def f(x: Any, training: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, _ = raw.Dropout(x, 0.5, training, n_outputs=2)
        return y, tape.gradient(y, x)

    x = tf.constant(rng.uniform(1, 2, 100))
    for mode in (True, False):
        y, dx = f(x, tf.constant(mode))
        np.testing.assert_allclose(dx.numpy(), y.numpy() / x.numpy())
        assert (dx.numpy() == 0).any() == mode


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 2])
def test_trilu(upper: int, k: int | None, rng: np.random.Generator) -> None:
    where = () if k is None else (tf.constant(k, tf.int64),)
    check_grads(
        lambda x: raw.Trilu(x, *where, upper=upper) ** 2, (rng.standard_normal((2, 3, 4)),), order=2
    )


@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_lp_pool(p: int, rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 2.0, (2, 3, 4, 2)) * rng.choice([-1.0, 1.0], (2, 3, 4, 2))
    weights = rng.standard_normal((2, 3, 1, 1))
    _, (dx,) = _gradients(lambda x: raw.GlobalLpPool(x, p=p) * weights, tf.constant(x))
    norm = (np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)
    wanted = weights * np.sign(x) * (np.abs(x) / norm) ** (p - 1)
    np.testing.assert_allclose(dx.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_batch_normalization_of_other_ranks(rank: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 3, 2, 2, 2)[:rank])
    channels = (3,) if rank > 1 else (1,)
    scale, bias, mean = (rng.standard_normal(channels) for _ in range(3))
    variance = rng.uniform(0.5, 2.0, channels)
    inputs = (x, scale, bias, mean, variance)
    check_grads(lambda *xs: raw.BatchNormalization(*xs), inputs, order=2, rtol=1e-5)


def test_batch_normalization_in_mixed_precision(rng: np.random.Generator) -> None:
    x = tf.constant(rng.standard_normal((4, 3, 5)), tf.float16)
    vectors = [tf.constant(rng.uniform(0.5, 1.5, 3), tf.float32) for _ in range(4)]
    _, found = _gradients(lambda *xs: raw.BatchNormalization(*xs) ** 2, x, *vectors)
    wide = [tf.cast(x, tf.float64), *(tf.cast(v, tf.float64) for v in vectors)]
    _, wanted = _gradients(lambda *xs: raw.BatchNormalization(*xs) ** 2, *wide)
    assert [g.dtype for g in found] == [tf.float16] + [tf.float32] * 4
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("op", ["Mish", "HardSwish"])
def test_operators_without_any_kernel_work_in_float64(op: str) -> None:
    x = np.array([-5.0, -3.0, -0.5, 0.0, 2.0, 3.0, 40.0])
    wanted = {
        "Mish": lambda v: v * np.tanh(np.logaddexp(0, v)),
        "HardSwish": lambda v: v * np.clip(v / 6 + 0.5, 0, 1),
    }[op](x)
    np.testing.assert_allclose(getattr(raw, op)(tf.constant(x)).numpy(), wanted, rtol=1e-14)


@pytest.mark.parametrize(("keepdims", "shape"), [(1, (1, 1)), (0, ())])
def test_an_empty_list_of_axes_reduces_all(keepdims: int, shape: tuple[int, ...]) -> None:
    x, none = tf.ones([2, 3]), tf.zeros([0], tf.int64)
    y, (dx,) = _gradients(lambda x: raw.ReduceMean(x, none, keepdims=keepdims), x)
    assert y.shape == shape
    np.testing.assert_allclose(dx.numpy(), np.full((2, 3), 1 / 6), rtol=1e-6)
    _, (dx,) = _gradients(lambda x: raw.ReduceMean(x, none, noop_with_empty_axes=1), x)
    np.testing.assert_array_equal(dx.numpy(), 1.0)


def test_power_with_an_exponent_of_another_dtype() -> None:
    x, y = tf.constant([2.0, 3.0]), tf.constant([3, 2])
    _, (dx,) = _gradients(lambda x: raw.Pow(x, y), x)
    np.testing.assert_allclose(dx.numpy(), [12.0, 6.0])
    _, (dx, dy) = _gradients(raw.Pow, x, tf.constant([3.0, 2.0], tf.float64))
    np.testing.assert_allclose(dy.numpy(), [8 * np.log(2), 9 * np.log(3)], rtol=1e-6)
    assert (dx.dtype, dy.dtype) == (tf.float32, tf.float64)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("ii->i", [(3, 3)]), ("...ii->...i", [(2, 3, 3)]), ("iij,jk->ik", [(3, 3, 2), (2, 4)])],
    ids=["diagonal", "batch", "product"],
)
def test_einsum_with_repeated_labels(
    equation: str, shapes: list[tuple[int, ...]], rng: np.random.Generator
) -> None:
    inputs = [rng.standard_normal(s) for s in shapes]
    check_grads(lambda *xs: raw.Einsum(*xs, equation=equation) ** 2, inputs, order=2)


@pytest.mark.parametrize("count_include_pad", [0, 1])
@pytest.mark.parametrize(
    "attrs",
    [
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 2], "strides": [3, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 1], "ceil_mode": 1},
    ],
    ids=["ceil", "padded", "dilated"],
)
def test_average_pool_of_sizes_known_at_run_time(
    attrs: dict[str, Any], count_include_pad: int, rng: np.random.Generator
) -> None:
    def f(x: Any) -> Any:
        _, (dx,) = _gradients(
            lambda x: raw.AveragePool(x, **attrs, count_include_pad=count_include_pad) ** 2, x
        )
        return dx

    x = tf.constant(rng.standard_normal((2, 3, 6, 7)))
    spec = tf.TensorSpec([None] * 4, tf.float64)
    traced = tf.function(f, input_signature=[spec])(x)
    np.testing.assert_allclose(traced.numpy(), f(x).numpy(), rtol=1e-9)


def test_attention_of_sizes_known_at_run_time(rng: np.random.Generator) -> None:
    def f(q: Any, k: Any, v: Any, past_k: Any, past_v: Any) -> Any:
        inputs = (q, k, v, past_k, past_v)
        attrs = {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1, "softcap": 2.0}
        _, found = _gradients(
            lambda q, k, v, a, b: raw.Attention(q, k, v, None, a, b, **attrs, n_outputs=3)[0] ** 2,
            *inputs,
        )
        return found

    inputs = [
        tf.constant(rng.standard_normal(s))
        for s in ((2, 3, 20), (2, 3, 10), (2, 3, 6), (2, 2, 4, 5), (2, 2, 4, 3))
    ]
    specs = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in inputs]
    traced = tf.function(f, input_signature=specs)(*inputs)
    for a, b in zip(traced, f(*inputs), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "attrs", [{"left_window_size": 1}, {"is_causal": 1, "left_window_size": 0}]
)
def test_windows_of_attention_are_part_of_the_rule(
    attrs: dict[str, int], rng: np.random.Generator
) -> None:
    """ONNX Runtime 1.31 does not run them, so the rule is called alone."""
    from tfx.framework.rules import OpRecord, rule_of

    q, k, v, dy = (tf.constant(rng.standard_normal((1, 1, 4, 3))) for _ in range(4))
    op = OpRecord("Attention", attrs, (q, k, v), (dy,))
    op.needs = (True,) * 3
    found = rule_of("Attention")(op, dy)
    i, j = np.arange(4)[:, None], np.arange(4)
    allowed = (i - j <= attrs["left_window_size"]) & ((j <= i) | ("is_causal" not in attrs))
    _, wanted = _gradients(lambda *xs: raw.Attention(*xs, tf.constant(allowed)) * dy, q, k, v)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter_sends_gradients_apart(mode: str, rng: np.random.Generator) -> None:
    cache, update = rng.standard_normal((2, 1, 5, 2)), rng.standard_normal((2, 1, 2, 2))
    starts = tf.constant([1, 3 if mode == "linear" else 4], tf.int64)
    check_grads(
        lambda c, u: raw.TensorScatter(c, u, starts, mode=mode) ** 2, (cache, update), order=2
    )


def test_mean_of_broadcast_inputs(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 3)), rng.standard_normal(3)
    # The float64 kernel is a float32 one.
    check_grads(lambda a, b: raw.Mean(a, b, a) ** 2, (x, y), order=1, eps=1e-2, rtol=1e-4)


def test_cast_like_passes_gradients_in_the_input_dtype() -> None:
    x = tf.constant([1.0, 2.0])
    _, (dx,) = _gradients(lambda x: raw.CastLike(x, tf.constant(0.0, tf.float64)) ** 2, x)
    assert dx.dtype == tf.float32
    np.testing.assert_allclose(dx.numpy(), [2.0, 4.0])


@pytest.mark.parametrize(
    ("f", "numbers"),
    [
        (lambda x, n: raw.Slice(x, n[:2], n[2:4], n[4:6]), [1, 0, 3, 2, 0, -1]),
        (lambda x, n: raw.Slice(x, n[:2], n[2:4], n[4:6], n[6:]), [2, 3, -9, 0, 0, 1, -1, -2]),
        (lambda x, n: raw.Pad(x, n[:4], None, n[4:], mode="reflect"), [1, 2, 0, 1, 1, 0]),
        (lambda x, n: raw.Pad(x, n[:4], None, n[4:]), [1, 2, 0, 1, 1, 0]),
    ],
    ids=["slice", "slice_with_steps", "reflect", "pad"],
)
def test_axes_known_at_run_time(f: Any, numbers: list[int], rng: np.random.Generator) -> None:
    x, n = tf.constant(rng.standard_normal((3, 4))), tf.constant(numbers, tf.int64)

    def slope(x: Any, n: Any) -> Any:
        _, (dx,) = _gradients(lambda x: f(x, n) ** 3, x)
        return dx

    specs = [tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([len(numbers)], tf.int64)]
    traced = tf.function(slope, input_signature=specs)(x, n)
    np.testing.assert_allclose(traced.numpy(), slope(x, n).numpy())


# Tensors that do not fit each other, which the kernels take because one of them is empty.
UNFIT: dict[str, tuple[dict[str, Any], list[list[int]]]] = {
    "ConvTranspose": ({}, [[0, 1, 3], [0, 2, 3]]),
    "RotaryEmbedding": ({}, [[0, 4, 3, 8], [2, 3, 4], [2, 3, 4]]),
}


@pytest.mark.parametrize("name", sorted(UNFIT))
def test_gradients_have_the_shape_of_inputs_that_do_not_fit(name: str) -> None:
    attrs, shapes = UNFIT[name]
    xs = [tf.ones(s) for s in shapes]

    def run(*inputs: Any) -> Any:
        return apply(name, inputs, attrs)

    for f in (run, tf.function(run)):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        for gradient, x in zip(tape.gradient(y, xs), xs, strict=True):
            np.testing.assert_array_equal(gradient, np.zeros(x.shape))
