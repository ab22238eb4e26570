"""Generated dictionaries equal those that zip makes."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.function.execution.feeds import by_values, feeds_from_tensors


@pytest.mark.parametrize("count", [0, 1, 3, 32, 33, 200])
def test_inputs_get_their_names(count: int) -> None:
    names = [f"%in{i}" for i in range(count)]
    tensors = [tf.constant(float(i)) for i in range(count)]
    values = [t._raw for t in tensors]
    expected = dict(zip(names, values, strict=True))
    assert feeds_from_tensors(names)(*tensors) == expected
    assert by_values(names)(*values) == expected
    for wrong in (values[1:], [*values, None]) if count else ([None],):
        with pytest.raises((TypeError, ValueError)):
            by_values(names)(*wrong)


def test_one_function_serves_all_plans_of_its_kind() -> None:
    assert feeds_from_tensors(["a", "b"]) is feeds_from_tensors(["a", "b"])
    assert feeds_from_tensors(["a", "b"]) is not by_values(["a", "b"])
