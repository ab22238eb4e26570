"""``collapse_repeated``: rows of labels against ``itertools.groupby``."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tfx as tf


@pytest.mark.parametrize("shape", [(4, 7), (1, 1), (0, 3), (3, 0)])
def test_rows_without_repetitions(shape: Any, rng: Any) -> None:
    labels = rng.integers(0, 3, shape)
    lengths = rng.integers(0, shape[1] + 1, shape[0])
    rows = [
        [key for key, _ in itertools.groupby(row[:n])]
        for row, n in zip(labels.tolist(), lengths, strict=True)
    ]
    longest = max(map(len, rows), default=0)
    expected = [row + [0] * (longest - len(row)) for row in rows]

    def run(x: Any, n: Any) -> Any:
        return tf.nn.collapse_repeated(x, n)

    for each in (run, tf.function(run)):
        found, counts = each(tf.constant(labels), tf.constant(lengths))
        assert found.dtype is tf.int64 and counts.dtype is tf.int32
        np.testing.assert_array_equal(found, np.reshape(expected, (shape[0], longest)))
        np.testing.assert_array_equal(counts, [len(row) for row in rows])


def test_a_vector_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="longest"):
        tf.nn.collapse_repeated([1, 1], [2])
