"""Gamma, Poisson and binomial numbers against SciPy's distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import tfx as tf

COUNT = 20_000
SEED = [3, 4]


def fits(counts: np.ndarray[Any, Any], law: Any) -> bool:
    """Whether counts can be of a law: Pearson's test over its likely values."""
    values = np.arange(law.ppf(1e-3), law.ppf(1 - 1e-3) + 1)
    observed = np.array([(counts == v).sum() for v in values])
    expected = law.pmf(values) * counts.size
    observed = np.append(observed, counts.size - observed.sum())
    expected = np.append(expected, counts.size - expected.sum())
    enough = expected > 5
    statistic = ((observed - expected) ** 2)[enough] / expected[enough]
    return bool(scipy.stats.chi2(enough.sum() - 1).sf(statistic.sum()) > 1e-3)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0, 500.0])
def test_gamma(alpha: float) -> None:
    x = tf.random.stateless_gamma([COUNT], SEED, alpha, beta=2.0, dtype=tf.float64).numpy()
    assert scipy.stats.kstest(x, scipy.stats.gamma(alpha, scale=0.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.1, 3.0, 9.9, 10.0, 40.0, 3000.0])
def test_poisson(rate: float) -> None:
    x = tf.random.stateless_poisson([COUNT], SEED, tf.constant(rate, tf.float64)).numpy()
    assert fits(x, scipy.stats.poisson(rate))


TRIALS = [(10, 0.3), (10, 0.9), (20, 0.5), (1000, 0.3), (1000, 0.999), (10**6, 1e-6)]


@pytest.mark.parametrize(("counts", "probs"), TRIALS)
def test_binomial(counts: int, probs: float) -> None:
    given = tf.constant(counts, tf.float64), tf.constant(probs, tf.float64)
    x = tf.random.stateless_binomial([COUNT], SEED, *given).numpy()
    assert x.dtype == np.int32
    assert fits(x, scipy.stats.binom(counts, probs))


def test_the_edges() -> None:
    # As in TensorFlow.
    assert tf.random.gamma([2], 0.0).numpy().tolist() == [np.finfo(np.float32).tiny] * 2
    assert np.isnan(tf.random.gamma([2], [-1.0, np.nan]).numpy()).all()
    assert tf.random.poisson([2], [0.0, -1.0]).numpy().tolist() == [[0.0, 0.0]] * 2
    assert tf.random.stateless_binomial([2], SEED, 10.0, [0.0, 1.5]).numpy().tolist() == [0, 10]
    assert tf.random.stateless_binomial([1], SEED, -1.0, 0.5).numpy().tolist() == [0]


def test_shapes_and_dtypes() -> None:
    assert tf.random.gamma([2], [[1.0], [2.0]], beta=[1.0, 2.0, 3.0]).shape == [2, 2, 3]
    assert tf.random.poisson([4], 1, dtype=tf.int64).shape == [4]
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        assert tf.random.gamma([2], [1.0], dtype=dtype).dtype is dtype
        assert tf.random.poisson([2], [1.0], dtype=dtype).dtype is dtype
    assert tf.random.Generator.from_seed(1).binomial([4, 2], 9.0, [0.1, 0.5]).shape == [4, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must end with broadcasted shape"):
        tf.random.stateless_gamma([4], SEED, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"invalid value int32 in random.gamma"):
        tf.random.gamma([1], 1, dtype=tf.int32)


def test_graphs_draw_anew_and_the_same_after_set_seed() -> None:
    def draw() -> Any:
        gamma = tf.random.gamma([3], [0.5, 2.0])
        return gamma, tf.random.poisson([3], [1.0, 20.0]), tf.random.poisson([3], 5.0, seed=7)

    f = tf.function(draw)
    runs = []
    for g in (f, f, tf.function(draw)):
        tf.random.set_seed(5)
        runs.append([x.numpy() for _ in range(2) for x in g()])
    for a, b, c in zip(*runs, strict=True):
        assert (a == b).all()
        assert (a == c).all()
    tf.random.set_seed(5)
    assert (runs[0][2] == tf.random.poisson([3], 5.0, seed=7).numpy()).all()
    assert (runs[0][0] != runs[0][3]).any()
    seeded = tf.function(lambda seed: tf.random.stateless_gamma([3], seed, 2.0))
    a, b = (seeded(tf.constant([1, i])).numpy() for i in (1, 2))
    assert (a == tf.random.stateless_gamma([3], [1, 1], 2.0).numpy()).all()
    assert (a != b).any()


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "graph"])
def test_gradients_flow_to_both_parameters(wrap: Any) -> None:
    f = wrap(lambda a, b: tf.random.stateless_gamma([4, 3], SEED, a, b, dtype=tf.float64))
    alpha = tf.constant([0.2, 3.0, 2e5], tf.float64)
    beta = tf.constant([2.0, 0.5, 1.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([alpha, beta])
        x = f(alpha, beta)
    by_alpha, by_beta = tape.gradient(x, [alpha, beta])
    np.testing.assert_allclose(by_beta, -np.sum(x, 0) / beta, rtol=1e-6)
    # The number with the same share of the distribution below it.
    a, step = alpha.numpy(), alpha.numpy() * 1e-5
    share = scipy.stats.gamma.cdf(x * beta, a)
    ends = [scipy.stats.gamma.ppf(share, a + s) / beta for s in (step, -step)]
    np.testing.assert_allclose(by_alpha, np.sum((ends[0] - ends[1]) / (2 * step), 0), rtol=1e-5)


def test_the_gradient_by_the_shape_parameter_has_no_further_one():
    alpha = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(alpha)
        with tf.GradientTape() as inner:
            inner.watch(alpha)
            x = tf.random.stateless_gamma([], SEED, alpha)
        slope = inner.gradient(x, alpha)
    with pytest.raises(LookupError, match="RandomGammaGrad"):
        outer.gradient(slope, alpha)


def test_counts_have_no_gradient():
    rate = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(rate)
        x = tf.random.stateless_poisson([4], SEED, rate, dtype=tf.float32)
    assert tape.gradient(x, rate) is None


def test_the_derivative_of_samples_far_from_the_mean():
    a = tf.constant([1e6, 1e6, 2.0, 2.0, -1.0], tf.float64)
    x = tf.constant([1.0, 1e9, 0.0, np.inf, 1.0], tf.float64)
    found = tf.raw_ops.RandomGammaGrad(alpha=a, sample=x)
    np.testing.assert_allclose(found, [0.5000005, 500.5, 0.0, 0.0, np.nan], rtol=1e-12)
