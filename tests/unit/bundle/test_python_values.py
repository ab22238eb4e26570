"""The walk over values."""

from __future__ import annotations

from tfx.bundle.python_values import Leaf, Record, TensorInfo, Value, leaves, walk


def test_walk_yields_parents_before_children_in_order() -> None:
    inner: Value = {"a": [1, 2], "b": (Leaf(0),)}
    record = Record("Pair", (("left", inner), ("right", None)))
    assert list(walk(record)) == [
        record,
        inner,
        [1, 2],
        1,
        2,
        (Leaf(0),),
        Leaf(0),
        None,
    ]


def test_leaves_come_in_order_of_appearance() -> None:
    value: Value = [Leaf(2), {"b": Leaf(0), "a": (Leaf(1), Record("R", (("x", Leaf(3)),)))}]
    assert leaves(value) == [2, 0, 1, 3]


def test_specs_are_no_leaves() -> None:
    assert leaves([TensorInfo("float32", (None,)), 3]) == []


def test_walk_is_not_limited_by_pythons_stack() -> None:
    value: Value = Leaf(0)
    for _ in range(10_000):
        value = [value]
    assert leaves(value) == [0]
