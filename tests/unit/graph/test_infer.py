"""Types of outputs, and the message where there is no such thing."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.core.errors import InvalidArgumentError
from tfx.graph import infer as inference
from tfx.graph.infer import describe, infer, refusal
from tfx.graph.ir import Value

FLOAT, INT64, INT32 = 1, 7, 6


def _value(shape, dtype=FLOAT, const=None):
    return Value("x", dtype, shape, const=const)


def _numbers(*items):
    return _value((len(items),), INT64, np.array(items, np.int64))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "shape"),
    [
        ("Add", [_value((2, 1)), _value((3,))], {}, (2, 3)),
        ("Add", [_value(("n", 3)), _value((3,))], {}, ("n", 3)),
        ("MatMul", [_value(("n", 4)), _value((4, 5))], {}, ("n", 5)),
        ("MatMul", [_value(None), _value((4, 5))], {}, None),
        ("Transpose", [_value((1, 2, 3))], {"perm": (2, 0, 1)}, (3, 1, 2)),
        ("Reshape", [_value((2, 6)), _numbers(3, -1)], {}, (3, 4)),
        ("Expand", [_value((1, 3)), _numbers(2, 1, 3)], {}, (2, 1, 3)),
        ("Concat", [_value((2, 3)), _value((4, 3))], {"axis": 0}, (6, 3)),
        ("Slice", [_value((5,)), _numbers(1), _numbers(4)], {}, (3,)),
        ("Unsqueeze", [_value((5,)), _numbers(0)], {}, (1, 5)),
        ("ReduceSum", [_value((2, 3)), _numbers(1)], {"keepdims": 0}, (2,)),
    ],
)
def test_shapes(op, inputs, attrs, shape):
    assert infer(op, inputs, attrs) == [(FLOAT, shape)]


def test_several_outputs():
    inputs = [_value((6,)), _numbers(2, 4)]
    assert infer("Split", inputs, {"axis": 0}, 2) == [(FLOAT, (2,)), (FLOAT, (4,))]
    assert [d for d, _ in infer("TopK", [_value((6,)), _numbers(2)], {}, 2)] == [FLOAT, INT64]


def test_contents_are_part_of_what_is_remembered():
    x = _value((2, 6))
    assert infer("Reshape", [x, _numbers(3, 4)], {}) == [(FLOAT, (3, 4))]
    assert infer("Reshape", [x, _numbers(4, 3)], {}) == [(FLOAT, (4, 3))]
    assert infer("Reshape", [x, _value((2,), INT64)], {}) == [(FLOAT, (None, None))]


def test_attributes_are_part_of_what_is_remembered():
    x = _value((2, 3))
    assert infer("Concat", [x, x], {"axis": 0}) == [(FLOAT, (4, 3))]
    assert infer("Concat", [x, x], {"axis": 1}) == [(FLOAT, (2, 6))]


def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(inference, "_memo", {})
    monkeypatch.setattr(inference, "_MEMO_LIMIT", 4)
    for i in range(1, 20):
        assert infer("Neg", [_value((i,))], {}) == [(FLOAT, (i,))]
    assert len(inference._memo) <= 4


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        (
            "MatMul",
            [_value((2, 3)), _value((4, 5))],
            {},
            r"MatMul cannot be applied to \(float32\[2, 3\], float32\[4, 5\]\): Incompatible",
        ),
        ("Add", [_value((2,)), _value((2,), INT32)], {}, r"\(float32\[2\], int32\[2\]\)"),
        ("Add", [_value(("x.d0",)), _value((2, 3)), _value(())], {}, "takes 2 to 2 inputs"),
        ("Add", [_value(())], {}, r"\(A, B\); got 1"),
        ("Reshape", [_value((2, 3)), _numbers(4)], {}, r"6 elements cannot have the shape \[4\]"),
        ("Softmax", [_value((2,))], {"axes": 1}, "no attribute 'axes'"),
        ("Cast", [_value((2,))], {}, "needs the attribute 'to'"),
        ("Softmax", [_value((2,))], {"axis": "last"}, "Attribute 'axis' got 'last'; expected int"),
    ],
)
def test_refusals(op, inputs, attrs, message):
    with pytest.raises(InvalidArgumentError, match=message):
        infer(op, inputs, attrs)


def test_too_many_outputs():
    with pytest.raises(InvalidArgumentError, match="has 2 to 2 outputs; 3 were asked for"):
        infer("TopK", [_value((6,)), _numbers(2)], {}, 3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (_value(()), "float32[]"),
        (_value(("batch", 3)), "float32[batch, 3]"),
        (_value(("x.d0", None), INT64), "int64[None, None]"),
        (_value(None), "float32<unknown rank>"),
    ],
)
def test_describe(value, text):
    assert describe(value) == text


def test_refusal_is_short():
    text = refusal("Add", [None], "(op_type:Add): [ShapeInferenceError] Incompatible dimensions")
    assert text == "Add cannot be applied to (nothing): Incompatible dimensions"
