"""Errors in units of the last place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def ulps(found: Any, wanted: Any) -> float:
    """The largest error of numbers, in spacings of their type at the right result.

    Below the smallest normal number of the type a spacing is that of the smallest normal number:
    what is denormal may be 0. Infinite and missing numbers must be the same, except that what is
    within four units of the largest number may be infinite.

    Args:
        found: A floating tensor or array.
        wanted: The right results, in a longer type.
    """
    given = np.asarray(found)
    info: Any = (ml_dtypes.finfo if given.dtype.kind == "V" else np.finfo)(given.dtype)
    y, right = given.astype(np.longdouble), np.asarray(wanted, np.longdouble)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(right))
    _, exponents = np.frexp(np.maximum(np.abs(right), float(info.smallest_normal)))
    spacing = np.ldexp(np.longdouble(1), exponents - 1 - info.nmant)
    with np.errstate(all="ignore"):
        errors = np.abs(y - right) / spacing
    largest = float(info.max) * (1 - 4 * float(info.eps))
    beyond = (np.abs(right) >= largest) & (np.abs(y) >= largest) & (np.sign(y) == np.sign(right))
    errors[beyond | (y == right) | np.isnan(right)] = 0
    tiny = float(info.smallest_normal)
    errors[(np.abs(right) < tiny) & (np.abs(y) <= tiny)] = 0
    return float(errors.max(initial=0))
