"""Softmax behind masks, and its gradient, by our kernels: as NumPy has them in float64."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.runtime.values import from_numpy, to_numpy

pytestmark = needs_library

KERNELS = ("MaskedSoftmax", "SoftmaxGradient")
FAR = -1e9


def operators(function, *args):
    """What a run is made of."""
    with tf.profile() as p:
        function(*args)
    return [node.op for node in p.nodes]


def kernels_of(function, *args):
    """How many of either operator a run has."""
    found = operators(function, *args)
    return [found.count(op) for op in KERNELS]


def wide_softmax(x):
    """Of float64, with NaN where it has no value."""
    wide = np.asarray(x, np.float64)
    with np.errstate(invalid="ignore"):
        raised = np.exp(wide - wide.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)


def counted(x, mask):
    return tf.where(mask, x, FAR)


def left_out(x, mask):
    return tf.where(mask, FAR, x)


def added(x, mask):
    return x + (1.0 - tf.cast(mask, tf.float32)) * FAR


# What a mask does, and the same in NumPy.
MASKS = {
    "counted": (counted, lambda x, mask: np.where(mask, x, np.float32(FAR))),
    "left out": (left_out, lambda x, mask: np.where(mask, np.float32(FAR), x)),
    "added": (added, lambda x, mask: x + np.where(mask, 0, np.float32(FAR)).astype(np.float32)),
}
# Sizes of scores and masks.
SIZES = {
    "of one size": ((4, 6, 20, 33), (4, 6, 20, 33)),
    "for sequences": ((4, 6, 20, 64), (4, 1, 1, 64)),
    "of fewer axes": ((4, 6, 20, 32), (20, 32)),
    "a vector": ((4, 6, 20, 32), (32,)),
    "for whole rows": ((4, 6, 20, 32), (20, 1)),
    "between": ((4, 6, 20, 17), (1, 6, 1, 17)),
    "of one number": ((4, 6, 20, 17), (1, 1)),
    "one row": ((1, 2048), (1, 2048)),
    "longer rows": ((3, 6000), (3, 6000)),
}


def some_mask(shape, rng):
    return rng.random(shape) > 0.4


def unknown(*arrays):
    """Specs of arrays, with nothing known but the axes of one element, which broadcast."""
    return [tf.TensorSpec([1 if d == 1 else None for d in x.shape], x.dtype) for x in arrays]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", MASKS)
def test_masks_of_all_kinds(kind, sizes, known, rng):
    write, expected = MASKS[kind]
    shape, narrow = SIZES[sizes]
    x, mask = (3 * rng.normal(size=shape)).astype(np.float32), some_mask(narrow, rng)

    def soft(x, mask):
        return tf.nn.softmax(write(x, mask))

    signature = None if known else unknown(x, mask)
    together = tf.function(soft, signature)
    plain = tf.function(soft, signature, jit_compile=False)
    found = together(x, mask)
    want = wide_softmax(expected(x, mask))
    np.testing.assert_allclose(found, want, rtol=2e-6, atol=1e-44)
    np.testing.assert_allclose(found, plain(x, mask), rtol=4e-6, atol=1e-37)
    assert kernels_of(together, x, mask) == [1, 0]
    assert "Where" not in operators(together, x, mask)
    assert kernels_of(plain, x, mask) == [0, 0]


@pytest.mark.parametrize("narrow", [(32, 32), (32, 1), (1,), ()])
def test_scores_that_masks_broadcast(narrow, rng):
    x, mask = rng.normal(size=narrow).astype(np.float32), some_mask((3, 2, 32, 32), rng)

    @tf.function
    def soft(x, mask):
        return tf.nn.softmax(counted(x, mask))

    want = wide_softmax(np.where(mask, x, FAR))
    np.testing.assert_allclose(soft(x, mask), want, rtol=2e-6, atol=1e-44)
    assert kernels_of(soft, x, mask) == [1, 0]


@pytest.mark.parametrize("axes", [1, 3])
def test_a_number_of_more_axes_than_scores_and_mask(axes, rng):
    """The result has these axes, too."""
    x, mask = rng.normal(size=(40, 40)).astype(np.float32), some_mask((40, 40), rng)
    far = np.full([1] * axes, FAR, np.float32)
    for write in (lambda x, m: tf.where(m, x, far), lambda x, m: tf.where(m, far, x)):
        together = tf.function(lambda x, m, write=write: tf.nn.softmax(write(x, m)))
        plain = tf.function(together.python_function, jit_compile=False)
        found, want = together(x, mask), plain(x, mask)
        assert found.shape == want.shape == [1] * (axes - 2) + [40, 40]
        np.testing.assert_allclose(found, want, rtol=4e-6, atol=1e-37)


SPECIAL = {
    "wholly masked": lambda x: np.full_like(x, FAR),
    "nothing counts": lambda x: np.full_like(x, -np.inf),
    "one counts": lambda x: np.where(np.arange(x.size) == 5, x, -np.inf),
    "not a number first": lambda x: np.where(np.arange(x.size) == 0, np.nan, x),
    "not a number last": lambda x: np.where(np.arange(x.size) == x.size - 1, np.nan, x),
    "only such": lambda x: np.full_like(x, np.nan),
    "infinite": lambda x: np.where(np.arange(x.size) == 9, np.inf, x),
    "far apart": lambda x: np.where(np.arange(x.size) % 2, 3e38, -3e38),
    "below the normal ones": lambda x: -np.linspace(80, 110, x.size) * (np.arange(x.size) > 0),
}


@pytest.mark.parametrize("size", [17, 64, 5000])
@pytest.mark.parametrize("kind", SPECIAL)
def test_special_values(kind, size, rng):
    """A row that is NaN makes no other one so."""
    x = rng.normal(size=(3, 40, size)).astype(np.float32)
    x[1, 7] = SPECIAL[kind](x[1, 7])
    nothing = np.zeros_like(x)

    @tf.function
    def soft(x, mask):
        return tf.nn.softmax(x + mask)

    with np.errstate(invalid="ignore", over="ignore"):
        want = wide_softmax(x)
        apart = (x - x.max(-1, keepdims=True)).astype(np.float32)
    want = np.where(np.isnan(want), want, wide_softmax(np.where(np.isnan(want), 0, apart)))
    np.testing.assert_allclose(soft(x, nothing), want, rtol=2e-6, atol=4e-45)
    assert kernels_of(soft, x, nothing) == [1, 0]


def test_a_mask_of_infinity(rng):
    x, mask = rng.normal(size=(40, 40)).astype(np.float32), some_mask((40, 40), rng)
    mask[3] = False

    @tf.function
    def soft(x, mask):
        return tf.nn.softmax(tf.where(mask, x, -np.inf))

    found = soft(x, mask).numpy()
    assert np.isnan(found[3]).all() and not np.isnan(np.delete(found, 3, 0)).any()
    np.testing.assert_array_equal(np.delete(found, 3, 0)[~np.delete(mask, 3, 0)], 0.0)
    assert kernels_of(soft, x, mask) == [1, 0]


def slopes_of(write, divisor):
    """A softmax of scores that were divided, and the gradient by them of a weighted sum of it."""

    def slopes(x, mask, weights):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.softmax(write(x / divisor, mask))
            total = tf.reduce_sum(y * weights)
        return y, tape.gradient(total, x)

    return slopes


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("sizes", ["of one size", "for sequences", "of fewer axes", "longer rows"])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("divisor", [1.0, 0.25])
def test_gradients(kind, sizes, known, divisor, rng):
    write, expected = MASKS[kind]
    shape, narrow = SIZES[sizes]
    if sizes != "longer rows":
        shape, narrow = (3 * shape[0], *shape[1:]), tuple(3 * d if d == 4 else d for d in narrow)
    x, weights = rng.normal(size=(2, *shape)).astype(np.float32)
    mask = some_mask(narrow, rng)
    signature = None if known else unknown(x, mask, weights)
    together = tf.function(slopes_of(write, divisor), signature)
    plain = tf.function(slopes_of(write, divisor), signature, jit_compile=False)
    y, found = together(x, mask, weights)
    wide = wide_softmax(expected(x / np.float32(divisor), mask))
    want = wide * (weights - (wide * weights).sum(-1, keepdims=True)) / divisor
    np.testing.assert_allclose(y, wide, rtol=3e-6, atol=1e-44)
    scale = np.abs(want).max()
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6 * scale)
    np.testing.assert_allclose(found, plain(x, mask, weights)[1], rtol=1e-5, atol=1e-6 * scale)
    assert kernels_of(together, x, mask, weights) == [1, 1]
    assert kernels_of(plain, x, mask, weights) == [0, 0]


@pytest.mark.parametrize("number", [2.0, -0.125, np.full((1, 1, 1), 3.0, np.float32)])
@pytest.mark.parametrize("by", ["times", "over"])
def test_gradients_of_several_steps(by, number, rng):
    """Written out: a mask, and a number of any axes, behind what no softmax needs to have made."""

    def slopes(y, dy, mask):
        slope = (dy - tf.reduce_sum(dy * y, -1, keepdims=True)) * y
        cut = tf.where(mask, 0.0, slope)
        return cut * number if by == "times" else cut / number

    y, dy = rng.normal(size=(2, 64, 512)).astype(np.float32)
    mask = some_mask((64, 1), rng)
    together = tf.function(slopes)
    wide = y.astype(np.float64) * (dy - (y.astype(np.float64) * dy).sum(-1, keepdims=True))
    want = np.where(mask, 0, wide) * (number if by == "times" else 1 / np.float64(number))
    found = together(y, dy, mask)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
    # A number of more axes gives these to the result, which the kernel does not.
    assert kernels_of(together, y, dy, mask) == [0, 1]


def test_what_only_looks_like_the_gradient(rng):
    """Of other factors, along other axes, of a mean, without the axis."""
    y, dy = rng.normal(size=(2, 128, 128)).astype(np.float32)

    @tf.function
    def slopes(y, dy):
        return [
            (dy - tf.reduce_sum(dy * dy, -1, keepdims=True)) * y,
            (dy - tf.reduce_sum(dy * y, -2, keepdims=True)) * y,
            (dy - tf.reduce_mean(dy * y, -1, keepdims=True)) * y,
            (tf.reduce_sum(dy * y, -1, keepdims=True) - dy) * y,
            (dy - tf.reduce_sum(dy * y, -1)) * y,
            (dy - tf.raw.ReduceSum(dy * y, None, keepdims=1, noop_with_empty_axes=1)) * y,
        ]

    product = dy * y
    sums = [(dy * dy).sum(-1, keepdims=True), product.sum(-2, keepdims=True)]
    sums += [product.mean(-1, keepdims=True), product.sum(-1, keepdims=True)]
    sums += [product.sum(-1), product]
    wanted = [(dy - s if i != 3 else s - dy) * y for i, s in enumerate(sums)]
    for found, want in zip(slopes(y, dy), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-3)
    assert kernels_of(slopes, y, dy) == [0, 0]


def test_sizes_that_differ_in_a_run(rng):
    """Not known to be equal, they are not taken for it: a row may be for all."""

    @tf.function(input_signature=[tf.TensorSpec([None, 64]), tf.TensorSpec([None, 64])])
    def slopes(y, dy):
        return (dy - tf.reduce_sum(dy * y, -1, keepdims=True)) * y

    for rows in ((300, 300), (1, 300), (300, 1)):
        y, dy = (rng.normal(size=(n, 64)).astype(np.float32) for n in rows)
        want = (dy - (dy * y).sum(-1, keepdims=True)) * y
        np.testing.assert_allclose(slopes(y, dy), want, rtol=1e-4, atol=1e-4)


def test_second_derivatives(rng):
    """The gradient is differentiated as the operators that it stands for."""
    x, mask = rng.normal(size=(40, 64)).astype(np.float32), some_mask((1, 64), rng)

    def total(x):
        return tf.reduce_sum(tf.nn.softmax(counted(x, mask)) ** 2)

    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = total(x)
            length = tf.reduce_sum(inner.gradient(y, x) ** 2)
        return length, outer.gradient(length, x)

    found, plain = tf.function(second)(x), tf.function(second, jit_compile=False)(x)
    for got, want in zip(found, plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-8)


def test_two_gradients_of_one_softmax(rng):
    """Neither writes over what the other has yet to read."""
    x, weights = rng.normal(size=(2, 8, 64, 64)).astype(np.float32)
    mask = some_mask((64, 64), rng)

    def both(x, weights):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.nn.softmax(counted(x, mask))
            first, second = tf.reduce_sum(y * weights), tf.reduce_sum(tf.exp(y))
        return y, tape.gradient(first, x), tape.gradient(second, x), y * weights

    together, plain = tf.function(both), tf.function(both, jit_compile=False)
    for got, want in zip(together(x, weights), plain(x, weights), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert kernels_of(together, x, weights) == [1, 2]


def test_what_stands_around_is_kept(rng):
    """Results may be written over scores, but not over what is given, returned or used later."""
    x, mask = rng.normal(size=(64, 64)).astype(np.float32), some_mask((64, 64), rng)
    weight = tf.Variable(x)

    def around(x, mask):
        raised, turned = tf.exp(x), tf.reshape(x, [32, 128])
        masked = counted(raised, mask)
        view = counted(tf.reshape(weight, [32, 128]), tf.reshape(mask, [32, 128]))
        return [
            tf.nn.softmax(masked),
            masked,
            tf.nn.softmax(counted(x, mask)),
            tf.nn.softmax(counted(turned, tf.reshape(mask, [32, 128]))),
            tf.nn.softmax(added(raised, mask)),
            tf.nn.softmax(view),
            tf.reduce_sum(raised),
        ]

    together, plain = tf.function(around), tf.function(around, jit_compile=False)
    given, other = tf.constant(x), tf.constant(mask)
    want = plain(given, other)
    for _ in range(3):
        for got, expected in zip(together(given, other), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=4e-6, atol=1e-37)
        np.testing.assert_array_equal(given, x)
        np.testing.assert_array_equal(weight, x)
    assert kernels_of(together, given, other) == [5, 0]


def test_scores_that_become_the_softmax_are_written_over(rng):
    """Which changes nothing: with themselves as the mask they are not."""
    x = rng.normal(size=(64, 64)).astype(np.float32)

    @tf.function
    def soft(x):
        a, b = tf.exp(x), tf.sin(x)
        return tf.nn.softmax(a + a), tf.nn.softmax(b + tf.reverse(b, [0]))

    twice, turned = soft(x)
    np.testing.assert_allclose(twice, wide_softmax(2 * np.exp(x)), rtol=1e-4, atol=1e-30)
    np.testing.assert_allclose(turned, wide_softmax(np.sin(x) + np.sin(x)[::-1]), rtol=1e-5)


def test_in_loops_and_branches(rng):
    x, mask = rng.normal(size=(40, 64)).astype(np.float32), some_mask((40, 64), rng)

    def steps(x, mask, count):
        outside = counted(x, mask)
        y = x
        for _ in tf.range(count):
            y += tf.nn.softmax(counted(y, mask)) + tf.nn.softmax(outside)
        return tf.cond(count > 2, lambda: tf.nn.softmax(counted(y, mask)), lambda: y)

    signature = [tf.TensorSpec([None, None]), tf.TensorSpec([None, None], tf.bool)]
    signature += [tf.TensorSpec([], tf.int32)]
    together = tf.function(steps, signature)
    plain = tf.function(steps, signature, jit_compile=False)
    for count in (0, 2, 5):
        given = x, mask, np.int32(count)
        np.testing.assert_allclose(together(*given), plain(*given), rtol=1e-4, atol=1e-6)
    assert kernels_of(together, x, mask, np.int32(5))[0] == 11


EMPTY = [
    ((0, 6, 20, 32), (1, 1, 1, 32)),
    ((2, 6, 0, 32), (2, 1, 1, 32)),
    ((2, 6, 20, 0), (2, 1, 1, 0)),
]


@pytest.mark.parametrize(("shape", "narrow"), EMPTY)
def test_nothing(shape, narrow):
    @tf.function(
        input_signature=[tf.TensorSpec([None] * 4), tf.TensorSpec([None, 1, 1, None], tf.bool)]
    )
    def soft(x, mask):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.softmax(counted(x, mask))
        return y, tape.gradient(y, x)

    for found in soft(np.zeros(shape, np.float32), np.ones(narrow, bool)):
        assert found.shape == shape


def test_others_stay_with_the_runtime(rng):
    """Without a mask, along another axis, of another type, of few numbers, of too many axes."""
    x, mask = rng.normal(size=(64, 64)).astype(np.float32), some_mask((64, 64), rng)

    @tf.function
    def others(x, mask, bias):
        many = [1] * 7 + [64, 64]
        return [
            tf.nn.softmax(x),
            tf.nn.softmax(x @ x + bias),
            tf.nn.softmax(x + 1.0),
            tf.nn.softmax(counted(x, mask), axis=0),
            tf.nn.log_softmax(counted(x, mask)),
            tf.nn.softmax(tf.where(mask, tf.cast(x, tf.float64), FAR)),
            tf.nn.softmax(counted(x[:8], mask[:8])),
            tf.nn.softmax(counted(x[:, :8], mask[:, :8])),
            tf.nn.softmax(counted(tf.reshape(x, many), tf.reshape(mask, many))),
            tf.nn.softmax(tf.where(mask, x, x - 1.0)),
        ]

    found = others(x, mask, x[0])
    np.testing.assert_allclose(found[0], wide_softmax(x), rtol=2e-6)
    np.testing.assert_allclose(found[-1], wide_softmax(np.where(mask, x, x - 1)), rtol=4e-6)
    assert kernels_of(others, x, mask, x[0]) == [0, 0]


def test_constants_are_still_computed_once(rng):
    """By sessions that have no operators of ours."""
    c = rng.normal(size=(16, 64)).astype(np.float32)
    mask = some_mask((16, 64), rng)

    @tf.function
    def shifted(x):
        weights = tf.nn.softmax(counted(tf.sin(tf.constant(c)), mask))
        return x + weights + tf.cos(tf.constant(c))

    x = np.ones((16, 64), np.float32)
    want = 1 + wide_softmax(np.where(mask, np.sin(c), FAR)) + np.cos(c)
    np.testing.assert_allclose(shifted(x), want, rtol=1e-5)
    assert not {*KERNELS, "Softmax", "Sin", "Cos", "Where"} & {*operators(shifted, x)}


def test_a_softmax_that_fails_is_repeated_by_operators(rng):
    """Such as one for which there is no memory."""
    x, mask = rng.normal(size=(64, 64)).astype(np.float32), some_mask((64, 64), rng)

    @tf.function
    def soft(x, mask):
        return tf.nn.softmax(counted(x, mask))

    assert kernels_of(soft, x, mask) == [1, 0]
    (concrete,) = soft.concrete_functions
    plan = concrete._strategy._plan
    for op in KERNELS:
        error = RuntimeError(f"Non-zero status code returned while running {op} node. Name:'x'")
        found = plan.without_programs(error, [from_numpy(x), from_numpy(mask)])
        want = wide_softmax(np.where(mask, x, FAR))
        np.testing.assert_allclose(to_numpy(found[0]), want, rtol=4e-6, atol=1e-37)


@pytest.mark.parametrize("sizes", [(2, 32, 64), (2, 3, 9000), (None, None, None)])
def test_a_loaded_bundle_has_the_same_numbers(sizes, tmp_path, rng):
    """Which has operators of the standard alone, branches for long rows among them."""
    module = tf.Module()

    @tf.function(
        input_signature=[
            tf.TensorSpec(sizes),
            tf.TensorSpec([sizes[0], 1, sizes[2]], tf.bool),
            tf.TensorSpec(sizes),
        ]
    )
    def slopes(x, mask, weights):
        y, slope = slopes_of(counted, 8.0)(x, mask, weights)
        return {"y": y, "slope": slope}

    module.slopes = slopes
    tf.saved_model.save(module, str(tmp_path / "bundle"), signatures={"slopes": slopes})
    model = onnx.load(str(tmp_path / "bundle" / "slopes.onnx"))
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx"} and not model.functions
    loaded = tf.saved_model.load(str(tmp_path / "bundle")).signatures["slopes"]
    for shape in [sizes] if sizes[0] else [(2, 32, 64), (1, 2, 9001), (3, 400, 20)]:
        x, weights = rng.normal(size=(2, *shape)).astype(np.float32)
        mask = some_mask((shape[0], 1, shape[2]), rng)
        given = {"x": tf.constant(x), "mask": tf.constant(mask), "weights": tf.constant(weights)}
        first, again = slopes(**given), loaded(**given)
        np.testing.assert_array_equal(again["y"], first["y"])
        scale = np.abs(first["slope"]).max()
        np.testing.assert_allclose(again["slope"], first["slope"], rtol=1e-5, atol=1e-6 * scale)
        wide = wide_softmax(np.where(mask, x / 8, FAR))
        np.testing.assert_allclose(first["y"], wide, rtol=3e-6, atol=1e-37)
    if sizes[0] is None:
        assert kernels_of(slopes, x, mask, weights) == [1, 1]
        with tf.profile() as p:
            loaded(**given)
        assert "MaskedSoftmax" in [node.op for node in p.nodes]
