"""Kaiser's windows, lapped transforms, half turns: against NumPy and TensorFlow's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.arange(20, dtype=np.float32)
# The second of the four frames of X with 8 samples, and the signal's beginning that comes back.
EXPECTED = {
    "vorbis": (
        [-47.794952392578125, -1.072835922241211, -4.658271789550781, -0.7023313045501709],
        [-0.17892757058143616, -0.6074862480163574, 1.1532124280929565, 2.9892899990081787],
    ),
    "flat": (
        [-51.328372955322266, -12.152731895446777, 9.421977996826172, 7.545527935028076],
        [-1.4999995231628418, -0.4999997019767761, 0.4999997019767761, 1.4999995231628418],
    ),
    "kaiser": (
        [-46.44982147216797, 0.569462776184082, -6.3952317237854, -0.3488125801086426],
        [-0.01821514591574669, -0.5648160576820374, 1.3408311605453491, 2.9998886585235596],
    ),
}
WINDOWS: dict[str, Any] = {
    "vorbis": tf.signal.vorbis_window,
    "flat": None,
    "kaiser": tf.signal.kaiser_bessel_derived_window,
}


@pytest.mark.parametrize("size", [2, 3, 6, 17])
@pytest.mark.parametrize("beta", [0.0, 2.5, 12.0, 60.0])
def test_kaiser(size: int, beta: float) -> None:
    found = tf.signal.kaiser_window(size, beta, tf.float64)
    np.testing.assert_allclose(found, np.kaiser(size, beta), rtol=1e-9)
    half = np.cumsum(np.kaiser(size // 2 + 1, beta))
    half = np.sqrt(half[:-1] / half[-1])
    found = tf.signal.kaiser_bessel_derived_window(size, beta, tf.float64)
    np.testing.assert_allclose(found, np.concatenate([half, half[::-1]]), rtol=1e-9)


def test_kaiser_has_tensorflows_numbers_and_takes_large_numbers() -> None:
    expected = [5.2773448260268196e-05, 0.10171972215175629, 0.7929395437240601]
    found = tf.signal.kaiser_window(6)
    np.testing.assert_allclose(found, expected + expected[::-1], rtol=2e-6)
    assert found.dtype == tf.float32
    assert tf.signal.kaiser_window(1).numpy().tolist() == [1.0]
    middle = tf.signal.kaiser_window(5, 5000.0, tf.float64).numpy()
    assert np.isfinite(middle).all() and middle[2] == 1.0
    assert tf.signal.kaiser_window(4, dtype=tf.float16).dtype == tf.float16


@pytest.mark.parametrize("window", list(EXPECTED))
@pytest.mark.parametrize("norm", [None, "ortho"], ids=["plain", "ortho"])
def test_lapped_transforms(window: str, norm: str | None) -> None:
    waves, beginning = EXPECTED[window]
    made = WINDOWS[window]
    found = tf.signal.mdct(X, 8, made, norm=norm)
    factor = 1.0 if norm is None else np.sqrt(0.125)
    np.testing.assert_allclose(found[1], np.array(waves) * factor, rtol=1e-5, atol=1e-5)
    back = tf.signal.inverse_mdct(found, made, norm=norm)
    np.testing.assert_allclose(back[:4], beginning, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(back[4:16], X[4:16], rtol=1e-5)

    @tf.function
    def there_and_back(x: Any) -> Any:
        return tf.signal.inverse_mdct(tf.signal.mdct(x, 8, made, norm=norm), made, norm=norm)

    np.testing.assert_allclose(there_and_back(X), back, rtol=1e-5, atol=1e-5)


def test_lapped_transforms_keep_batches_and_dtypes() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 26))
    found = tf.signal.mdct(x, 8, pad_end=True)
    assert found.shape == (2, 3, 7, 4) and found.dtype == tf.float64
    np.testing.assert_allclose(tf.signal.inverse_mdct(found)[..., 4:26], x[..., 4:], rtol=1e-9)
    tf.testing.check_grads(lambda x: tf.signal.mdct(x, 8), [tf.constant(x[0])])


@pytest.mark.parametrize("axes", [None, 0, -1, [0, 1]], ids=["all", "first", "last", "both"])
def test_half_turns(axes: Any) -> None:
    y = np.arange(24).reshape(3, 8)[:, :5]
    numpy_axes = tuple(axes) if isinstance(axes, list) else axes
    there, back = np.fft.fftshift(y, numpy_axes), np.fft.ifftshift(y, numpy_axes)
    np.testing.assert_array_equal(tf.signal.fftshift(y, axes), there)
    np.testing.assert_array_equal(tf.signal.ifftshift(y, axes), back)
    open_spec = [tf.TensorSpec([None, None], tf.int64)]
    turned = tf.function(lambda x: tf.signal.fftshift(x, axes), input_signature=open_spec)
    np.testing.assert_array_equal(turned(y), there)
    turned = tf.function(lambda x: tf.signal.ifftshift(x, axes), input_signature=open_spec)
    np.testing.assert_array_equal(turned(y), back)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: tf.signal.kaiser_window(4, dtype=tf.int32), "floating"),
        (lambda: tf.signal.kaiser_window(0), "window_length"),
        (lambda: tf.signal.kaiser_window(4, "x"), "could not convert"),
        (lambda: tf.signal.kaiser_window(4, [1, 2]), "beta must be"),
        (lambda: tf.signal.mdct(X, 6), "multiple of 4"),
        (lambda: tf.signal.mdct(X, 0), "multiple of 4"),
        (lambda: tf.signal.mdct(X, 8, norm="x"), "Unknown normalization"),
        (lambda: tf.signal.mdct(1.0, 8), "rank at least 1"),
        (lambda: tf.signal.mdct([1, 2], 8), "floating"),
        (lambda: tf.signal.inverse_mdct(X), "rank at least 2"),
        (lambda: tf.signal.inverse_mdct(X.reshape(4, 5)), "even half_length"),
        (lambda: tf.signal.fftshift(X, 1), "in the range"),
    ],
    ids=[
        "dtype",
        "none",
        "text",
        "list",
        "six",
        "zero",
        "norm",
        "0d",
        "ints",
        "1d",
        "odd",
        "axis",
    ],
)
def test_what_is_refused(call: Any, match: str) -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=match):
        call()
