"""Mathematics and linear algebra: graphs of unknown sizes, slopes, dtypes and edges."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

keras = tf.keras
math, linalg = keras.src.backend.math, keras.src.backend.linalg

X = np.random.default_rng(0).standard_normal((3, 5, 5)).astype("float32")


def positive(x):
    return tf.matmul(x, x, transpose_b=True) + 5 * tf.eye(5, dtype=x.dtype)


def again(x, fft_length, **options):
    x = tf.concat([x] * 4, -1)
    return math.istft(math.stft(x, 4, 2, fft_length), 4, 2, fft_length, **options)


def pairs(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


CASES = {
    "cdist": lambda x: math.cdist(x, x),
    "cholesky": lambda x: linalg.cholesky_inverse(linalg.cholesky(positive(x), True), True),
    "fft": lambda x: math.fft((x, x))[1],
    "ifft2": lambda x: math.ifft2(math.fft2((x, x)))[0],
    "irfft": lambda x: math.irfft((x, x)),
    "irfft, cut": lambda x: math.irfft((x, x), 7),
    "irfft, padded": lambda x: math.irfft((x, x), 16),
    "istft": lambda x: again(x, 4),
    "istft of a length": lambda x: again(x, 6, length=20),
    "largest of segments": lambda x: math.segment_max(x, [0, 1, 0], 2),
    "logdet": lambda x: math.logdet(positive(x)),
    "logsumexp": lambda x: math.logsumexp(x, (0, 2)),
    "lu": lambda x: linalg.lu_factor(x)[0],
    "lu of a wide matrix": lambda x: linalg.lu_factor(x[:, 1:])[0],
    "norms": lambda x: [linalg.norm(x, o, (1, 2)) for o in (1, float("inf"), "fro")],
    "prefixes": lambda x: keras.ops.associative_scan(pairs, (x, x + 1), reverse=True, axis=1)[1],
    "qr": lambda x: linalg.qr(x)[1],
    "rfft": lambda x: math.rfft(x, 3)[1],
    "solve": lambda x: linalg.solve(positive(x), x[..., 0]),
    "segments": lambda x: math.segment_sum(x, [0, 2, 0]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_of_unknown_sizes_does_the_same(name):
    function = CASES[name]
    traced = tf.function(function, input_signature=[tf.TensorSpec([None, None, None])])
    np.testing.assert_allclose(traced(X), function(tf.constant(X)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_differences(name):
    tf.testing.check_grads(CASES[name], [tf.constant(X.astype(float))])


def test_singular_matrices_have_factors_of_every_shape():
    for a in (np.zeros((2, 2)), np.ones((4, 2)), np.ones((2, 3)), np.outer(range(3), range(3))):
        factors, exchanges = (np.array(part) for part in linalg.lu_factor(a))
        k = len(exchanges)
        lower = np.tril(factors, -1)[:, :k] + np.eye(len(a), k)
        found = lower @ np.triu(factors)[:k]
        for i in reversed(range(k)):
            found[[i, exchanges[i]]] = found[[exchanges[i], i]]
        np.testing.assert_allclose(found, a)


def test_pseudo_inverses_have_slopes_where_singular_values_are_equal():
    tf.testing.check_grads(linalg.pinv, [tf.eye(3, dtype=tf.float64)])
    half = tf.cast(tf.constant(X), tf.bfloat16)
    assert linalg.pinv(half).dtype == half.dtype


@pytest.mark.parametrize("function", [math.erf, math.rsqrt, math.logsumexp, linalg.norm])
def test_integers_count_as_numbers_of_the_configured_precision(function):
    assert function(np.arange(1, 5)).dtype == keras.config.floatx()


def test_segments_without_elements():
    # As on TensorFlow: what no slice can be less than, or 0 where the numbers are sorted.
    lowest = np.finfo("float32").min
    x, ids = tf.constant([[1.0], [-3.0]]), [0, 2]
    np.testing.assert_array_equal(math.segment_max(x, ids, 3), [[1], [lowest], [-3]])
    np.testing.assert_array_equal(math.segment_max(x, ids, sorted=True), [[1], [0], [-3]])


def test_parts_between_places_that_only_a_run_tells():
    x = tf.reshape(tf.range(12), [2, 6])
    parts = tf.function(lambda places: keras.ops.split(x, places, axis=1))([1, 4])
    assert [part.numpy().tolist() for part in parts] == [
        [[0], [6]],
        [[1, 2, 3], [7, 8, 9]],
        [[4, 5], [10, 11]],
    ]
