"""Models back to graphs; what bundles need of it is tested with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tfx as tf
from tfx.function.execution.plan import Plan
from tfx.graph.serialization.deserialize import Imported, from_model
from tfx.graph.serialization.serialize import to_model
from tfx.graph.tags import Mark
from tfx.graph.verify import verify
from tfx.runtime.values import from_numpy, to_numpy


def value(name: str, shape: Any, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def make(nodes: Any, inputs: Any, outputs: Any, stored: Any = (), **options: Any) -> Any:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(stored))
    opsets = [helper.make_opsetid("", 21), *options.pop("opsets", [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **options)


def run(imported: Imported, *arrays: Any) -> list[np.ndarray]:
    verify(imported.graph)
    outputs = Plan(imported.graph).run([from_numpy(np.asarray(a)) for a in arrays])
    return [to_numpy(v) for v in outputs]


def test_a_traced_graph_survives_the_way_there_and_back() -> None:
    inner = tf.function(lambda x: tf.nn.relu(x) * 2.0)

    @tf.function
    def f(x: Any) -> Any:
        return inner(x) + tf.stop_gradient(inner(x)), tf.reshape(x, [tf.shape(x)[0], -1])

    spec = tf.TensorSpec(["batch", 2, 3], tf.float32)
    graph = f.get_concrete_function(spec).graph.graph
    imported = from_model(to_model(graph))
    assert [v.shape for v in imported.graph.outputs] == [("batch", 2, 3), ("batch", 6)]
    tags = [n.tag for n in imported.graph.nodes if n.tag]
    assert tags == [Mark.STOP_GRADIENT]
    assert len({id(g) for g in imported.graph.subgraphs()}) == 1
    x = np.float32([[[1, -2, 3], [4, 5, -6]]])
    for a, b in zip(run(imported, x), f(x), strict=True):
        np.testing.assert_array_equal(a, b)
    again = to_model(from_model(to_model(imported.graph)).graph)
    assert again.graph.node == to_model(imported.graph).graph.node


def test_initializers_become_constants_or_inputs() -> None:
    stored = [numpy_helper.from_array(np.float32([1, 2]), n) for n in ("w", "c")]
    nodes = [helper.make_node("Mul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "c"], ["y"])]
    model = make(nodes, [value("x", [2])], [value("y", [2])], stored)
    imported = from_model(model, as_inputs={"w": (None,)})
    assert list(imported.inputs) == ["x", "w"]
    assert imported.inputs["w"].shape == (None,)
    assert imported.declared == {"y": (1, (2,))}
    assert len(imported.graph.constants) == 1
    np.testing.assert_array_equal(
        run(imported, np.float32([1, 1]), np.float32([5, 5]))[0], [6.0, 7.0]
    )


def test_contents_in_other_files_are_asked_for() -> None:
    tensor = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights")
    model = make(
        [helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y", [2])], [tensor]
    )
    imported = from_model(model, external=lambda t: np.float32([3, len(t.external_data)]))
    np.testing.assert_array_equal(run(imported, np.float32([0, 0]))[0], [3.0, 1.0])
    with pytest.raises(tf.errors.BundleError, match=r"m\.onnx: tensor 'w' has its data in another"):
        from_model(model, "m.onnx")


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"value_int": 3}, np.int64(3)),
        ({"value_ints": [1, 2]}, np.int64([1, 2])),
        ({"value_float": 0.5}, np.float32(0.5)),
        ({"value_floats": [0.5, 1.5]}, np.float32([0.5, 1.5])),
        ({"value_string": "ü"}, np.array("ü".encode(), object)),
        ({"value_strings": ["a", "b"]}, np.array([b"a", b"b"], object)),
        ({"value": numpy_helper.from_array(np.float64([1]))}, np.float64([1])),
    ],
    ids=str,
)
def test_every_form_of_constant(attribute: Any, expected: np.ndarray) -> None:
    kind = {"O": TensorProto.STRING}.get(expected.dtype.kind)
    kind = kind or helper.np_dtype_to_tensor_dtype(expected.dtype)
    model = make(
        [helper.make_node("Constant", [], ["y"], **attribute)],
        [],
        [value("y", list(expected.shape), kind)],
    )
    (found,) = run(from_model(model))
    np.testing.assert_array_equal(found, expected)


def test_branches_and_loops() -> None:
    then = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["a"])], "then", [], [value("a", [None])]
    )
    other = helper.make_graph(
        [helper.make_node("Mul", ["x", "k"], ["b"])], "else", [], [value("b", [None])],
        [numpy_helper.from_array(np.float32(5), "k")],
    )  # fmt: skip
    body = helper.make_graph(
        [
            helper.make_node("Add", ["carried", "x"], ["next"]),
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("ReduceSum", ["next"], ["seen"], keepdims=0),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL),
         value("carried", [None])],
        [value("on", [], TensorProto.BOOL), value("next", [None]), value("seen", [])],
    )  # fmt: skip
    nodes = [
        helper.make_node("If", ["c"], ["chosen"], then_branch=then, else_branch=other),
        helper.make_node("Loop", ["n", "", "chosen"], ["last", "sums"], body=body),
    ]
    stored = [numpy_helper.from_array(np.int64(3), "n")]
    inputs = [value("x", ["N"]), value("c", [], TensorProto.BOOL)]
    model = make(nodes, inputs, [value("last", ["N"]), value("sums", [None])], stored)
    imported = from_model(model)
    x = np.float32([1, 2])
    last, sums = run(imported, x, np.array(False))
    np.testing.assert_array_equal(last, [8.0, 16.0])
    np.testing.assert_array_equal(sums, [18.0, 21.0, 24.0])
    assert run(imported, x, np.array(True))[1][0] == 9.0


def leaky_model(calls: int) -> Any:
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    node.attribute.append(
        onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    )
    function = helper.make_function(
        "custom", "Leaky", ["a"], ["b"], [node], [helper.make_opsetid("", 21)], ["slope"]
    )
    nodes = [
        helper.make_node("Leaky", [f"x{i}" if i else "x"], [f"x{i + 1}"], domain="custom",
                         slope=0.5)
        for i in range(calls)
    ]  # fmt: skip
    return make(nodes, [value("x", [None])], [value(f"x{calls}", [None])],
                opsets=[helper.make_opsetid("custom", 1)], functions=[function])  # fmt: skip


def test_functions_of_others_are_inlined() -> None:
    imported = from_model(leaky_model(3))
    assert [n.op for n in imported.graph.nodes] == ["LeakyRelu"] * 3
    np.testing.assert_array_equal(run(imported, np.float32([-8, 1]))[0], [-1.0, 1.0])


def test_old_opsets_are_converted() -> None:
    model = make(
        [helper.make_node("Squeeze", ["x"], ["y"], axes=[0])],
        [value("x", [1, "N"])],
        [value("y", ["N"])],
    )
    model.opset_import[0].version = 9
    imported = from_model(model)
    np.testing.assert_array_equal(run(imported, np.float32([[1, 2]]))[0], [1.0, 2.0])


BAD = {
    "unknown operator": lambda m: setattr(m.graph.node[0], "op_type", "Nothing"),
    "another domain": lambda m: setattr(m.graph.node[0], "domain", "com.example"),
    "unknown attribute": lambda m: m.graph.node[0].attribute.append(
        helper.make_attribute("nonsense", 1)
    ),
    "too many inputs": lambda m: m.graph.node[0].input.extend(["x"] * 9),
    "a name before it is made": lambda m: m.graph.node[0].input.insert(0, "later"),
    "an output that nobody makes": lambda m: setattr(m.graph.output[0], "name", "z"),
    "a dtype that is none": lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77),
    "no type": lambda m: m.graph.input[0].ClearField("type"),
    "a newer opset": lambda m: setattr(m.opset_import[0], "version", 999),
    "wrong dtypes": lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 8),
    "raw data too short": lambda m: setattr(m.graph.initializer[0], "raw_data", b"1"),
    "a negative dimension": lambda m: m.graph.initializer[0].dims.insert(0, -3),
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_malformed_models_are_named(change: Any) -> None:
    stored = [numpy_helper.from_array(np.float32([1, 2]), "w")]
    model = make(
        [helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y", [2])], stored
    )
    change(model)
    with pytest.raises(tf.errors.BundleError, match=r"^name\.onnx: "):
        from_model(model, "name.onnx")


def test_names_that_are_no_text_are_refused() -> None:
    model = make([helper.make_node("Neg", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    model.graph.name = "abcdef"
    data = model.SerializeToString().replace(b"abcdef", b"abcde\xe1")
    with pytest.raises(tf.errors.BundleError, match="not UTF-8"):
        from_model(onnx.ModelProto.FromString(data))


def test_functions_that_call_each_other_in_a_circle_are_refused() -> None:
    domain = "tfx.function"
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(domain, 1)]
    functions = [
        helper.make_function(
            domain, a, ["x"], ["y"], [helper.make_node(b, ["x"], ["y"], domain=domain)], opsets
        )
        for a, b in (("f", "g"), ("g", "f"))
    ]
    model = make(
        [helper.make_node("f", ["x"], ["y"], domain=domain)],
        [value("x", [2])], [value("y", [2])], opsets=opsets[1:], functions=functions,
    )  # fmt: skip
    with pytest.raises(tf.errors.BundleError, match="calls itself"):
        from_model(model)
