"""Checks of names, ids and shapes that the tests of whole manifests do not reach."""

from __future__ import annotations

import pytest

from tfx.bundle import limits
from tfx.bundle.check_values import (
    check_identifiers,
    check_name,
    check_shape,
    check_value,
    compatible,
)
from tfx.bundle.python_values import DTypeValue, Record, Shape, ShapeValue, Value
from tfx.core.errors import BundleError


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (None, (1, 2), True),
        ((), (), True),
        ((), (1,), False),
        ((3, None), (3, 8), True),
        ((3, "n"), (3, 8), True),
        (("n",), ("m",), True),
        ((3,), (4,), False),
    ],
)
def test_compatible_asks_whether_one_tensor_could_have_both(
    one: Shape, other: Shape, expected: bool
) -> None:
    assert compatible(one, other) is expected
    assert compatible(other, one) is expected


def test_a_name_has_a_longest_length() -> None:
    check_name("x" * limits.MAX_NAME_LENGTH, "here", "name")
    with pytest.raises(BundleError, match="limit"):
        check_name("x" * (limits.MAX_NAME_LENGTH + 1), "here", "name")


@pytest.mark.parametrize("name", ["1a", "a b", "a-b", "lambda", "a\0"])
def test_names_that_python_could_not_have_are_refused(name: str) -> None:
    with pytest.raises(BundleError, match="identifier"):
        check_identifiers(["fine", name], "here", "field")


def test_a_name_of_a_dimension_has_a_longest_length() -> None:
    with pytest.raises(BundleError, match="shape is"):
        check_shape(("n" * (limits.MAX_NAME_LENGTH + 1),), "here")


@pytest.mark.parametrize(
    "value",
    [
        {"a": [DTypeValue("float33")]},
        (ShapeValue((-1,)),),
        Record("R", (("x", 1), ("x", 2))),
        Record("R", (("not a name", 1),)),
    ],
)
def test_a_mistake_deep_inside_a_value_is_found(value: Value) -> None:
    with pytest.raises(BundleError, match=r"^here: "):
        check_value(value, "here", 0)
