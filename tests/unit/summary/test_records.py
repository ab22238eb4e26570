"""Checksums and framing of event files."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tests.unit.summary import reading
from tfx.summary.records import crc32c, framed, masked

# From RFC 3720, B.4.
VECTORS = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (b"123456789", 0xE3069283),
    (b"", 0),
]


@pytest.mark.parametrize(("data", "crc"), VECTORS, ids=range(len(VECTORS)))
def test_published_checksums(data: bytes, crc: int) -> None:
    assert crc32c(data) == reading.crc32c(data) == crc


@hypothesis.settings(max_examples=30)
@hypothesis.given(st.integers(0, 6000), st.integers(0, 1000))
def test_long_data(size: int, seed: int) -> None:
    data = np.random.default_rng(seed).bytes(size)
    assert crc32c(data) == reading.crc32c(data)


def test_a_record() -> None:
    # What TensorFlow's writer makes of the same data.
    assert framed(b"hello").hex() == "0500000000000000" + "eab2043e" + b"hello".hex() + "bb1f1c19"
    assert masked(crc32c(b"hello")).to_bytes(4, "little") == reading.masked(b"hello")
