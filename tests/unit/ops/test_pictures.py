"""Images and sounds as bytes of files: sizes, dtypes, channels and errors as TensorFlow 2.21."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import pytest

import tfx as tf

PIL = pytest.importorskip("PIL.Image")
PIXELS = np.linspace(0, 255, 48 * 40 * 3).reshape(48, 40, 3).astype(np.uint8)


def encoded(kind: str, pixels: Any = PIXELS, **options: Any) -> bytes:
    made = io.BytesIO()
    PIL.fromarray(pixels).save(made, kind, **options)
    return made.getvalue()


def animated() -> bytes:
    first, second = (PIL.fromarray(PIXELS[..., i]) for i in range(2))
    made = io.BytesIO()
    first.save(made, "GIF", save_all=True, append_images=[second])
    return made.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "BMP"])
def test_files_without_loss_give_the_pixels(kind: str) -> None:
    for traced in (False, True):
        decode = tf.function(tf.io.decode_image, autograph=False) if traced else tf.io.decode_image
        np.testing.assert_array_equal(decode(encoded(kind)).numpy(), PIXELS)


def test_jpeg_is_near_and_of_any_channels() -> None:
    data = encoded("JPEG", quality=95)
    found = tf.io.decode_jpeg(data).numpy().astype(int)
    assert np.abs(found - PIXELS).max() <= 4
    assert tf.io.decode_image(data, 1).shape == (48, 40, 1)
    assert tf.io.decode_jpeg(encoded("JPEG", PIXELS[..., 0]), 3).shape == (48, 40, 3)
    assert tf.io.decode_jpeg(data, ratio=4).shape == (12, 10, 3)
    assert bool(tf.io.is_jpeg(data)) and not bool(tf.io.is_jpeg(encoded("PNG")))
    again = tf.io.decode_jpeg(tf.io.encode_jpeg(PIXELS))
    assert np.abs(again.numpy().astype(int) - PIXELS).max() <= 4


def test_frames_of_an_animation() -> None:
    assert tf.io.decode_gif(animated()).shape == (2, 48, 40, 3)
    assert tf.io.decode_image(animated()).shape == (2, 48, 40, 3)
    first = tf.io.decode_image(animated(), expand_animations=False)
    np.testing.assert_array_equal(first[..., 0].numpy(), PIXELS[..., 0])


def test_numbers_of_other_dtypes() -> None:
    floats = tf.io.decode_image(encoded("BMP"), dtype=tf.float32)
    np.testing.assert_allclose(floats.numpy(), PIXELS / np.float32(255), rtol=1e-6)
    wide = tf.io.decode_image(encoded("BMP"), dtype=tf.uint16)
    np.testing.assert_array_equal(wide.numpy(), PIXELS.astype(np.uint16) * 256)


def test_static_shapes() -> None:
    specs = tf.TensorSpec([], tf.string)
    plain = tf.function(lambda x: tf.io.decode_image(x), autograph=False)
    assert plain.get_concrete_function(specs).structured_outputs.shape.rank is None
    one = tf.function(lambda x: tf.io.decode_image(x, 3, expand_animations=False), autograph=False)
    assert one.get_concrete_function(specs).structured_outputs.shape.as_list() == [None, None, 3]


@pytest.mark.parametrize(
    ("kind", "channels"), [("JPEG", 4), ("BMP", 1), ("GIF", 1), ("GIF", 4), ("PNG", 2)]
)
def test_channels_that_a_format_cannot_be_given(kind: str, channels: int) -> None:
    data = animated() if kind == "GIF" else encoded(kind)
    with pytest.raises(tf.errors.InvalidArgumentError, match="channels must be"):
        tf.io.decode_image(data, channels)


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", b"\xff\xd8\xff\xe0", b"BM123", encoded("JPEG")[:500], b"\x89PNG"]
)
def test_broken_files(data: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_image(data)


def test_what_is_cut_short_can_be_taken() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (48, 40, 3)).astype(np.uint8)
    data = encoded("JPEG", noise)[:1500]
    with pytest.raises(tf.errors.InvalidArgumentError, match="JPEG"):
        tf.io.decode_jpeg(data)
    assert tf.io.decode_jpeg(data, try_recover_truncated=True).shape == (48, 40, 3)


def sound(channels: int, width: int = 2, frames: int = 5) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(bytes(range(frames * channels * width)))
    return made.getvalue()


def test_sounds() -> None:
    whole = np.frombuffer(bytes(range(20)), "<i2").reshape(5, 2) / np.float32(32768)
    audio, rate = tf.audio.decode_wav(sound(2))
    np.testing.assert_array_equal(audio.numpy(), whole)
    assert (int(rate), rate.dtype) == (8000, tf.int32)
    found = tf.audio.decode_wav(sound(2), desired_channels=3, desired_samples=7).audio.numpy()
    np.testing.assert_array_equal(found[:5], whole[:, [0, 1, 1]])
    assert found.shape == (7, 3) and not found[5:].any()
    assert tf.audio.decode_wav(sound(2), 1, 3).audio.shape == (3, 1)
    loud = tf.audio.encode_wav([[0.5, -0.25], [1.5, -2.0], [0.0, 1.0]], 16000).numpy()
    assert loud[-12:].hex() == "004000e0ff7f00800000ff7f"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"RIFF", sound(1, width=1), sound(1, width=3), sound(1)[:50]),
        sound(1).replace(b"data", b"data\xff\xff\xff\xff"),
    ],
)
def test_broken_sounds(data: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="WAV"):
        tf.audio.decode_wav(data)
