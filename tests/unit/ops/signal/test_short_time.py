"""Short-time Fourier transforms against NumPy, their inverses, and what they are saved as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tfx.testing import assert_close


def _reference(x: Any, length: int, step: int, size: int, window: Any, *, pad_end: bool) -> Any:
    count = -(-x.shape[-1] // step) if pad_end else max(0, (x.shape[-1] - length) // step + 1)
    long = np.pad(x, [(0, 0), (0, length)])
    frames = np.stack([long[:, i * step : i * step + length] for i in range(count)], 1)
    return np.fft.rfft(frames * window, size)


@pytest.mark.parametrize("pad_end", [False, True])
@pytest.mark.parametrize(
    ("length", "step", "size"), [(8, 3, None), (8, 8, 8), (12, 4, None), (9, 2, 20), (10, 3, 6)]
)
def test_stft(length: int, step: int, size: int | None, pad_end: bool, rng: Any) -> None:
    x = rng.normal(size=(2, 50))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    if length % 2:
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / (length - 1))
    whole = size or 1 << (length - 1).bit_length()
    expected = _reference(x, length, step, whole, window, pad_end=pad_end)

    def run(x: Any) -> Any:
        return tf.signal.stft(x, length, step, size, pad_end=pad_end)

    found = run(tf.constant(x))
    assert found.dtype is tf.complex128
    assert_close(found, expected)
    loose = tf.function(run, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    assert_close(loose(x), expected)
    assert_close(run(tf.constant(x, tf.float32)), expected.astype("complex64"), atol=1e-5)


def test_stft_against_tensorflow() -> None:
    """Numbers that TensorFlow 2.21 gave."""
    x = tf.range(6.0)
    found = tf.signal.stft(x, 4, 2)
    assert_close(found, [[4, -2 + 1j, 0], [8, -4 + 1j, 0]], atol=1e-6)
    found = tf.signal.stft(x, 3, 2, window_fn=None, pad_end=True)
    rows = [[3, -2 - 1j, 1], [9, -2 - 3j, 3], [9, 4 - 5j, -1]]
    assert_close(found, rows, atol=1e-6)


@pytest.mark.parametrize(("length", "step"), [(8, 2), (8, 4), (9, 3), (12, 5)])
@pytest.mark.parametrize("window", [tf.signal.hann_window, tf.signal.hamming_window])
def test_inverse(length: int, step: int, window: Any, rng: Any) -> None:
    x = rng.normal(size=(3, 60))
    z = tf.signal.stft(tf.constant(x), length, step, window_fn=window)
    back = tf.signal.inverse_stft_window_fn(step, window)
    found = tf.signal.inverse_stft(z, length, step, window_fn=back)
    inside = slice(length, found.shape[-1] - length)
    assert_close(found[:, inside], x[:, inside])
    loose = tf.function(
        lambda z: tf.signal.inverse_stft(z, length, step, window_fn=back),
        input_signature=[tf.TensorSpec([None, None, None], tf.complex128)],
    )
    assert_close(loose(z), found)


@pytest.mark.parametrize("size", [4, 6, 8])
def test_frames_of_another_length(size: int, rng: Any) -> None:
    z = rng.normal(size=(3, size // 2 + 1)) + 1j * rng.normal(size=(3, size // 2 + 1))
    frames = np.fft.irfft(z, size)
    frames = np.pad(frames, [(0, 0), (0, 6)])[:, :6]
    expected = np.zeros(10)
    for i in range(3):
        expected[2 * i : 2 * i + 6] += frames[i]
    assert_close(tf.signal.inverse_stft(tf.constant(z), 6, 2, size, None), expected)


def test_windows_of_the_inverse() -> None:
    window = tf.signal.inverse_stft_window_fn(2, tf.signal.hamming_window)
    found = window(4, tf.float64)  # numbers that TensorFlow 2.21 gave
    expected = [0.07949125596184421, 0.9259259259259257, 0.9936406995230525, 0.9259259259259259]
    assert_close(found, expected)
    never = tf.signal.inverse_stft_window_fn(4, lambda length, dtype: tf.zeros([length], dtype))
    assert_close(never(4, tf.float32), np.zeros(4))  # and not NaN


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.signal.stft(1.0, 2, 1), "must have rank at least 1"),
        (lambda: tf.signal.stft(tf.ones([5]), [3], 1), "must have rank 0"),
        (lambda: tf.signal.stft(tf.ones([5]), 0, 1), "frame_length must be"),
        (lambda: tf.signal.stft(tf.ones([5]), 3, 1.0), "frame_step must be"),
        (lambda: tf.signal.stft(tf.ones([5], tf.int32), 3, 1), "floating"),
        (lambda: tf.signal.inverse_stft(tf.ones([3, 3]), 4, 2), "IRFFT requires"),
        (lambda: tf.signal.inverse_stft(tf.constant([1j]), 4, 2), "must have rank at least 2"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


class Features(tf.Module):
    """Cepstral coefficients, and the gradient of a spectral loss."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def mfccs(self, x: Any) -> Any:
        power = tf.abs(tf.signal.stft(x, 64, 32)) ** 2
        mel = tf.signal.linear_to_mel_weight_matrix(10, 33, 8000.0)
        log = tf.math.log(tf.tensordot(power, mel, 1) + 1e-6)
        return tf.signal.mfccs_from_log_mel_spectrograms(log)[..., :5]

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def slope(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.signal.stft(x, 64, 32)
            loss = tf.reduce_sum(tf.math.log(1.0 + tf.abs(z)))
            back = tf.signal.inverse_stft(z * tf.exp(1j * tf.cast(tf.abs(z), z.dtype)), 64, 32)
            loss += tf.reduce_sum(back**2)
        return tape.gradient(loss, x)


def test_bundles_run_with_onnxruntime_alone(tmp_path: Path, rng: Any) -> None:
    m = Features()
    signatures = {"mfccs": m.mfccs, "slope": m.slope}
    tf.saved_model.save(m, tmp_path / "m", signatures=signatures)
    x = rng.normal(size=(2, 300)).astype("f")
    for name in signatures:
        run = onnxruntime.InferenceSession(tmp_path / "m" / f"{name}.onnx").run
        assert_close(run(None, {"x": x})[0], getattr(m, name)(x), rtol=1e-4, atol=1e-4)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(64) / 64)
    power = np.abs(_reference(x.astype("d"), 64, 32, 64, window, pad_end=False)) ** 2
    mel = tf.signal.linear_to_mel_weight_matrix(10, 33, 8000.0, dtype=tf.float64).numpy()
    log = np.log(power @ mel + 1e-6)
    expected = tf.signal.mfccs_from_log_mel_spectrograms(tf.constant(log))[..., :5]
    assert_close(m.mfccs(x), expected, rtol=1e-4, atol=1e-4)
