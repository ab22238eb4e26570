"""What the ONNX standard says, as the rest asks for it."""

from __future__ import annotations

import onnx.defs
import pytest

from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.graph import schema


def test_operator():
    op = schema.operator("Softmax")
    assert (op.opset, op.inputs, op.outputs) == (schema.BASE_OPSET, ("input",), ("output",))
    assert op.attributes["axis"] == (int(onnx.AttributeProto.INT), False, -1)


def test_newer_operators_come_with_their_opset():
    assert schema.operator("RMSNormalization").opset == 23


def test_text_defaults_are_text():
    assert schema.operator("Conv").attributes["auto_pad"][2] == "NOTSET"
    assert schema.operator("Conv").attributes["group"][2] == 1
    assert schema.operator("Conv").attributes["strides"][2] is None


def test_unknown_operator():
    with pytest.raises(NotFoundError, match=r"'MatMull' is not an operator.*mean 'MatMul'"):
        schema.operator("MatMull")


def test_deprecated_operators_are_not_offered():
    assert "Upsample" not in schema.operator_names()
    with pytest.raises(NotFoundError, match="deprecated"):
        schema.operator("Upsample")


def test_names_are_those_of_the_standard():
    names = schema.operator_names()
    assert list(names) == sorted(set(names))
    assert len(names) > 190
    assert {"Add", "Loop", "LSTM", "RMSNormalization"} <= set(names)


def test_attributes_are_checked():
    softmax, cast = schema.operator("Softmax"), schema.operator("Cast")
    schema.check_attributes(softmax, {"axis": 1})
    with pytest.raises(InvalidArgumentError, match=r"Softmax has no attribute 'axes'; it has axis"):
        schema.check_attributes(softmax, {"axes": 1})
    with pytest.raises(InvalidArgumentError, match="Cast needs the attribute 'to'"):
        schema.check_attributes(cast, {})
