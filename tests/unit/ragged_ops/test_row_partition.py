"""``tf.experimental.RowPartition``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

RowPartition = tf.experimental.RowPartition
SPLITS = [0, 3, 3, 5]
FACTORIES = {
    "from_row_splits": (SPLITS,),
    "from_row_lengths": ([3, 0, 2],),
    "from_row_starts": ([0, 3, 3], 5),
    "from_row_limits": ([3, 3, 5],),
    "from_value_rowids": ([0, 0, 0, 2, 2],),
}
EXPECTED = {
    "row_splits": SPLITS,
    "row_lengths": [3, 0, 2],
    "row_starts": [0, 3, 3],
    "row_limits": [3, 3, 5],
    "value_rowids": [0, 0, 0, 2, 2],
    "offsets_in_rows": [0, 1, 2, 0, 1],
    "nrows": 3,
    "nvals": 5,
}


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("kind", [tf.int32, tf.int64])
def test_all_encodings_follow_from_each(factory, kind):
    rows = getattr(RowPartition, factory)(*FACTORIES[factory], dtype=kind)
    assert (rows.dtype, rows.static_nrows, rows.is_uniform()) == (kind, 3, False)
    assert rows.uniform_row_length() is rows.static_uniform_row_length is None
    assert repr(rows) == "tf.RowPartition(row_splits=[0 3 3 5])"
    for name, expected in EXPECTED.items():
        found = getattr(rows, name)()
        assert found.dtype == kind
        np.testing.assert_array_equal(found, expected)
    assert rows.with_dtype(tf.int64).row_splits().dtype == tf.int64


def test_rows_of_one_length():
    for given in ({"nvals": 6}, {"nrows": 3}, {"nvals": 6, "nrows": 3}):
        rows = RowPartition.from_uniform_row_length(2, **given)
        assert (rows.static_nrows, rows.static_uniform_row_length) == (3, 2)
        assert repr(rows) == "tf.RowPartition(nrows=3, uniform_row_length=2)"
        np.testing.assert_array_equal(rows.row_splits(), [0, 2, 4, 6])
    assert RowPartition.from_uniform_row_length(0, nvals=0, nrows=3).static_nrows == 3
    for bad in ({}, {"nvals": 5}):
        with pytest.raises(ValueError, match="nrows"):
            RowPartition.from_uniform_row_length(2, **bad)


def test_functions_take_and_return_them():
    @tf.function
    def shifted(rows, lengths):
        return RowPartition.from_row_lengths(rows.row_lengths() + lengths)

    rows = RowPartition.from_row_lengths([3, 0, 2])
    found = shifted(rows, tf.constant([0, 1, 0], tf.int64))
    np.testing.assert_array_equal(found.row_splits(), [0, 3, 4, 6])
    assert rows == rows and rows != RowPartition.from_row_lengths([3, 0, 2])


@pytest.mark.parametrize(
    ("factory", "given"),
    [
        ("from_row_splits", ([0, 3, 2],)),
        ("from_row_splits", ([1, 3],)),
        ("from_row_splits", ([],)),
        ("from_value_rowids", ([0, 2, 1],)),
        ("from_value_rowids", ([0, 0, 5], 4)),
        ("from_row_lengths", ([[1]],)),
        ("__call__", ([0, 2],)),
    ],
)
def test_refusals(factory, given):
    made = RowPartition if factory == "__call__" else getattr(RowPartition, factory)
    with pytest.raises(ValueError):
        made(*given)
