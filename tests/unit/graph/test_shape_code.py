"""Rules that move elements: numbers and names alike, as ONNX's operators do."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.graph.ir import Graph
from tfx.graph.shape_code import MOVES, contents, sizes
from tfx.graph.symbolic_shapes import propagate

INT64 = 7
NAMES = np.array([["n", 2], [None, 4], ["m", 6]], object)


@pytest.mark.parametrize(
    ("op", "rest", "attrs", "expected"),
    [
        ("Gather", [np.array([2, -3])], {}, [["m", 6], ["n", 2]]),
        ("Slice", [[-1], [-(2**63)], [0], [-1]], {}, [["m", 6], [None, 4], ["n", 2]]),
        ("Slice", [[1], [2**62], [1]], {}, [[2], [4], [6]]),
        ("Transpose", [], {}, [["n", None, "m"], [2, 4, 6]]),
        ("Reshape", [[0, -1, 1]], {}, [[["n"], [2]], [[None], [4]], [["m"], [6]]]),
        ("Concat", [NAMES[:1]], {"axis": 0}, [["n", 2], [None, 4], ["m", 6], ["n", 2]]),
        ("Unsqueeze", [np.array([0])], {}, [NAMES.tolist()]),
    ],
)
def test_elements_move(op, rest, attrs, expected):
    found = MOVES[op]([NAMES, *rest], attrs)
    assert found is not None
    assert found.tolist() == expected


def test_contents_need_every_number():
    graph = Graph("f")
    x = graph.add_input("x", 1, ("n", 4, 5))
    shape = graph.add_node("Shape", (x,), {}, [(INT64, (3,))])
    propagate(shape)
    assert contents(shape.outputs[0]) is None
    assert sizes(x, {"start": -2}) == (4, 5)
    part = graph.add_node("Shape", (x,), {"start": 1}, [(INT64, (2,))])
    propagate(part)
    found = contents(part.outputs[0])
    assert found is not None
    np.testing.assert_array_equal(found, [4, 5])
    assert found.dtype == np.int64
    assert contents(None) is None


def test_rows_of_a_matrix_of_sizes():
    graph = Graph("f")
    x = graph.add_input("x", 1, ("n", 4))
    shape = graph.add_node("Shape", (x,), {}, [(INT64, (2,))])
    one = graph.add_constant(np.array([0]), INT64)
    row = graph.add_node("Unsqueeze", (shape.outputs[0], one), {}, [(INT64, (1, 2))])
    both = graph.add_node(
        "Concat", (row.outputs[0], row.outputs[0]), {"axis": 1}, [(INT64, (1, 4))]
    )
    column = graph.add_node("Transpose", (both.outputs[0],), {}, [(INT64, (4, 1))])
    for node in (shape, row, both, column):
        propagate(node)
    assert column.outputs[0].dims == ("n", 4, "n", 4)
