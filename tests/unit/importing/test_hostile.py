"""Models that nobody should have made: a clear error that names the model, and never a crash."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tfx as tf
from tests.unit.importing.samples import BOOL, FLOAT, constant, make, node, numbers, value

Malformed = tf.errors.BundleError
Unsupported = tf.errors.UnimplementedError


def stored(**fields: Any) -> onnx.ModelProto:
    """A model that adds an initializer made of these fields."""
    tensor = TensorProto(**{"name": "w", "data_type": FLOAT, "dims": [3], **fields})
    return make([node("Add", ["x", "w"], ["y"])], stored=[tensor])


def nested(depth: int) -> onnx.ModelProto:
    flat = helper.make_graph([node("Identity", ["x"], ["e"])], "b", [], [value("e", None)])
    inner = flat
    for i in range(depth):
        branch = node("If", ["c"], [f"o{i}"], then_branch=inner, else_branch=flat)
        inner = helper.make_graph([branch], "b", [], [value(f"o{i}", None)])
    last = node("If", ["c"], ["y"], then_branch=inner, else_branch=flat)
    return make([last], [value("x", [2]), value("c", [], BOOL)])


def functions(*bodies: list[Any]) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
    made = [
        helper.make_function("f", f"F{i}", ["a"], ["b"], nodes, opsets)
        for i, nodes in enumerate(bodies)
    ]
    call = node("F0", ["x"], ["y"], domain="f")
    return make([call], domains=("f",), functions=made)


def doubling(count: int) -> onnx.ModelProto:
    """Functions that call the next one twice."""
    bodies = [
        [node(f"F{i + 1}", ["a"], ["t"], domain="f"), node(f"F{i + 1}", ["t"], ["b"], domain="f")]
        for i in range(count)
    ]
    return functions(*bodies, [node("Relu", ["a"], ["b"])])


def sparse(dims: int, indices: list[int]) -> onnx.ModelProto:
    model = make([node("Add", ["x", "w"], ["y"])])
    tensor = model.graph.sparse_initializer.add(dims=[dims])
    tensor.values.CopyFrom(constant("w", np.ones(2, np.float32)))
    tensor.indices.CopyFrom(constant("", np.array(indices)))
    return model


relu, add = node("Relu", ["x"], ["y"]), node("Add", ["x", "nothing"], ["y"], name="sum")
circle = [node("Add", ["x", "b"], ["a"], name="n1"), node("Relu", ["a"], ["b"], name="n2")]
two = helper.make_graph([node("Identity", ["x"], ["e"])], "b", [], [value("e", None)])
none = helper.make_graph([], "b", [], [])
CASES: dict[str, tuple[Any, type[Exception], str]] = {
    "empty": (b"", Malformed, "the model: is not an ONNX model"),
    "text": (b"not a model at all", Malformed, "is not an ONNX model"),
    "number": (3, ValueError, "model is 3 of type int, expected the path"),
    "nothing": (None, ValueError, "model is None"),
    "no file": ("/no/such/file.onnx", tf.errors.NotFoundError, "no such file"),
    "a folder": (os.getcwd(), Malformed, "not a plain file"),
    "missing input": (make([add]), Malformed, r"'sum' \(Add\) uses 'nothing'"),
    "missing output": (make([], outputs=[value("z", None)]), Malformed, "output 'z'"),
    "circle": (
        make([*circle, relu]), Malformed, "circle: node 'n1' .Add. <- node 'n2' .Relu. <- node 'n1'"
    ),
    "itself": (make([node("Add", ["x", "y"], ["y"])]), Malformed, "in a circle"),
    "made twice": (make([relu, relu]), Malformed, "makes 'y' twice"),
    "two inputs": (make([relu], [value("x", [1])] * 2), Malformed, "two inputs called 'x'"),
    "no operator": (make([node("Rleu", ["x"], ["y"])]), Malformed, "Did you mean 'Relu'"),
    "contrib": (
        make([node("GroupNorm", ["x"], ["y"], domain="com.microsoft", name="norm")]),
        Unsupported,
        r"node 'norm' .*com.microsoft::GroupNorm.*without ONNX Runtime's own.*save_onnx",
    ),
    "attribute": (make([node("Relu", ["x"], ["y"], a=1)]), Malformed, "no attribute 'a'"),
    "attribute's type": (make([node("Softmax", ["x"], ["y"], axis="q")]), Malformed, "got 'q'"),
    "negative size": (stored(dims=[-3]), Malformed, r"'w' has the shape \(-3,\)"),
    "short": (stored(raw_data=b"1234"), Malformed, "'w' cannot be read"),
    "giant": (stored(dims=[1 << 40, 1 << 22], raw_data=b"1234"), Malformed, "cannot be read"),
    "overflow": (stored(dims=[1 << 62, 4]), Malformed, "cannot be read"),
    "unknown dtype": (stored(data_type=99, raw_data=b"1"), Unsupported, "'w' has a dtype"),
    "other dtype": (stored(data_type=7, raw_data=bytes(24)), Malformed, "inconsistent type"),
    "arity": (make([node("Add", ["x"], ["y"])]), Malformed, "takes 2 to 2 inputs"),
    "outputs": (make([node("Relu", ["x"], ["y", "z"])]), Malformed, "2 were asked for"),
    "no type": (make([relu], [onnx.ValueInfoProto(name="x")]), Unsupported, "input 'x'"),
    "newest": (make([relu], opset=99), Unsupported, "of opset 99"),
    "oldest": (make([relu], opset=0), Unsupported, "of opset 0"),
    "branches": (
        make([node("If", ["c"], ["y"], then_branch=two, else_branch=none)],
             [value("x", [2]), value("c", [], BOOL)]),
        Malformed,
        "different numbers of results",
    ),
    "loop": (make([node("Loop", ["", "", "x"], ["y"], body=none)]), Malformed, "body of a Loop"),
    "constant": (make([node("Constant", [], ["y"])]), Malformed, "has one attribute"),
    "recursion": (functions([node("F0", ["a"], ["b"], domain="f")]), Malformed, "calls itself"),
    "bomb": (doubling(40), Malformed, "nodes with its functions written out, limit 500,000"),
    "sparse": (sparse(1 << 40, [0, 1]), Malformed, "more than fits into memory"),
    "sparse index": (sparse(5, [0, 1 << 50]), Malformed, "do not fit its 2 values"),
    "left out": (make([node("Sum", ["x", "", "x"], ["y"])]), Malformed, r"its input 1 \(data_0\)"),
    "negative result": (
        make([node("Pad", ["x", "p"], ["y"])], stored=[constant("p", np.array([-9, 0, 0, 0]))]),
        Malformed,
        r"result would be of shape \(-7, 3\)",
    ),
    "reshape": (
        make([node("Reshape", ["x", "s"], ["y"])], stored=[constant("s", np.array([7, 7]))]),
        Malformed,
        "6 elements cannot have the shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_said(name: str) -> None:
    model, kind, message = CASES[name]
    with pytest.raises(kind, match=message):
        tf.import_onnx(model)


def test_deep_nesting_works_as_far_as_protobuf_goes() -> None:
    model = tf.import_onnx(nested(12))
    np.testing.assert_array_equal(model(np.float32([1, 2]), True), [1, 2])


def external(location: str, offset: str = "0", length: str = "12") -> onnx.ModelProto:
    model = stored(data_location=TensorProto.EXTERNAL)
    place = {"location": location, "offset": offset, "length": length}
    for key, text in place.items():
        model.graph.initializer[0].external_data.add(key=key, value=text)
    return model


def test_external_data_is_read_below_the_models_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    weights = numbers(3)
    for place in (folder / "w.bin", folder / "sub" / "w.bin", tmp_path / "outside.bin"):
        place.write_bytes(weights.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    os.mkfifo(folder / "pipe")
    path = folder / "m.onnx"
    for good in ("w.bin", "./w.bin", "sub/w.bin", "sub/../w.bin"):
        onnx.save(external(good), path)
        model = tf.import_onnx(path)
        np.testing.assert_array_equal(model.weights["w"], weights)
    bad = ["../outside.bin", str(tmp_path / "outside.bin"), "link.bin", "pipe", "", ".", "no.bin"]
    for location in bad:
        path.write_bytes(external(location).SerializeToString())
        with pytest.raises(
            Malformed, match=r"tensor .w. has its data in the file.*may not be read"
        ):
            tf.import_onnx(path)
    for offset, length in (("-4", "12"), ("4", "12"), ("0", str(1 << 60)), ("x", "12"), ("0", "8")):
        path.write_bytes(external("w.bin", offset, length).SerializeToString())
        with pytest.raises(Malformed, match="'w'"):
            tf.import_onnx(path)
    with pytest.raises(Malformed, match="give the path of the model"):
        tf.import_onnx(external("w.bin"))


def damaged(data: bytes, seed: int) -> bytes:
    dice = random.Random(seed)
    result = bytearray(data)
    for _ in range(dice.choice([1, 2, 4])):
        at = dice.randrange(len(result))
        kind = dice.randrange(4)
        if kind == 0:
            result[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            result[at] = dice.randrange(256)
        elif kind == 2:
            del result[at : at + dice.randrange(1, 8)]
        else:
            result[at:at] = dice.randbytes(3)
    return bytes(result)


def test_damaged_files_import_or_are_refused() -> None:
    inner = helper.make_graph([node("Tanh", ["x"], ["e"])], "b", [], [value("e", None)])
    nodes = [
        node("MatMul", ["x", "w"], ["m"]),
        node("Softmax", ["m"], ["s"], axis=-1),
        node("If", ["c"], ["t"], then_branch=inner, else_branch=two),
        node("Add", ["s", "t"], ["y"]),
    ]
    inputs = [value("x", ["n", 3]), value("c", [], BOOL)]
    data = make(nodes, inputs, stored=[constant("w", numbers(3, 3))]).SerializeToString()
    refused = 0
    for seed in range(150):
        try:
            tf.import_onnx(damaged(data, seed))
        except tf.errors.OpError:
            refused += 1
    for size in range(0, len(data), 9):
        try:
            tf.import_onnx(data[:size])
        except tf.errors.OpError:
            refused += 1
    assert refused > 50
