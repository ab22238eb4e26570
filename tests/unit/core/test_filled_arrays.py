"""Arrays of one value, and shapes that no array can have."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.core.errors import InvalidArgumentError, ResourceExhaustedError
from tfx.core.filled_arrays import check_memory, filled_array


def test_an_array_of_one_value() -> None:
    found = filled_array([2, 3], 7, np.int16)
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, np.full((2, 3), 7))
    assert filled_array([0, 2**60], 1, np.float32).shape == (0, 2**60)


@pytest.mark.parametrize("sizes", [[-1], [2, -3], [-4, -3], [2**62, 2], [2**40, 2**40]])
def test_shapes_that_cannot_be(sizes: list[int]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"must be >= 0|more than 2\*\*63 - 1"):
        filled_array(sizes, 0, np.float32)


@pytest.mark.parametrize("sizes", [[2**30, 2**30], [2**61], [2**62, 1], [0, 2**62]])
def test_shapes_beyond_memory(sizes: list[int]) -> None:
    with pytest.raises(ResourceExhaustedError, match="no memory for a tensor of the shape"):
        filled_array(sizes, 0, np.float64)
    with pytest.raises(ResourceExhaustedError):
        check_memory(sizes, np.float64)
