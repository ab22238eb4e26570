"""Modules of several graphs over one set of variables, made here of graphs of our own."""

from __future__ import annotations

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import loaders
from tfx.core.errors import InvalidArgumentError
from tfx.exporters.converted import save_converted
from tfx.importing.compare_answers import compare_answers
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import (
    LayerValue,
    MethodGraph,
    Port,
    SourceAnswer,
    SourceVariable,
    matched,
)

_W = np.float32([[1], [2]])


def _graph(function: Any, **specs: Any) -> Any:
    named = [tf.TensorSpec(*spec, name=name) for name, spec in specs.items()]
    return tf.function(function).get_concrete_function(*named).as_onnx()


def _forward(x: Any, m: Any, w: Any, c: Any) -> Any:
    return {"out": x @ w * m, "new": c + 1}


def _module(answer: float | None = None, count: int = 1) -> ConvertedModule:
    forward = _graph(_forward, x=([None, 2],), m=([],), w=([2, 1],), c=([], tf.int64))
    encode = _graph(lambda x, kernel: x @ kernel, x=([None, 2],), kernel=([2, 1],))
    answers = ()
    if answer is not None:
        product = next(n.output[0] for n in forward.graph.node if n.op_type == "MatMul")
        layers = [
            LayerValue("dense", product, np.float32([[3]])),
            LayerValue("mask", "out", np.float32([[answer]])),
        ]
        answers = (
            SourceAnswer(
                {"x": np.ones((1, 2), np.float32), "m": np.float32(2)},
                {"out": np.float32([[answer]])},
                {"count": np.int64(count)},
                lambda: layers,
            ),
        )
    parameters = inspect.Signature(
        [
            inspect.Parameter("batch", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            inspect.Parameter("scale", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            inspect.Parameter("mode", inspect.Parameter.KEYWORD_ONLY, default="plain"),
        ]
    )
    return ConvertedModule(
        {
            "forward": MethodGraph(
                forward,
                {"batch": {"x": Port("x"), "flag": True}, "scale": Port("m")},
                (Port("out"), None, 3),
                parameters,
                weights={"w": "dense.kernel", "c": "count"},
                updates={"new": "count"},
                answers=answers,
            ),
            "encode": MethodGraph(encode, weights={"kernel": "tied.kernel"}),
        },
        {
            "dense.kernel": SourceVariable(_W),
            "count": SourceVariable(np.int64(0), trainable=False),
        },
        tied={"tied.kernel": "dense.kernel"},
        metadata={"source.framework": "none"},
    )


def _batch(*rows: list[float]) -> dict[str, Any]:
    return {"x": np.float32(rows), "flag": True}


def test_calls_bind_structures_and_update_state() -> None:
    module = _module()
    out, nothing, number = module(_batch([1, 1]), 2.0)
    assert out.numpy().tolist() == [[6.0]]
    assert nothing is None
    assert number == 3
    module.forward(scale=1.0, batch=_batch([1, 1], [0, 1]))
    assert int(module.weights["count"].numpy()) == 2
    assert module.encode([[1.0, 1.0]]).numpy().tolist() == [[3.0]]
    assert module.weights["tied.kernel"] is module.weights["dense.kernel"]
    assert [v.name for v in module.trainable_variables] == ["dense.kernel:0"]


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (
            ({"x": [[1.0, 1.0]], "flag": False}, 1.0),
            {},
            InvalidArgumentError,
            "False, expected True",
        ),
        (({"x": [[1.0, 1.0]]}, 1.0), {}, InvalidArgumentError, "expected 'x', 'flag'"),
        ((_batch([1, 1]), None), {}, InvalidArgumentError, "scale is None, expected a tensor"),
        ((_batch([1, 1]), 1.0), {"mode": "x"}, InvalidArgumentError, "mode is 'x'"),
        ((_batch([1, 1, 1]), 1.0), {}, InvalidArgumentError, "shape"),
        ((), {}, TypeError, "missing"),
        ((_batch([1, 1]), 1.0), {"unknown": 1}, TypeError, "unknown"),
    ],
)
def test_other_calls_say_what_differs(
    args: Any, kwargs: Any, error: type[Exception], message: str
) -> None:
    module = _module()
    with pytest.raises(error, match=message):
        module(*args, **kwargs)
    assert int(module.weights["count"].numpy()) == 0


def test_tapes_and_functions_see_through() -> None:
    module = _module()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(_batch([1, 3]), 2.0)[0]) + tf.reduce_sum(
            module.encode([[1.0, 0.0]])
        )
    assert tape.gradient(loss, module.weights["dense.kernel"]).numpy().tolist() == [[3.0], [6.0]]

    @tf.function
    def twice(x: Any) -> Any:
        module({"x": x, "flag": True}, 1.0)
        return module({"x": x, "flag": True}, 1.0)[0]

    assert twice(tf.constant([[1.0, 2.0]])).numpy().tolist() == [[5.0]]
    assert int(module.weights["count"].numpy()) == 3


