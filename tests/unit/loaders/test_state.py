"""Variables as a mapping: reading, replacing, and what is refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.unit.loaders.make_bundle import sample_variables
from tfx.core import errors
from tfx.loaders import Bundle


def test_variables_are_those_that_were_saved(bundle: Bundle) -> None:
    expected = sample_variables()
    assert list(bundle.variables) == list(expected)
    assert len(bundle.variables) == len(expected)
    for name, array in expected.items():
        found = bundle.variables[name]
        assert found.dtype == array.dtype
        assert not found.flags.writeable
        np.testing.assert_array_equal(found, array)
    assert "count" in bundle.variables
    assert bundle.variables.get("nothing") is None
    assert bundle.variables.entry("count").dtype == "int64"
    assert "dense/kernel: float32[4, 3]" in repr(bundle.variables)


def test_what_was_assigned_is_a_copy(bundle: Bundle) -> None:
    kernel = np.ones((4, 3), np.float32)
    bundle.variables["dense/kernel"] = kernel
    kernel[:] = 9
    assert (bundle.variables["dense/kernel"] == 1).all()
    assert not bundle.variables["dense/kernel"].flags.writeable


def test_numbers_take_the_variables_dtype(bundle: Bundle) -> None:
    bundle.variables.assign({"count": 41, "dense/bias": [1, 2, 3]})
    assert bundle.variables["count"].dtype == np.int64
    assert bundle.variables["dense/bias"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("cuont", 1, errors.NotFoundError, "has no variable 'cuont'; did you mean 'count'?"),
        ("count", np.int32(1), errors.DTypeMismatchError, "variable 'count' is int32[], expected"),
        ("dense/bias", [1, 2], errors.InvalidArgumentError, "dimension 0 is 2 instead of 3"),
        ("count", "x", errors.InvalidArgumentError, "variable 'count' is 'x', expected int64[]"),
    ],
)
def test_one_wrong_value_leaves_all(
    bundle: Bundle, name: str, value: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        bundle.variables.assign({"dense/kernel": np.ones((4, 3), np.float32), name: value})
    assert text in str(caught.value)
    np.testing.assert_array_equal(
        bundle.variables["dense/kernel"], sample_variables()["dense/kernel"]
    )


def test_assignments_and_steps_take_turns(bundle: Bundle) -> None:
    # Each step adds one to what it has read; an assignment in between would be lost without turns.
    x, y = np.zeros((1, 4), np.float32), np.zeros((1, 3), np.float32)

    def train() -> None:
        for _ in range(50):
            bundle.call("train_step", {"x": x, "y": y, "rate": 0.0})

    def assign() -> None:
        for _ in range(50):
            bundle.variables["dense/bias"] = np.ones(3, np.float32)

    threads = [threading.Thread(target=work) for work in (train, train, assign)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bundle.variables["count"] == 100
    assert bundle.variables["dense/bias"].tolist() == [1, 1, 1]
