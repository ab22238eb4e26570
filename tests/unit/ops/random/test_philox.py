"""The random bits: known answers of the algorithm, and a version in Python integers."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tfx.framework.convert import constant, int64_constant
from tfx.ops.common.traced_once import Composite
from tfx.ops.random.philox import random_words
from tfx.ops.random.samplers import full_range

M0, M1 = 0xD2511F53, 0xCD9E8D57
MASK = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10 of one counter."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = M0 * c[0], M1 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & MASK, (p0 >> 32) ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c


def signed(low, high):
    return np.array([low | high << 32], np.uint64).view(np.int64)[0]


words = Composite(
    lambda key, counter, tag, blocks: random_words(key, counter, tag, blocks), "words"
)


def draw(key, counter, tag, blocks):
    drawn = words(
        constant(signed(*key)), constant(signed(*counter)), constant(np.uint32(tag)),
        int64_constant(blocks),
    )  # fmt: skip
    return [w.numpy() for w in drawn]


def test_known_answers():
    """The vector of zeros of the authors' reference implementation."""
    assert philox((0, 0, 0, 0), (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox((MASK,) * 4, (MASK,) * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize(
    ("key", "counter", "tag"),
    [((0, 0), (0, 0), 0), ((MASK, MASK), (MASK, MASK), MASK),
     ((0xA4093822, 0x299F31D0), (0x13198A2E, 0x03707344), 0x85A308D3), ((1, 0), (0, 1), 2)],
)  # fmt: skip
def test_every_block(key, counter, tag):
    drawn = draw(key, counter, tag, 5)
    for block in range(5):
        expected = philox((block, tag, *counter), key)
        assert [int(w[block]) for w in drawn] == expected


def test_bits_are_balanced_and_independent():
    bits = full_range(
        int64_constant([7, 9]), int64_constant([20_000]), stateful=False, dtype="uint32"
    )[0].numpy()
    table = (bits[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    assert abs(table.mean(0) - 0.5).max() < 0.02  # 5.6 standard deviations
    correlation = np.corrcoef(table.T) - np.eye(32)
    assert abs(correlation).max() < 0.04
    following = np.corrcoef(table[:-1, 0], table[1:, 0])[0, 1]
    assert abs(following) < 0.04
