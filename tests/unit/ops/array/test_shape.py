"""``shape``, ``size``, ``rank`` and ``ensure_shape``: eagerly and while tracing."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.ops.array import shape as shape_ops
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import ensure_shape
from tfx.testing import check_grads

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def _graph(*shapes):
    graph = FuncGraph("f")
    with using(graph=graph):
        made = [graph.add_argument(f"x{i}", dtypes.float32.onnx, s) for i, s in enumerate(shapes)]
    return graph, *made


def test_known_sizes_have_any_dtype():
    x = np.zeros([2, 3], np.float32)
    assert shape_ops.size(x, "float32").numpy() == np.float32(6)
    assert shape_ops.size(x, dtypes.int16).dtype is dtypes.int16
    graph, traced = _graph((2, 3))
    with using(graph=graph):
        sizes = shape_ops.shape(traced, dtypes.float64)
    assert sizes.dtype is dtypes.float64 and sizes._symbol.const.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("out_type", [None, "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3, 4)])
def test_shape_size_and_rank(shape, out_type):
    x, kind = np.zeros(shape, np.float32), np.dtype(out_type or np.int32)
    check(lambda x: shape_ops.shape(x, out_type), [x], np.array(shape, kind))
    check(lambda x: shape_ops.size(x, out_type), [x], np.array(x.size, kind))
    check(shape_ops.rank, [x], np.array(len(shape), np.int32))


def test_static_answers_cost_no_node():
    graph, x = _graph((2, 3))
    with using(graph=graph):
        shape_ops.shape(x), shape_ops.size(x), shape_ops.rank(x)
    assert not graph.graph.nodes


def test_unknown_rank():
    graph, x = _graph(None)
    with using(graph=graph):
        assert shape_ops.rank(x).shape == ()
        assert reshape(x, [2, -1]).shape.as_list() == [2, None]
        assert ensure_shape(x, [None, 3]).shape.as_list() == [None, 3]
        assert shape_ops.shape(x).shape.as_list() == [None]


def test_shapes_of_several():
    shapes = shape_ops.shape_n([X, X[0]], "int64")
    assert [s.numpy().tolist() for s in shapes] == [[2, 3, 4], [3, 4]]
    with pytest.raises(InvalidArgumentError, match="ShapeN"):
        shape_ops.shape_n([constant(1), constant(1.0)])


@pytest.mark.parametrize("f", [shape_ops.shape, shape_ops.size])
def test_bad_out_type(f):
    with pytest.raises(InvalidArgumentError, match="Value for attr 'out_type' of float32"):
        shape_ops.shape(X, dtypes.float32)
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, (None, 3))
        with pytest.raises(InvalidArgumentError, match="Value for attr 'out_type' of float32"):
            f(x, dtypes.float32)


# ensure_shape


def test_ensure_shape():
    for wanted in ([2, 3, 4], [None, 3, None], None):
        check(lambda x, w=wanted: ensure_shape(x, w), [X], X)
    check_grads(lambda x: ensure_shape(x, [2, None, 4]) ** 2.0, [X + 1])
    graph, x = _graph((None, 3, None))
    with using(graph=graph):
        assert ensure_shape(x, [2, None, 4]).shape.as_list() == [2, 3, 4]


@pytest.mark.parametrize("wanted", [[2, 3], [2, 3, 5], [None, 2, None], [4, 3, 2]])
def test_ensure_shape_refuses(wanted):
    with pytest.raises(InvalidArgumentError, match="is not compatible with expected shape"):
        ensure_shape(X, wanted)
    if len(wanted) == 3:
        with pytest.raises(InvalidArgumentError):
            run_traced(lambda x: ensure_shape(x, wanted), X)
