"""FarmHash's fingerprint; the numbers are what TensorFlow gives for 2^62 buckets."""

from __future__ import annotations

import pytest

from tfx.ops.strings.fingerprint import fingerprint64, fingerprints

FOUND = [
    (0, 0x1AE16A3B2F90404F),
    (1, 0x07A24C13B17E583E),
    (3, 0x35DF3F86C1D6A633),
    (4, 0x35848E042BFE1803),
    (7, 0x145AC134B57925FF),
    (8, 0x096A8BF51AE07F3D),
    (15, 0x35E4107577A2DFB7),
    (16, 0x3F140ED766101D99),
    (17, 0x0ACD4440837EAF19),
    (31, 0x032A0BDAB737F327),
    (32, 0x347D5F2543B11317),
    (33, 0x234289B5A46CA0D0),
    (63, 0x347E3529999BCE09),
    (64, 0x02B39D5535BE3E5A),
    (65, 0x0AF81BC654175276),
    (100, 0x3026DFE825E18AF6),
    (127, 0x1F6866A015783A8C),
    (128, 0x1E31396EB2B51961),
    (129, 0x2C3F02A004F23D50),
    (192, 0x3E2FEFA5B17A53ED),
    (1000, 0x2170414DD93B8E83),
]


@pytest.mark.parametrize(("size", "expected"), FOUND, ids=[str(size) for size, _ in FOUND])
def test_fingerprint(size: int, expected: int) -> None:
    data = bytes((place * 31 + size) % 256 for place in range(size))
    assert fingerprint64(data) % (1 << 62) == expected


def test_many_strings_have_the_fingerprints_of_each() -> None:
    texts = [bytes((place * 31 + size) % 256 for place in range(size)) for size in range(300)]
    assert fingerprints(texts).tolist() == [fingerprint64(text) for text in texts]
    assert fingerprints([]).tolist() == []
