"""Which element-wise operators the kernels have, and why they have not the others."""

from __future__ import annotations

import onnx
import pytest
from onnx import defs

from tests.unit.kernels.fused_graphs import needs_library
from tfx.graph.fusion.instructions import is_written
from tfx.graph.ir import Graph
from tfx.graph.traits import operators
from tfx.kernels.library import usable_library

pytestmark = needs_library

# Of ONNX's types those that a program has; the others stay with ONNX Runtime: halves, of which
# processors without instructions for them make float32, and integers of 8 and 16 bits, which only
# quantized models compute with.
TYPES = ("float", "double", "int32", "int64", "uint32", "uint64", "bool")

_BITS = "changes no bits: it takes the time of a copy, which ONNX Runtime leaves out"
_STRINGS = "programs have no strings"
_UNSIGNED = "unsigned numbers are bits and indices in programs, which are compared, not ordered so"
_POWERS = "powers of integers go through float64 in ONNX Runtime, element by element"
_ACTIVATIONS = "activations are of floating numbers, and no layer has others"
_NEWER = "of signed numbers only in an opset later than the one that plans are written in"
UNSIGNED = ("uint32", "uint64")
MISSING = {
    ("BitCast", TYPES): _BITS,
    ("BitShift", ("int32", "int64")): _NEWER,
    ("RegexFullMatch", ("string",)): _STRINGS,
    ("StringConcat", ("string",)): _STRINGS,
    ("Abs", UNSIGNED): _UNSIGNED,
    ("Sign", UNSIGNED): _UNSIGNED,
    ("Max", UNSIGNED): _UNSIGNED,
    ("Min", UNSIGNED): _UNSIGNED,
    ("Clip", UNSIGNED): _UNSIGNED,
    ("Div", UNSIGNED): _UNSIGNED,
    ("Mod", UNSIGNED): _UNSIGNED,
    ("Pow", ("int32", "int64", *UNSIGNED)): _POWERS,
    ("Relu", ("int32", "int64")): _ACTIVATIONS,
    ("Shrink", ("int32", "int64", *UNSIGNED)): _ACTIVATIONS,
}
_ATTRIBUTES = {"BitShift": {"direction": "LEFT"}, "Cast": {"to": onnx.TensorProto.FLOAT}}


def code(name: str) -> int:
    """The number of a type, by its name in a schema."""
    found: int = getattr(onnx.TensorProto, name.removeprefix("tensor(").removesuffix(")").upper())
    return found


def nodes_of(op: str):
    """A node of an operator for each type that its last operand may have, by the type."""
    schema = defs.get_schema(op)
    constraints = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    formal = list(schema.inputs)
    if formal[-1].option == defs.OpSchema.FormalParameterOption.Variadic:
        formal *= 2
    for name in constraints.get(formal[-1].type_str, [formal[-1].type_str]):
        if name.startswith("seq") or name.startswith("optional"):
            continue
        kinds = []
        for x in [*formal, schema.outputs[0]]:
            allowed = constraints.get(x.type_str, [x.type_str])
            kinds.append(name if name in allowed else allowed[0])
        graph = Graph("g")
        inputs = [graph.add_input(f"x{i}", code(k), (3,)) for i, k in enumerate(kinds[:-1])]
        attrs = dict(_ATTRIBUTES.get(op, {}))
        if op == "Mod" and name in ("tensor(float)", "tensor(double)"):
            attrs["fmod"] = 1
        if op == "Cast" and name == "tensor(float)":
            attrs["to"] = onnx.TensorProto.DOUBLE
        result = attrs["to"] if op == "Cast" else code(kinds[-1])
        yield name[7:-1], graph.add_node(op, inputs, attrs, [(result, (3,))])


def test_of_each_element_wise_operator_or_a_reason():
    library = usable_library()
    assert library is not None
    missing, tried = set(), 0
    for op in (*operators(lambda t: t.elementwise), "Clip"):
        for kind, node in nodes_of(op):
            if kind not in (*TYPES, "string"):
                continue
            tried += 1
            if not is_written(node, library.instructions):
                missing.add((op, kind))
    named = {(op, kind) for op, kinds in MISSING for kind in kinds}
    strings = {pair for pair in missing if pair[1] == "string"}  # none of any operator
    assert missing - strings - named == set(), "neither an instruction nor a reason"
    assert {pair for pair in named if pair[1] != "string"} - missing == set(), "a reason too much"
    assert tried > 150


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8", "int16", "uint16"])
def test_other_types_stay_with_onnx_runtime(kind):
    library = usable_library()
    assert library is not None
    graph = Graph("g")
    x = graph.add_input("x", code(kind), (3,))
    assert not is_written(
        graph.add_node("Add", [x, x], {}, [(x.dtype, (3,))]), library.instructions
    )