def test_copies_pickles_and_bundles(tmp_path: Path) -> None:
    module = _module()
    module.note = "kept"
    other = copy.deepcopy(module)
    other.weights["tied.kernel"].assign([[0.0], [0.0]])
    assert other.encode([[1.0, 1.0]]).numpy().tolist() == [[0.0]]
    again = pickle.loads(pickle.dumps(module))
    assert again.note == "kept"
    assert again.weights["tied.kernel"] is again.weights["dense.kernel"]
    assert again(_batch([1, 1]), 2.0)[0].numpy().tolist() == [[6.0]]
    tf.saved_model.save(module, tmp_path / "m", signatures=module.signatures)
    loaded = tf.saved_model.load(tmp_path / "m")
    assert {*loaded.signatures} == {"serving_default", "encode"}
    found = loaded.signatures["serving_default"](x=np.float32([[1, 1]]), m=np.float32(2))
    assert found["out"].numpy().tolist() == [[6.0]]
    assert int(loaded.weights["count"].numpy()) == 1
    assert loaded.encode([[1.0, 1.0]]).numpy().tolist() == [[3.0]]
    assert loaded.weights["tied.kernel"] is loaded.weights["dense.kernel"]


def test_as_onnx_has_the_present_weights_and_the_source_s_names() -> None:
    module = _module()
    module.weights["dense.kernel"].assign([[5.0], [6.0]])
    proto = module.as_onnx(method="encode")
    again = tf.import_onnx(proto)
    assert list(again.weights) == ["tied.kernel"]
    assert again([[1.0, 1.0]]).numpy().tolist() == [[11.0]]
    whole = module.as_onnx()
    assert [i.name for i in whole.graph.input] == ["x", "m"]
    assert {o.name for o in whole.graph.output} == {"out", "new"}


def test_answers_are_compared_and_stored(tmp_path: Path) -> None:
    module = _module(6.0)
    assert compare_answers(module) == 0.0
    assert int(module.weights["count"].numpy()) == 0
    save_converted(module, tmp_path / "m")
    report = loaders.verify(tmp_path / "m")
    assert report.is_ok
    with pytest.raises(InvalidArgumentError, match=r"first layer that differs is 'mask'.*'dense'"):
        save_converted(_module(5.0), tmp_path / "other")
    with pytest.raises(InvalidArgumentError, match="variable 'count' after the call"):
        save_converted(_module(6.0, 7), tmp_path / "other")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    save_converted(_module(5.0), tmp_path / "other", verify=False, examples=False)


def test_one_tolerance_is_what_both_comparisons_of_an_export_have(tmp_path: Path) -> None:
    """With the source's answers, and with outputs that the user expects."""
    save_converted(_module(6.1), tmp_path / "m", tolerance=0.05)
    (example,) = loaders.summarize(tmp_path / "m").manifest.examples
    assert example.tolerance == pytest.approx(0.05)
    assert loaders.verify(tmp_path / "m").is_ok
    inputs = {"x": np.ones((1, 2), np.float32), "m": np.float32(2)}
    given = {"serving_default": (inputs, {"out": np.float32([[6.1]])})}
    save_converted(_module(6.0), tmp_path / "m", tolerance=0.05, examples=given)
    (example,) = loaders.summarize(tmp_path / "m").manifest.examples
    assert example.tolerance == pytest.approx(0.05)
    assert example.is_given
    with pytest.raises(InvalidArgumentError, match=r"output 'out' differs by 0\.1"):
        save_converted(_module(6.0), tmp_path / "m", examples=given)


def test_without_verifying_nothing_is_compared(tmp_path: Path) -> None:
    """The examples are the bundle's own answers: the source's would be compared to be stored."""
    save_converted(_module(5.0), tmp_path / "m", verify=False)
    assert loaders.summarize(tmp_path / "m").manifest.examples
    assert loaders.verify(tmp_path / "m").is_ok


def test_descriptions_that_do_not_fit() -> None:
    graph = _graph(lambda x, w: x @ w, x=([None, 2],), w=([2, 1],))

    def made(variables: Any = None, **options: Any) -> ConvertedModule:
        values = variables or {"w": SourceVariable(_W)}
        return ConvertedModule(
            {"f": MethodGraph(graph, **{"weights": {"w": "w"}, **options})}, values
        )

    with pytest.raises(InvalidArgumentError, match="variable 'v', which is not given"):
        made(weights={"w": "v"})
    with pytest.raises(InvalidArgumentError, match=r"float32 of shape \(2, 2\)"):
        made({"w": SourceVariable(np.ones((2, 2), np.float32))})
    with pytest.raises(InvalidArgumentError, match="'y', which is no input"):
        made(arguments={"x": Port("x"), "y": Port("y")})
    with pytest.raises(InvalidArgumentError, match="nothing is given for the graph's input 'x'"):
        made(arguments={})
    with pytest.raises(InvalidArgumentError, match="'z', which is no output"):
        made(results=Port("z"))
    with pytest.raises(InvalidArgumentError, match="no method"):
        ConvertedModule({}, {})
    with pytest.raises(InvalidArgumentError, match="'g', which is no method"):
        ConvertedModule(
            {"f": MethodGraph(graph, weights={"w": "w"})},
            {"w": SourceVariable(_W)},
            signatures={"a": "g"},
        )
    with pytest.raises(InvalidArgumentError, match="another name of 'v'"):
        ConvertedModule(
            {"f": MethodGraph(graph, weights={"w": "w"})},
            {"w": SourceVariable(_W)},
            tied={"u": "v"},
        )
    with pytest.raises(AttributeError, match="its methods are f"):
        made().decode  # noqa: B018


