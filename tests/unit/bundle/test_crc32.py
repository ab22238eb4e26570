"""Sums of bytes are the same by every implementation, with and without a beginning."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.bundle import crc32 as module
from tfx.bundle.crc32 import crc32


@pytest.fixture(params=["zlib_ng", "zlib"])
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let one of the two be found."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "zlib":
            patch.setitem(sys.modules, "zlib_ng", None)
        else:
            pytest.importorskip("zlib_ng")
        module._implementation.cache_clear()
        yield request.param
    module._implementation.cache_clear()


def test_the_quickest_that_is_installed_is_taken(implementation: str) -> None:
    assert (module._implementation() is zlib.crc32) == (implementation == "zlib")
    # The check value of CRC-32/ISO-HDLC.
    assert crc32(b"123456789") == 0xCBF43926
    assert crc32(b"6789", crc32(memoryview(b"12345"))) == 0xCBF43926


@given(data=st.binary(max_size=3000), cut=st.integers(0, 3000))
def test_sums_are_those_of_zlib(data: bytes, cut: int) -> None:
    assert crc32(memoryview(data)[cut:], crc32(data[:cut])) == zlib.crc32(data)
