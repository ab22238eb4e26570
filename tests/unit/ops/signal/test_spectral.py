"""Frames, windows and cosine transforms against SciPy and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.random.default_rng(0).normal(size=(2, 20)).astype(np.float32)


def _frames(x: np.ndarray, length: int, step: int) -> np.ndarray:
    starts = range(0, x.shape[-1] - length + 1, step)
    return np.stack([x[..., s : s + length] for s in starts], -2)


def test_frames() -> None:
    np.testing.assert_array_equal(tf.signal.frame(X, 6, 4), _frames(X, 6, 4))
    long = np.pad(X, ((0, 0), (0, 2)), constant_values=1)
    found = tf.signal.frame(X, 6, 4, pad_end=True, pad_value=1)
    np.testing.assert_array_equal(found, _frames(long, 6, 4))
    found = tf.signal.frame(X.T, 6, 4, axis=0)
    np.testing.assert_array_equal(found, np.moveaxis(_frames(X, 6, 4), 0, -1))
    assert tf.signal.frame(X, 30, 4).shape == (2, 0, 30)


@pytest.mark.parametrize("step", [1, 4, 9])
def test_overlap_and_add(step: int) -> None:
    frames = X.reshape(2, 4, 5)
    expected = np.zeros((2, 3 * step + 5), np.float32)
    for i in range(4):
        expected[:, i * step : i * step + 5] += frames[:, i]

    def added(x: Any) -> Any:
        return tf.signal.overlap_and_add(x, step)

    np.testing.assert_allclose(added(frames), expected, rtol=1e-6)
    np.testing.assert_allclose(tf.function(added)(frames), expected, rtol=1e-6)
    late = tf.function(added, input_signature=[tf.TensorSpec([None, None, 5])])
    np.testing.assert_allclose(late(frames), expected, rtol=1e-6)
    assert late(frames[:, :0]).shape == (2, 0)


def test_gradients() -> None:
    def there_and_back(x: Any) -> Any:
        frames = tf.signal.frame(x, 6, 4) * tf.signal.hann_window(6, dtype=tf.float64)
        return tf.signal.dct(tf.signal.overlap_and_add(frames, 4))

    tf.testing.check_grads(there_and_back, [tf.constant(X.astype(float))])


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho"], ids=["plain", "ortho"])
def test_cosine_transforms(kind: int, norm: str | None) -> None:
    fft = pytest.importorskip("scipy.fft")
    if kind == 1 and norm:
        with pytest.raises(ValueError, match="Type-I"):
            tf.signal.dct(X, 1, norm="ortho")
        return
    x = X.astype(float)
    np.testing.assert_allclose(
        tf.signal.dct(x, kind, norm=norm), fft.dct(x, kind, norm=norm), atol=1e-10
    )
    for n in (12, 25):
        expected = fft.dct(x, kind, n=n, norm=norm)
        np.testing.assert_allclose(tf.signal.dct(x, kind, n=n, norm=norm), expected, atol=1e-10)
    back = tf.signal.idct(tf.signal.dct(x, kind, norm=norm), kind, norm=norm)
    scale = 1.0 if norm else 2.0 * (19 if kind == 1 else 20)
    np.testing.assert_allclose(back, x * scale, atol=1e-10)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_windows(size: int) -> None:
    windows = pytest.importorskip("scipy.signal").windows
    for name in ("hann", "hamming"):
        made = getattr(tf.signal, f"{name}_window")
        expected = getattr(windows, name)
        np.testing.assert_allclose(made(size, periodic=False), expected(size), atol=1e-6)
        if size % 2 == 0:
            np.testing.assert_allclose(made(size), expected(size, sym=False), atol=1e-6)
    half = tf.signal.vorbis_window(2 * size).numpy()
    np.testing.assert_allclose(half[:size] ** 2 + half[size:] ** 2, np.ones(size), rtol=1e-6)


def test_mel_bands() -> None:
    weights = tf.signal.linear_to_mel_weight_matrix(8, 65, 8000, 100.0, 3500.0).numpy()
    assert weights.shape == (65, 8)
    assert (weights >= 0).all()
    assert (weights.argmax(0)[1:] > weights.argmax(0)[:-1]).all()
    hertz = np.linspace(0, 4000, 65)
    assert (weights[(hertz <= 100) | (hertz >= 3500)] == 0).all()


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: tf.signal.frame(X, 0, 1), "frame_length"),
        (lambda: tf.signal.overlap_and_add(X[0], 1), "frames, frame_length"),
        (lambda: tf.signal.hann_window(4, dtype=tf.int32), "floating"),
        (lambda: tf.signal.dct(X, 5), "type 1 to 4"),
        (lambda: tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=9e9), "upper_edge_hertz"),
    ],
    ids=["frame", "overlap", "window", "dct", "mel"],
)
def test_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        f()


@pytest.mark.parametrize(("length", "step"), [(4, 2), (6, 4), (8, 8), (3, 7), (12, 5), (30, 10)])
@pytest.mark.parametrize("pad_end", [False, True])
def test_frames_of_parts(length: int, step: int, pad_end: bool) -> None:
    x = np.arange(2 * 20 * 3.0).reshape(2, 20, 3)
    count = -(-20 // step) if pad_end else max(0, (20 - length) // step + 1)
    long = np.pad(x, [[0, 0], [0, 40], [0, 0]])
    frames = [long[:, i * step : i * step + length] for i in range(count)]
    expected = np.stack(frames, 1) if frames else np.zeros((2, 0, length, 3))
    late = tf.function(
        lambda x: tf.signal.frame(x, length, step, pad_end, axis=1),
        input_signature=[tf.TensorSpec([None] * 3, tf.float64)],
    )
    for found in (tf.signal.frame(x, length, step, pad_end, axis=1), late(x)):
        np.testing.assert_array_equal(found, expected)