def test_initializers_are_variables_where_none_are_given() -> None:
    layer = tf.function(lambda x: x @ tf.constant(_W))
    graph = layer.get_concrete_function(tf.TensorSpec([None, 2], name="x")).as_onnx()
    module = ConvertedModule({"f": MethodGraph(graph)})
    assert len(module.weights) == 1
    assert module([[1.0, 1.0]]).numpy().tolist() == [[3.0]]


def test_graphs_of_one_method_are_told_apart_by_shapes() -> None:
    wide = _graph(lambda x: tf.reduce_sum(x, 1) * 2.0, x=([None, 3],))
    narrow = _graph(lambda x: tf.reduce_sum(x, 1), x=([None, 2],))
    module = ConvertedModule({"f": [MethodGraph(wide), MethodGraph(narrow)]}, {})
    assert module(np.ones((1, 3), np.float32)).numpy().tolist() == [6.0]
    assert module(tf.ones([2, 2])).numpy().tolist() == [2.0, 2.0]
    with pytest.raises(InvalidArgumentError, match=r"expected .*3.*; or .*expected .*2"):
        module(tf.ones([2, 4]))


def test_matched_tells_structures_apart() -> None:
    assert matched([Port("a"), None], [1, None], "x") == ([1], None)
    assert matched({"a": Port("a"), "b": 2}, {"a": 1, "b": 2}, "x") == ({"a": 1}, None)
    assert matched((Port("a"),), [1, 2], "x")[1] == "x is 2 items, expected 1 items"
    assert matched({"a": None}, {}, "x") == ({}, None)
    assert matched(2, 2.0, "x")[1] == "x is 2.0, expected 2"
    assert matched({"a": Port("a")}, 1, "x")[1] == "x is 1, expected a dict of 'a'"


def _star(kind: str) -> ConvertedModule:
    """``first - second * scale`` of a source whose call has a parameter of a kind."""
    graph = _graph(lambda a, b, c: a - b * c, a=([None],), b=([None],), c=([],))
    plain, rest = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    only, named = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    cases: dict[str, tuple[Any, Any]] = {
        "*": ({"tensors": (Port("a"), Port("b"), Port("c"))}, [("tensors", rest)]),
        "x, *": (
            {"x": Port("a"), "tensors": (Port("b"), Port("c"))},
            [("x", plain), ("tensors", rest)],
        ),
        "*, scale": (
            {"tensors": (Port("a"), Port("b")), "scale": Port("c")},
            [("tensors", rest), ("scale", only)],
        ),
        "**": (
            {"x": Port("a"), "more": {"other": Port("c"), "b": Port("b")}},
            [("x", plain), ("more", named)],
        ),
        "*, **": (
            {"tensors": [Port("a"), Port("b")], "more": {"c": Port("c")}},
            [("tensors", rest), ("more", named)],
        ),
    }
    arguments, parameters = cases[kind]
    signature = inspect.Signature([inspect.Parameter(n, k) for n, k in parameters])
    return ConvertedModule({"forward": MethodGraph(graph, arguments, parameters=signature)})


@pytest.mark.parametrize(
    ("kind", "args", "named"),
    [
        ("*", 3, {}),
        ("x, *", 3, {}),
        ("*, scale", 2, {"scale": 2}),
        ("**", 1, {"b": 1, "other": 2}),
        ("*, **", 2, {"c": 2}),
    ],
)
def test_a_bundle_is_called_as_the_module_was(
    kind: str, args: int, named: dict[str, int], tmp_path: Path
) -> None:
    module = _star(kind)
    given = [np.float32([5, 7]), np.float32([1, 2]), np.float32(3)]
    options = {n: given[i] for n, i in named.items()}
    assert module(*given[:args], **options).numpy().tolist() == [2.0, 1.0]
    tf.saved_model.save(module, tmp_path / "m", signatures=module.signatures)
    loaded = tf.saved_model.load(tmp_path / "m")
    assert loaded(*given[:args], **options).numpy().tolist() == [2.0, 1.0]
    assert loaded.forward(*given[:args], **options).numpy().tolist() == [2.0, 1.0]
    found = loaded.signatures["serving_default"](a=given[0], b=given[1], c=given[2])
    assert [t.numpy().tolist() for t in found.values()] == [[2.0, 1.0]]
    tf.config.run_functions_eagerly(True)
    try:
        assert module(*given[:args], **options).numpy().tolist() == [2.0, 1.0]
    finally:
        tf.config.run_functions_eagerly(False)
