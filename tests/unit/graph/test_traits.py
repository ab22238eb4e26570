"""The facts about operators, against onnx's registry and what kernels compute."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest

import tfx as tf
from tfx.graph import schema
from tfx.graph.ir import CALL, HOST
from tfx.graph.traits import _ROWS, OpTraits, operators, traits


def test_every_operator_has_a_row_and_no_other_name_has() -> None:
    assert set(_ROWS) == {*schema.operator_names(), CALL, HOST}


def test_an_operator_that_nothing_is_known_of_has_no_special_facts() -> None:
    assert traits("Unheard") == OpTraits()


def test_every_operator_with_a_seed_is_random() -> None:
    with_seed = {
        found.name
        for found in onnx.defs.get_all_schemas()
        if found.domain == "" and "seed" in found.attributes
    }
    assert set(operators(lambda t: t.random)) == with_seed


def test_inputs_that_are_named_by_number_exist() -> None:
    for op in operators(lambda t: t.size_from):
        assert max(traits(op).size_from) < len(schema.operator(op).inputs), op


def test_elementwise_operators_take_as_many_operands_as_they_say() -> None:
    for op in operators(lambda t: t.elementwise == "unary"):
        assert schema.operator(op).max_inputs == 1, op
    for op in operators(lambda t: t.elementwise == "broadcast"):
        assert schema.operator(op).max_inputs > 1, op


def _numbers(op: str, count: int) -> list[np.ndarray]:
    """Operands of different shapes that broadcast, of a type that the operator takes."""
    allowed = schema.operator(op).schema.type_constraints[0].allowed_type_strs
    rng = np.random.default_rng(len(op))
    shapes = [(3, 1, 4), (2, 1), (4,)][:count]
    if "tensor(float)" in allowed:
        return [rng.uniform(1.0, 2.0, s).astype(np.float32) for s in shapes]
    if "tensor(int32)" in allowed:
        return [rng.integers(0, 9, s).astype(np.int32) for s in shapes]
    if "tensor(uint32)" in allowed:
        return [rng.integers(0, 9, s).astype(np.uint32) for s in shapes]
    if "tensor(bool)" in allowed:
        return [rng.integers(0, 2, s).astype(np.bool_) for s in shapes]
    return [rng.choice([b"a", b"b"], s).astype(object) for s in shapes]


_SPECIAL = {
    "Cast": {"to": 11},
    "BitCast": {"to": 6},
    "BitShift": {"direction": "LEFT"},
    "RegexFullMatch": {"pattern": "a"},
}


def _apply(op: str, operands: list[np.ndarray]) -> np.ndarray:
    attributes = dict(_SPECIAL.get(op, {}))
    if op == "Mod" and operands[0].dtype == np.float32:
        attributes["fmod"] = 1
    if op == "Where":
        operands = [operands[0] > 1.5, *operands[1:]]
    return np.asarray(getattr(tf.raw, op)(*operands, **attributes).numpy())


@pytest.mark.parametrize("op", operators(lambda t: t.elementwise))
def test_what_is_computed_element_by_element_does_not_see_the_others(op: str) -> None:
    unary = traits(op).elementwise == "unary"
    many = schema.operator(op).min_inputs
    operands = _numbers(op, 1 if unary else max(many, 2))
    if op == "StringConcat":
        operands = [np.char.add(o.astype("S"), b"x").astype(object) for o in operands]
    result = _apply(op, operands)
    spread = np.broadcast_arrays(*operands)
    assert result.shape == spread[0].shape
    place = tuple(int(i) for i in np.random.default_rng(1).integers(0, spread[0].shape))
    alone = _apply(op, [np.asarray(o[place]).reshape(1) for o in spread])
    if result.dtype.kind == "f":
        np.testing.assert_allclose(alone[0], result[place], rtol=1e-6)
    else:
        assert alone[0] == result[place]


@pytest.mark.parametrize("op", operators(lambda t: t.commutative))
def test_what_commutes_does_so_to_the_last_bit(op: str) -> None:
    x, y = _numbers(op, 2)
    np.testing.assert_array_equal(_apply(op, [x, y]), _apply(op, [y, x]))


def test_columns_are_all_used() -> None:
    for column in dataclasses.fields(OpTraits):
        plain = getattr(OpTraits(), column.name)
        assert any(getattr(row, column.name) != plain for row in _ROWS.values()), column.name
