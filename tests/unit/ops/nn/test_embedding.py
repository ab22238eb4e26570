"""Rows of tables."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.framework.variable import Variable
from tfx.ops.nn.embedding import embedding_lookup
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,)])
def test_rows(shape, kind, rng):
    table, ids = rng.standard_normal((5, 2)), rng.integers(0, 5, shape).astype(kind)
    assert_close(embedding_lookup(table, ids), table[ids])
    assert_close(run_traced(embedding_lookup, table, ids), table[ids])
    assert_close(embedding_lookup(Variable(table), ids), table[ids])
    if ids.size:
        check_grads(lambda t: embedding_lookup(t, constant(ids)), [table])


def test_a_table_in_pieces(rng):
    table = rng.standard_normal((5, 2))
    pieces = [constant(table[:3]), constant(table[3:])]
    assert_close(embedding_lookup(pieces, [0, 2, 3, 4]), table[[0, 2, 3, 4]])
    assert_close(embedding_lookup([constant(table)], [4]), table[[4]])


def test_max_norm():
    table = [[3.0, 4.0], [0.3, 0.4]]
    assert_close(embedding_lookup(table, [0, 1], max_norm=1.0), [[0.6, 0.8], [0.3, 0.4]])


def test_errors():
    with pytest.raises(InvalidArgumentError, match=r"indices\[0\] = 3"):
        embedding_lookup(np.ones((2, 2)), [3])
    with pytest.raises(ValueError, match="must be specified"):
        embedding_lookup([], [0])
