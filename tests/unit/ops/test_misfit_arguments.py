"""Arguments that are of no use to an operation: an error of the class that TensorFlow has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

tnp = tf.experimental.numpy
LARGE = 2**63


TOO_LARGE = (
    lambda: tf.reshape([1.0], [LARGE]),
    lambda: tf.broadcast_to(1.0, LARGE),
    lambda: tf.ones([LARGE]),
    lambda: tf.constant([1, 2])[LARGE:],
    lambda: tf.constant([1, 2])[::LARGE],
    lambda: tf.transpose([1], [10**30]),
    lambda: tf.roll([1, 2], 10**30, 0),
)


@pytest.mark.parametrize("i", range(len(TOO_LARGE)))
def test_integers_beyond_64_bits_are_value_errors(i: int) -> None:
    call = TOO_LARGE[i]
    with pytest.raises(ValueError, match="out-of-range integer"):
        call()
    with pytest.raises(ValueError, match="out-of-range integer"):
        tf.function(call)()


def test_sizes_beyond_any_memory_are_resource_errors() -> None:
    with pytest.raises(tf.errors.ResourceExhaustedError):
        tf.pad([1], [[2**62, 0]])


def test_ragged_tensors_are_no_settings() -> None:
    rows = tf.ragged.constant([[1, 2], [3]])
    for call in (
        lambda: tf.reduce_sum([1.0, 2.0], rows),
        lambda: tf.reduce_mean([1.0, 2.0], keepdims=rows),
        lambda: tf.debugging.assert_less(1, 2, message=rows),
        lambda: tf.boolean_mask([1, 2], [True, False], axis=rows),
    ):
        with pytest.raises(TypeError, match="cannot be a RaggedTensor"):
            call()
    assert tf.add_n(tf.ragged.constant([[1, 2], [3, 4]])).numpy().tolist() == [4, 6]
    with pytest.raises(ValueError, match="may not be empty"):
        tf.ragged.stack([])


def test_texts_of_string_operations_may_be_scalar_tensors() -> None:
    assert tf.strings.split("a-b", sep=tf.constant("-")).numpy().tolist() == [b"a", b"b"]
    replaced = tf.strings.regex_replace("abc", tf.constant("b"), tf.constant("x"))
    assert replaced.numpy() == b"axc"
    for call in (
        lambda: tf.strings.split("a", sep=3),
        lambda: tf.strings.split(["a"], sep=3),
        lambda: tf.strings.regex_replace("a", "b", 3),
        lambda: tf.strings.regex_full_match("a", 3),
        lambda: tf.strings.join("a"),
    ):
        with pytest.raises(TypeError):
            call()


MISFITS = (
    lambda: tf.strings.ngrams("a", 2),
    lambda: tf.strings.unicode_encode(65, "UTF-8"),
    lambda: tf.batch_to_space(3.5, [2], [[0, 0]]),
    lambda: tf.image.grayscale_to_rgb(1.0),
    lambda: tf.linalg.tridiagonal_matmul(8.0, [[0.0, 1.0]], diagonals_format="compact"),
    lambda: tf.signal.mfccs_from_log_mel_spectrograms(0.0),
    lambda: tnp.vander(-1),
    lambda: tnp.hstack([]),
    lambda: tnp.diff(3.0),
    lambda: tnp.diff([1, 2], n=-1),
    lambda: tnp.diff([1, 2], axis=2),
    lambda: tnp.moveaxis([1], 1, 0),
    lambda: tnp.swapaxes([1], 1, 0),
    lambda: tnp.diagonal(3.0),
    lambda: tnp.take_along_axis([[1, 2]], [[0]], 5),
    lambda: tnp.gcd(1.0, 2.0),
    lambda: tf.initializers.get({}),
    lambda: tf.optimizers.deserialize({}),
)


@pytest.mark.parametrize("i", range(len(MISFITS)))
def test_operands_of_a_wrong_rank_are_value_errors(i: int) -> None:
    call = MISFITS[i]
    with pytest.raises(ValueError):
        call()


def test_generators_are_stacked() -> None:
    assert tf.stack(tf.constant(i) for i in range(3)).numpy().tolist() == [0, 1, 2]


def test_vectors_of_two_have_no_third_element() -> None:
    assert int(tnp.cross([1, 2], [3, 4])) == -2
    assert tnp.cross([1, 2], [3, 4, 5]).numpy().tolist() == np.cross([1, 2, 0], [3, 4, 5]).tolist()
    assert int(tnp.moveaxis(1, 0, 0)) == 1


def test_numbers_of_open_files_are_no_paths(tmp_path: Any) -> None:
    with open(tmp_path / "file", "w") as file:
        with pytest.raises(TypeError):
            tf.loaders.summarize(file.fileno())
        file.write("still open")
