"""ONNX files as they are before ONNX Runtime sees them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tests.unit.loaders.make_bundle import external_tensor, make_model, node, value_info
from tfx.core.errors import BundleError
from tfx.loaders.onnx_file import External, OnnxFile
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

X = value_info("x", "float32", ("n",))
Y = value_info("y", "float32", ("n",))


def load(model: onnx.ModelProto) -> OnnxFile:
    return OnnxFile(model.SerializeToString(), "m.onnx")


def test_ports_and_initializers() -> None:
    inline = onnx.numpy_helper.from_array(np.ones((2, 3), np.int64), "i")
    outside = external_tensor("e", 1, (4,), "variables/w", 64, 16)
    inputs = [X, value_info("s", "string", None), onnx.ValueInfoProto(name="untyped")]
    sequence = helper.make_tensor_sequence_value_info("q", 1, None)
    nodes = [node("Add", ["x", "e"], ["y"])]
    graph = helper.make_graph(nodes, "g", inputs, [Y, sequence], [inline, outside])
    file = load(make_model(graph))
    assert file.inputs == {"x": 1, "s": 8, "untyped": 0}
    assert file.outputs == {"y": 1, "q": -1}
    assert file.initializers["i"].dims == (2, 3)
    assert file.initializers["i"].external is None
    assert file.initializers["e"].external == External("variables/w", 64, 16)


@given(st.sets(st.sampled_from("abc")), st.permutations("abc"))
def test_initializers_become_inputs(thawed: set[str], order: list[str]) -> None:
    values = {name: np.array([i + 1], np.float32) for i, name in enumerate("abc")}
    nodes = [
        node("Mul", ["x", "a"], ["t"]),
        node("Add", ["t", "b"], ["u"]),
        node("Mul", ["u", "c"], ["y"]),
    ]
    initializers = [onnx.numpy_helper.from_array(values[n], n) for n in order]
    model = make_model(helper.make_graph(nodes, "g", [X], [Y], initializers))
    file = load(model)
    changed = onnx.load_from_string(file.with_inputs(dict.fromkeys(thawed, (1, (1,)))))
    assert {i.name for i in changed.graph.input} == {"x", *thawed}
    assert {i.name for i in changed.graph.initializer} == set("abc") - thawed
    onnx.checker.check_model(changed, full_check=True)
    session = Session(changed.SerializeToString())
    feeds = {"x": from_numpy(np.array([5], np.float32))}
    feeds |= {name: from_numpy(values[name] * 10) for name in thawed}
    a, b, c = (values[n][0] * (10 if n in thawed else 1) for n in "abc")
    assert to_numpy(session.run(feeds)[0]).tolist() == [(5 * a + b) * c]


def test_an_initializer_that_is_an_input_already_is_only_removed() -> None:
    weight = onnx.numpy_helper.from_array(np.ones(1, np.float32), "w")
    inputs = [X, value_info("w", "float32", (1,))]
    model = make_model(
        helper.make_graph([node("Add", ["x", "w"], ["y"])], "g", inputs, [Y], [weight])
    )
    changed = onnx.load_from_string(load(model).with_inputs({"w": (1, (1,))}))
    assert [i.name for i in changed.graph.input] == ["x", "w"]
    assert not changed.graph.initializer


def refused(model: onnx.ModelProto | bytes, text: str) -> None:
    data = model if isinstance(model, bytes) else model.SerializeToString()
    with pytest.raises(BundleError) as caught:
        OnnxFile(data, "m.onnx")
    assert str(caught.value).startswith("m.onnx: ")
    assert text in str(caught.value)


OUTSIDE = external_tensor("w", 1, (1,), "variables/w", 0, 4)


def test_external_data_anywhere_else_is_refused() -> None:
    holder = helper.make_node("Constant", [], ["w"])
    holder.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(OUTSIDE)
    refused(
        make_model(helper.make_graph([holder], "g", [X], [Y])), "initializers of the main graph"
    )
    inner = helper.make_graph([node("Add", ["x", "w"], ["z"])], "b", [], [Y], [OUTSIDE])
    branch = node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    refused(
        make_model(helper.make_graph([branch], "g", [X], [Y])), "initializers of the main graph"
    )
    sparse = onnx.SparseTensorProto(values=OUTSIDE, dims=[4])
    graph = helper.make_graph([], "g", [X], [Y], sparse_initializer=[sparse])
    refused(make_model(graph), "initializers of the main graph")
    opsets = [helper.make_opsetid("", 21)]
    function = helper.make_function("local", "f", [], ["w"], [holder], opsets)
    refused(
        make_model(helper.make_graph([], "g", [X], [Y]), [function]),
        "initializers of the main graph",
    )


@pytest.mark.parametrize(
    ("location", "offset", "length"),
    [
        (None, 0, 4),
        ("", 0, 4),
        ("w", "x", 4),
        ("w", "-4", 4),
        ("w", 0, None),
        ("w", "²", 4),
        ("w", " 0", 4),
    ],
)
def test_incomplete_places_are_refused(location: object, offset: object, length: object) -> None:
    tensor = external_tensor("w", 1, (1,), location, offset, length)
    refused(
        make_model(helper.make_graph([], "g", [X], [Y], [tensor])), "tensor 'w' has the external"
    )


def test_a_place_given_twice_is_refused() -> None:
    tensor = onnx.TensorProto()
    tensor.CopyFrom(OUTSIDE)
    tensor.external_data.add(key="location", value="/etc/passwd")
    refused(make_model(helper.make_graph([], "g", [X], [Y], [tensor])), "each once")


def test_data_that_is_not_declared_external_counts_as_such() -> None:
    tensor = onnx.TensorProto()
    tensor.CopyFrom(OUTSIDE)
    tensor.ClearField("data_location")
    file = load(make_model(helper.make_graph([], "g", [X], [Y], [tensor])))
    assert file.initializers["w"].external == External("variables/w", 0, 4)


def test_what_is_there_twice_is_refused() -> None:
    tensor = onnx.numpy_helper.from_array(np.ones(1, np.float32), "w")
    model = make_model(helper.make_graph([], "g", [X], [Y], [tensor, tensor]))
    refused(model, "two initializers are named 'w'")
    data = make_model(helper.make_graph([], "g", [X], [Y])).SerializeToString()
    refused(data + data, "two main graphs")
    opsets = [helper.make_opsetid("", 21)]
    function = helper.make_function("local", "f", ["a"], ["b"], [node("Neg", ["a"], ["b"])], opsets)
    refused(make_model(helper.make_graph([], "g", [X], [Y]), [function] * 2), "two local functions")


def _call(name: str, source: str, target: str) -> onnx.NodeProto:
    return helper.make_node(name, [source], [target], domain="local")


def _function(name: str, nodes: list[onnx.NodeProto]) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], ["b"], nodes, opsets)


def test_functions_that_expand_without_end_are_refused() -> None:
    main = helper.make_graph([_call("f0", "x", "y")], "g", [X], [Y])
    itself = _function("f0", [_call("f0", "a", "b")])
    refused(make_model(main, [itself]), "calls itself")
    chain = [_function(f"f{i}", [_call(f"f{(i + 1) % 3}", "a", "b")]) for i in range(3)]
    refused(make_model(main, chain), "calls itself")
    doubling = [
        _function(f"f{i}", [_call(f"f{i + 1}", "a", "c"), _call(f"f{i + 1}", "c", "b")])
        for i in range(60)
    ]
    last = _function("f60", [node("Neg", ["a"], ["b"])])
    refused(make_model(main, [*doubling, last]), "nodes once its local functions are inlined")


def test_functions_that_share_callees_are_taken() -> None:
    main = helper.make_graph([_call("f0", "x", "t"), _call("f2", "t", "y")], "g", [X], [Y])
    functions = [
        _function("f0", [_call("f1", "a", "c"), _call("f2", "c", "b")]),
        _function("f1", [_call("f2", "a", "b")]),
        _function("f2", [node("Neg", ["a"], ["b"])]),
    ]
    assert load(make_model(main, functions)).outputs == {"y": 1}


def test_a_long_chain_of_functions_is_taken() -> None:
    functions = [_function(f"f{i}", [_call(f"f{i + 1}", "a", "b")]) for i in range(3000)]
    functions.append(_function("f3000", [node("Neg", ["a"], ["b"])]))
    main = helper.make_graph([_call("f0", "x", "y")], "g", [X], [Y])
    assert load(make_model(main, functions)).inputs == {"x": 1}


def test_graphs_nested_without_end_are_refused() -> None:
    graph = b""
    for _ in range(60):  # AttributeProto.g = 6, NodeProto.attribute = 5, GraphProto.node = 1
        for number in (6, 5, 1):
            from tfx.core.wire_format import bytes_field

            graph = bytes_field(number, graph)
    refused(bytes_field(7, graph), "nested more than 40 deep")


@pytest.mark.parametrize("data", [b"", b"\x08\x0a", b"not a model", b"\xff" * 100, b"PK\x03\x04"])
def test_what_is_no_model_is_refused(data: bytes) -> None:
    refused(data, "")


@given(st.data())
def test_a_damaged_model_is_read_or_refused(data: st.DataObject) -> None:
    good = SAMPLE
    position = data.draw(st.integers(0, len(good) - 1))
    bad = good[:position] + data.draw(st.binary(max_size=3)) + good[position + 1 :]
    try:
        file = OnnxFile(bad, "m.onnx")
        file.with_inputs(dict.fromkeys(file.initializers, (1, (None, 2))))
    except BundleError:
        pass


SAMPLE = make_model(
    helper.make_graph(
        [_call("f0", "x", "t"), node("Add", ["t", "w"], ["y"])], "g", [X], [Y], [OUTSIDE]
    ),
    [_function("f0", [node("Neg", ["a"], ["b"])])],
).SerializeToString()
