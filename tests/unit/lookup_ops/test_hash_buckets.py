"""Strings to buckets by hashes: SipHash's published values, and what TensorFlow 2.21 gave."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.lookup_ops.siphash import siphash
from tfx.ops.strings.fingerprint import combined, fingerprint64

# The key and the data are 0, 1, 2, ...
PUBLISHED = {
    0: 0x726FDB47DD0E0E31,
    1: 0x74F839C593DC67FD,
    7: 0xAB0200F58B01D137,
    8: 0x93F5F5799A932462,
    15: 0xA129CA6149BE45E5,
}


@pytest.mark.parametrize("size", PUBLISHED)
def test_siphash(size: int) -> None:
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert siphash(bytes(range(size)), key) == PUBLISHED[size]


def test_strong_buckets_are_those_of_tensorflow() -> None:
    words = ["", "a", "Hello", "TF", "x" * 7, "y" * 8, "z" * 9, "w" * 16]
    found = [383377, 332029, 225227, 334479, 42127, 965727, 665145, 585067]
    assert tf.strings.to_hash_bucket_strong(words, 1000003, [1, 2]).numpy().tolist() == found
    traced = tf.function(lambda x: tf.strings.to_hash_bucket_strong(x, 1000003, [1, 2]))
    assert traced(tf.constant(words)).numpy().tolist() == found


def test_a_key_has_two_numbers_and_there_are_buckets() -> None:
    with pytest.raises(ValueError, match="two elements"):
        tf.strings.to_hash_bucket_strong(["a"], 3, [1])
    with pytest.raises(ValueError, match="at least 1"):
        tf.strings.to_hash_bucket_strong(["a"], 0, [1, 2])


def test_crossed_features_are_those_of_tensorflow() -> None:
    found = []
    for word, number in ((b"a", 1), (b"b", 2), (b"cc", 3)):
        found.append(combined(combined(0xDECAFCAFFE, fingerprint64(word)), number) % 1000)
    assert found == [485, 357, 484]


def test_buckets_of_the_oldest_hash_are_those_of_tensorflow() -> None:
    words = ["", "a", "Hello", "World", "12345678", "a longer one of 20", "é"]
    expected = [598820, 789371, 609107, 825616, 866643, 580893, 164913]
    for function in (tf.strings.to_hash_bucket, tf.function(tf.strings.to_hash_bucket)):
        assert function(tf.constant(words), 1000003).numpy().tolist() == expected


def test_fingerprints_are_those_of_tensorflow() -> None:
    words = tf.constant([["Hello", "TF"], ["a", "b"]])
    expected = [[225, 2, 72, 217, 244, 99, 89, 141], [122, 64, 59, 169, 136, 60, 55, 83]]
    for function in (tf.fingerprint, tf.function(tf.fingerprint)):
        found = function(words)
        assert found.dtype is tf.uint8 and found.numpy().tolist() == expected
    assert tf.fingerprint([[1.0, 2.0]]).numpy().tolist() == [[223, 178, 164, 36, 10, 49, 237, 154]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one dimension"):
        tf.fingerprint(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="method"):
        tf.fingerprint([1.0], "md5")


@pytest.mark.parametrize("name", ["to_hash_bucket", "to_hash_bucket_strong"])
def test_many_strings_have_the_buckets_of_each(name: str) -> None:
    more = ([5, 2**64 - 1],) if name == "to_hash_bucket_strong" else ()
    function = getattr(tf.strings, name)
    words = ["ab" * size + "c" * (size % 2) for size in range(40)]
    found = function(words, 2**62, *more).numpy().tolist()
    assert found == [int(function([word], 2**62, *more)[0]) for word in words]
