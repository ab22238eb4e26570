"""Operations on bits against NumPy, in every integer dtype."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import INTEGERS
from tfx.core.errors import InvalidArgumentError

PAIRS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, kind: str) -> None:
    x = np.array([-100, 100, 7, -1]).astype(kind)
    y = np.array([1, 2, 3, 6], kind)
    check(getattr(tf.bitwise, name), [x, y], PAIRS[name](x, y))


@pytest.mark.parametrize("kind", INTEGERS)
def test_invert(kind: str) -> None:
    x = np.array([-100, 100, 7, -1]).astype(kind)
    check(tf.bitwise.invert, [x], ~x)


def test_only_integers() -> None:
    with pytest.raises(InvalidArgumentError, match="an integer dtype"):
        tf.bitwise.bitwise_and(1.0, 2.0)
