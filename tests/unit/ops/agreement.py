"""The same numbers every way a function of tensors can be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.unit.ops.tracing import run_traced
from tfx.core import nest
from tfx.framework.convert import convert_to_tensor
from tfx.testing import assert_close


def check(f: Callable[..., Any], args: list[Any], expected: Any) -> None:
    """Assert what ``f`` gives: eagerly, traced with shapes known, traced with no dimension known.

    Shapes and dtypes must agree too (an expected Python number or list has no dtype to compare).
    """
    eager = f(*[convert_to_tensor(a) for a in args])
    _compare(eager, expected)
    for static in (True, False):
        _compare(run_traced(f, *args, static=static), expected)


def _compare(actual: Any, expected: Any) -> None:
    left, right = nest.flatten(actual), _leaves(expected)
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        if isinstance(b, np.ndarray | np.generic):
            assert np.asarray(a).dtype == b.dtype
        assert_close(a, b)


def _leaves(expected: Any) -> list[Any]:
    if isinstance(expected, tuple) or (isinstance(expected, list) and _arrays(expected)):
        return list(expected)
    return [expected]


def _arrays(items: list[Any]) -> bool:
    return any(isinstance(x, np.ndarray | np.generic) for x in items)
