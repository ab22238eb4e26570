"""The capabilities of the installed ONNX Runtime.

The one decision: it is asked. A table of versions would be wrong with the next release.
"""

from __future__ import annotations

import functools
import itertools

from tfx.core.errors import OpError
from tfx.runtime.session import Session

# A model with one Identity, IR version 8, x float32[1] -> y; the byte behind it is the opset.
_MODEL = (
    b'\x08\x08:7\n\x10\n\x01x\x12\x01y"\x08Identity\x12\x01gZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12'
    b"\x04\n\x02\x08\x01b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01B\x04\n\x00\x10"
)
_FIRST = 18


@functools.cache
def supported_opset() -> int:
    """The largest version of ONNX's standard operators that models may use here.

    Example:
        >>> supported_opset() >= 21
        True
    """
    for version in itertools.count(_FIRST):
        try:
            Session(_MODEL + bytes([version]), optimize=False)
        except OpError:
            return version - 1
    raise AssertionError  # a byte ends sooner
