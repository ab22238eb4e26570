from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.bundle.python_values import (
    ConstantRef,
    DTypeValue,
    Leaf,
    Opaque,
    Record,
    ShapeValue,
    TensorInfo,
)
from tfx.exporters.manifest_values import numbered, to_value

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (3, 3),
        (np.float32(0.5), 0.5),
        (np.bool_(False), False),
        (tf.float16, DTypeValue("float16")),
        (tf.TensorShape([None, 2]), ShapeValue((None, 2))),
        (tf.TensorSpec(["n", 2], tf.int8, "x"), TensorInfo("int8", ("n", 2), "x")),
        ([1, (2,)], [1, (2,)]),
        ({"a": Point(1, None)}, {"a": Record("Point", (("x", 1), ("y", None)))}),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        ([Leaf(3)], [Leaf(3)]),
    ],
    ids=repr,
)
def test_records(value: Any, record: Any) -> None:
    found = to_value(value)
    assert found == record
    assert type(found) is type(record)


def test_tensors_are_references_where_they_can_be_stored() -> None:
    tensor = tf.constant([1.0])
    stored = []
    assert to_value([tensor], lambda t: stored.append(t) or 7) == [ConstantRef(7)]
    (kept,) = stored
    assert kept is tensor
    assert isinstance(to_value(tensor), Opaque)


def test_other_objects_leave_a_note_without_addresses() -> None:
    note = to_value(object())
    assert isinstance(note, Opaque)
    assert note == Opaque("object", "<object object>")
    assert "0x" not in str(to_value({(1, 2): lambda: 0}))
    assert len(to_value("x" * 1000 and set(range(1000))).text) == 200  # type: ignore[union-attr]


def test_integers_beyond_the_format_leave_a_note() -> None:
    assert to_value(1 << 9999) == 1 << 9999
    with pytest.raises(ValueError, match="digits"):
        to_value(1 << 20_000)


def test_leaves_are_numbered_in_flattening_order() -> None:
    spec = tf.TensorSpec([], tf.float32)
    found = numbered({"b": [spec, None], "a": (spec, {"z": spec})})
    assert found == {"b": [Leaf(2), None], "a": (Leaf(0), {"z": Leaf(1)})}
    assert list(found) == ["b", "a"]
