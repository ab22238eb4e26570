"""Derivatives are finite and right where the true derivative is: at edges, zeros and extremes.

Expected numbers are written down from the formula, not computed by the code under test.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import tfx as tf
from tfx.testing import assert_close

INF, NAN = math.inf, math.nan


def derivatives(function, *arrays, dtype="float64"):
    """The gradient of the sum of the results, and the gradients of its parts, by each argument."""
    xs = [tf.constant(a, dtype) for a in arrays]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with tf.GradientTape() as inner:
            inner.watch(xs)
            y = function(*xs)
        first = inner.gradient(y, xs)
    second = [outer.gradient(g, xs, unconnected_gradients="zero") for g in first]
    return [g.numpy() for g in first], [[h.numpy() for h in row] for row in second]


def hessian(function, values):
    """Second derivatives of a function of a vector, row by row."""
    x = tf.constant(values, "float64")
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        parts = tf.unstack(inner.gradient(y, x))
    return np.stack([outer.gradient(p, x, unconnected_gradients="zero").numpy() for p in parts])


# where


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        (tf.sqrt, 4.0, 0.25),
        (tf.math.log, 4.0, 0.25),
        (tf.math.rsqrt, 4.0, -0.0625),
        (lambda x: 1.0 / x, 4.0, -0.0625),
        (lambda x: x / x, 4.0, 0.0),
        (lambda x: x * tf.math.log(x), 1.0, 1.0),
        (lambda x: x**0.5, 4.0, 0.25),
        (lambda x: tf.pow(x, x), 1.0, 1.0),
        (lambda x: tf.exp(-1e6 * x), 1.0, 0.0),
        (lambda x: tf.acosh(x + 1.0), 1.0, 1 / math.sqrt(3.0)),
        (lambda x: tf.asin(x - 1.0), 1.0, 1.0),
        (lambda x: tf.norm(tf.stack([x, x]), axis=0), 1.0, math.sqrt(2.0)),
    ],
    ids=["sqrt", "log", "rsqrt", "reciprocal", "quotient", "entropy", "root", "power", "exp",
         "acosh", "asin", "norm"],
)  # fmt: skip
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "traced"])
def test_a_branch_that_is_not_taken_has_no_gradient(function, at, slope, staged):
    def chosen(x):
        return tf.where(x > 0.0, function(x), 0.0)

    call = tf.function(chosen) if staged else chosen
    first, second = derivatives(call, [0.0, -1.0, -3.0, at])
    assert_close(first[0], [0.0, 0.0, 0.0, slope])
    assert np.isfinite(second[0][0]).all()


def test_limits_of_unary_functions_stop_gradients():
    first, _ = derivatives(lambda x: tf.clip_by_value(tf.math.log(x), -5.0, 5.0), [0.0, 1.0, INF])
    assert_close(first[0], [0.0, 1.0, 0.0])
    first, _ = derivatives(lambda x: tf.maximum(tf.math.log(x), -5.0), [0.0, 2.0])
    assert_close(first[0], [0.0, 0.5])


def test_the_gradient_of_what_is_chosen_is_as_it_is():
    first, _ = derivatives(lambda x: tf.where(x >= 0.0, tf.sqrt(x), 0.0), [0.0, 1.0])
    assert_close(first[0], [INF, 0.5])


def test_sinc_is_right_at_zero_with_its_second_derivative():
    def sinc(x):
        return tf.where(x == 0.0, 1.0, tf.sin(x) / x)

    first, second = derivatives(sinc, [0.0, 1.0])
    assert_close(first[0], [0.0, math.cos(1.0) - math.sin(1.0)])
    assert_close(second[0][0], [0.0, math.sin(1.0) - 2 * math.cos(1.0)])


def test_mixed_derivatives_behind_a_choice_are_right_where_the_gradient_is_zero():
    x, w = tf.constant([2.0, 4.0]), tf.constant([0.0, 0.0])
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = w * tf.where(x > 0.0, tf.math.log(x), 0.0)
        slope = inner.gradient(y, x)
    assert_close(outer.gradient(slope, w), [0.5, 0.25])


# Products


VECTORS = [
    [2.0, 3.0, -4.0],
    [0.0, 3.0, -4.0],
    [0.0, 3.0, 0.0],
    [0.0, 0.0, 0.0, 5.0],
    [1.0, 0.0],
]


def products_without(values, *left_out):
    return math.prod(v for i, v in enumerate(values) if i not in left_out)


@pytest.mark.parametrize("values", VECTORS, ids=["plain", "one", "two", "three", "pair"])
def test_a_product_has_two_derivatives_at_zeros(values):
    count = range(len(values))
    first, _ = derivatives(tf.reduce_prod, values)
    assert_close(first[0], [products_without(values, i) for i in count])
    expected = [[0.0 if i == j else products_without(values, i, j) for j in count] for i in count]
    assert_close(hessian(tf.reduce_prod, values), expected)


@pytest.mark.parametrize("values", VECTORS, ids=["plain", "one", "two", "three", "pair"])
def test_a_product_has_a_third_derivative_at_zeros(values):
    x, count = tf.constant(values, tf.float64), len(values)
    directions = [tf.constant(np.linspace(1.0, 2.0, count) ** k) for k in range(3)]
    y = None
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = tf.reduce_prod(x)
            y = tf.reduce_sum(first.gradient(y, x) * directions[0])
        y = tf.reduce_sum(second.gradient(y, x) * directions[1])
    expected = [
        sum(
            directions[0][i] * directions[1][j] * products_without(values, i, j, k)
            for i, j in itertools.permutations(set(range(count)) - {k}, 2)
        )
        for k in range(count)
    ]
    found = third.gradient(y, x, unconnected_gradients="zero")
    assert_close(found, np.array(expected, np.float64))


@pytest.mark.parametrize("values", VECTORS, ids=["plain", "one", "two", "three", "pair"])
@pytest.mark.parametrize(("exclusive", "reverse"), list(itertools.product([False, True], repeat=2)),
                         ids=["plain", "reverse", "exclusive", "both"])  # fmt: skip
def test_a_running_product_has_two_derivatives_at_zeros(values, exclusive, reverse):
    count = len(values)
    weights = np.linspace(1.0, 2.0, count)

    def weighted(x):
        return tf.reduce_sum(weights * tf.math.cumprod(x, 0, exclusive, reverse))

    def parts(k):
        members = range(k, count) if reverse else range(k + 1)
        return [m for m in members if not (exclusive and m == k)]

    slope, bend = np.zeros(count), np.zeros((count, count))
    for k in range(count):
        chosen = parts(k)
        for i in chosen:
            slope[i] += weights[k] * math.prod(values[m] for m in chosen if m != i)
            for j in chosen:
                if j != i:
                    rest = math.prod(values[m] for m in chosen if m not in (i, j))
                    bend[i, j] += weights[k] * rest
    first, _ = derivatives(weighted, values)
    assert_close(first[0], slope)
    assert_close(hessian(weighted, values), bend)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("values", VECTORS, ids=["plain", "one", "two", "three", "pair"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forth", "back"])
def test_a_running_product_has_a_third_derivative_at_zeros(values, reverse, axis):
    count = len(values)
    x, weights = tf.constant(values, tf.float64), np.linspace(1.0, 2.0, count)
    directions = [np.linspace(1.0, 2.0, count) ** k for k in range(2)]
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = tf.reduce_sum(weights * tf.math.cumprod(x, axis, reverse=reverse))
            y = tf.reduce_sum(directions[0] * first.gradient(y, x))
        y = tf.reduce_sum(directions[1] * second.gradient(y, x))
    expected = np.zeros(count)
    for n in range(count):
        chosen = range(n, count) if reverse else range(n + 1)
        for i, j, k in itertools.permutations(chosen, 3):
            rest = math.prod(values[m] for m in chosen if m not in (i, j, k))
            expected[k] += weights[n] * directions[0][i] * directions[1][j] * rest
    assert_close(third.gradient(y, x, unconnected_gradients="zero"), expected)


# Powers and quotients


def test_powers_with_fixed_exponents_at_zero_and_of_negative_numbers():
    for exponent, first_at, second_at in [
        (0.0, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        (1.0, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
        (2.0, [0.0, -4.0, 6.0], [2.0, 2.0, 2.0]),
        (3.0, [0.0, 12.0, 27.0], [0.0, -12.0, 18.0]),
        (4.0, [0.0, -32.0, 108.0], [0.0, 48.0, 108.0]),
        (1.5, [0.0, NAN, 1.5 * math.sqrt(3.0)], [INF, NAN, 0.75 / math.sqrt(3.0)]),
    ]:
        first, second = derivatives(lambda x, e=exponent: x**e, [0.0, -2.0, 3.0])
        assert_close(first[0], first_at)
        assert_close(second[0][0], second_at)
        traced = tf.function(lambda x, e=exponent: x**e)
        assert_close(derivatives(traced, [0.0, -2.0, 3.0])[0][0], first_at)


def test_powers_by_their_exponent():
    first, second = derivatives(tf.pow, [2.0, -1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0])
    assert_close(first[0], [0.0, -0.0, 0.0, 12.0])
    assert_close(first[1], [math.log(2.0), 0.0, 0.0, 8 * math.log(2.0)])
    # d2 / dx dy = x ** (y - 1) (1 + y log x)
    assert_close(second[0][1][[0, 3]], [0.5, 4 * (1 + 3 * math.log(2.0))])
    assert_close(second[1][0][[0, 3]], [0.5, 4 * (1 + 3 * math.log(2.0))])


def test_roots_at_zero_are_infinitely_steep():
    assert_close(derivatives(tf.sqrt, [0.0, 4.0])[0][0], [INF, 0.25])
    assert_close(derivatives(lambda x: x**0.5, [0.0, 4.0])[0][0], [INF, 0.25])
    assert_close(derivatives(tf.math.rsqrt, [0.0, 4.0])[0][0], [-INF, -0.0625])


def test_quotients_and_products_without_nan():
    first, second = derivatives(tf.math.divide_no_nan, [3.0, 3.0], [0.0, 2.0])
    assert_close(first, [[0.0, 0.5], [0.0, -0.75]])
    assert_close(second[1][1], [0.0, 0.75])
    first, _ = derivatives(tf.math.multiply_no_nan, [INF, 3.0], [0.0, 2.0])
    assert_close(first[0], [0.0, 2.0])
    first, second = derivatives(tf.math.xlogy, [0.0, 0.0, 2.0], [0.0, 3.0, 4.0])
    assert_close(first[1], [0.0, 0.0, 0.5])
    assert np.isfinite(first[0][1:]).all()
    first, _ = derivatives(tf.math.xdivy, [0.0, 2.0], [0.0, 4.0])
    assert_close(first[1], [0.0, -0.125])


# Exponentials and logarithms


def test_a_log_sum_exp_is_a_mean_of_gradients_however_large():
    for values in ([1e20, 1e20, 1.0], [3e7, 3e7, -3e7]):
        first, _ = derivatives(tf.reduce_logsumexp, values, dtype="float32")
        assert_close(first[0], [0.5, 0.5, 0.0])
    first, _ = derivatives(tf.reduce_logsumexp, [-INF, 0.0, 0.0])
    assert_close(first[0], [0.0, 0.5, 0.5])
    first, _ = derivatives(tf.reduce_logsumexp, [-INF, -INF])
    assert_close(first[0], [0.0, 0.0])
    many = np.full(1000, 2e4)
    first, _ = derivatives(tf.reduce_logsumexp, many, dtype="float32")
    assert_close(first[0], np.full(1000, 1e-3), rtol=1e-5)


def test_the_hessian_of_a_log_sum_exp():
    p = np.exp([0.3, -0.2, 1.0]) / np.exp([0.3, -0.2, 1.0]).sum()
    expected = np.diag(p) - np.outer(p, p)
    assert_close(hessian(tf.reduce_logsumexp, [0.3, -0.2, 1.0]), expected)
    assert_close(hessian(tf.reduce_logsumexp, [1000.3, 999.8, 1001.0]), expected, rtol=1e-9)


def test_softmax_with_masked_and_large_logits():
    def entropy(x):
        return tf.reduce_sum(tf.nn.softmax(x) * [1.0, 2.0, 3.0])

    for values in ([0.0, 0.0, -INF], [1e30, 1e30, -1e30]):
        first, second = derivatives(entropy, values)
        assert_close(first[0], [-0.25, 0.25, 0.0])
        assert np.isfinite(second[0][0]).all()
    first, _ = derivatives(lambda x: tf.nn.log_softmax(x)[0], [0.0, 0.0, -INF])
    assert_close(first[0], [0.5, -0.5, 0.0])


def test_tails_of_the_logistic_family():
    x = [-800.0, -40.0, 0.0, 40.0, 800.0]
    tiny = math.exp(-40.0)
    first, second = derivatives(tf.math.softplus, x)
    assert_close(first[0], [0.0, tiny, 0.5, 1.0, 1.0], rtol=1e-12, atol=1e-17)
    # The slope of the sigmoid comes from its result, which is 1 for 40.
    assert_close(second[0][0], [0.0, tiny, 0.25, 0.0, 0.0], rtol=1e-12, atol=0.0)
    first, _ = derivatives(tf.math.log_sigmoid, x)
    assert_close(first[0], [1.0, 1.0, 0.5, tiny, 0.0], rtol=1e-12, atol=1e-17)
    for labels in (0.0, 0.3, 1.0):
        first, second = derivatives(
            lambda x, z=labels: tf.nn.sigmoid_cross_entropy_with_logits(z * tf.ones_like(x), x), x
        )
        assert_close(first[0], 1 / (1 + np.exp(-np.clip(x, -700, 700))) - labels, atol=1e-15)
        assert_close(second[0][0][1:4], [tiny, 0.25, tiny], rtol=1e-12, atol=0.0)


def test_weighted_cross_entropy_at_zero_and_infinity():
    def loss(x):
        ones = tf.ones_like(x)
        return tf.nn.weighted_cross_entropy_with_logits(ones * 0.0, x, 2.0)

    assert_close(derivatives(loss, [0.0, -800.0])[0][0], [0.5, 0.0])
    assert_close(loss(tf.constant([INF])), [INF])


def test_small_arguments_keep_their_digits():
    for function, second_at_zero in ((tf.math.log1p, -1.0), (tf.math.expm1, 1.0)):
        first, second = derivatives(function, [0.0, 1e-12])
        assert_close(first[0], [1.0, 1.0], rtol=1e-11)
        assert_close(second[0][0], [second_at_zero] * 2, rtol=1e-11)


# Norms and statistics


def test_norms_at_zero_and_of_large_vectors():
    for function in (tf.norm, tf.math.reduce_euclidean_norm):
        first, _ = derivatives(function, [0.0, 0.0])
        assert_close(first[0], [0.0, 0.0])
        first, _ = derivatives(function, [3.0, -4.0])
        assert_close(first[0], [0.6, -0.8])
    expected = (np.eye(2) - np.outer([0.6, -0.8], [0.6, -0.8])) / 5.0
    assert_close(hessian(tf.norm, [3.0, -4.0]), expected)


def test_normalized_vectors_at_zero():
    first, second = derivatives(lambda x: tf.math.l2_normalize(x, 0), [0.0, 0.0])
    assert np.isfinite(first[0]).all()
    assert np.isfinite(second[0][0]).all()


def test_the_variance_of_large_numbers_and_its_derivatives():
    base = np.array([1.0, 2.0, 4.0, 9.0])
    for shift in (0.0, 1e6):
        for function in (tf.math.reduce_variance, lambda x: tf.nn.moments(x, [0])[1]):
            first, _ = derivatives(function, base + shift)
            assert_close(first[0], 2 / 4 * (base - base.mean()), rtol=1e-8)
            expected = 2 / 4 * (np.eye(4) - 1 / 4)
            assert_close(hessian(function, base + shift), expected, atol=1e-12)


def test_the_variance_takes_any_kind_of_axis():
    x = np.arange(24.0).reshape(2, 3, 4) ** 1.5
    for axis in (None, 1, -1, (0, 2), [1]):
        where = tuple(axis) if isinstance(axis, list) else axis
        for keep in (False, True):
            got = tf.math.reduce_variance(x, axis, keep)
            assert_close(got, x.var(where, keepdims=keep))
    traced = tf.function(lambda x, axis: tf.math.reduce_variance(x, axis))
    assert_close(traced(tf.constant(x), tf.constant([0, 2])), x.var((0, 2)))


def test_batch_normalization_of_constant_batches():
    def normalized(x):
        mean, variance = tf.nn.moments(x, [0], keepdims=True)
        y = tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)
        return tf.reduce_sum(y * [[1.0], [2.0], [4.0]])

    first, second = derivatives(normalized, [[5.0], [5.0], [5.0]])
    centered = np.array([[1.0], [2.0], [4.0]]) - 7 / 3
    assert_close(first[0], centered / math.sqrt(1e-3))
    assert np.isfinite(second[0][0]).all()


# Relu


def test_the_gradient_of_relu_depends_on_its_argument():
    x = tf.constant([-1.0, 0.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.nn.relu(x)
        slope = inner.gradient(y, x)
    assert_close(slope, [0.0, 0.0, 1.0])
    assert_close(outer.gradient(slope, x), [0.0, 0.0, 0.0])


def test_infinity_behind_the_flat_part_of_relu_is_what_tensorflow_has():
    first, _ = derivatives(lambda x: tf.sqrt(tf.nn.relu(x)), [-1.0, 4.0])
    assert_close(first[0], [np.nan, 0.25])
