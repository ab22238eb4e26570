"""``tfx.bitwise``: operations on the bits of integers."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.math.bitwise import bitwise_and as bitwise_and
from tfx.ops.math.bitwise import bitwise_or as bitwise_or
from tfx.ops.math.bitwise import bitwise_xor as bitwise_xor
from tfx.ops.math.bitwise import invert as invert
from tfx.ops.math.bitwise import left_shift as left_shift
from tfx.ops.math.bitwise import right_shift as right_shift

_complete(__name__)
