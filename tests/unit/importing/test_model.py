"""``import_onnx``: what is called how, what becomes a variable, and what comes back as ONNX."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tfx as tf
from tests.unit.importing.samples import (
    BOOL,
    FLOAT,
    INT64,
    constant,
    make,
    node,
    numbers,
    run_stock,
    value,
)


def affine(**options: Any) -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])]
    stored = [constant("w", numbers(3, 4)), constant("b", numbers(4, seed=1))]
    inputs = options.pop("inputs", [value("x", ["batch", 3])])
    return make(nodes, inputs, [value("y", ["batch", 4])], stored, **options)


X = numbers(5, 3, seed=2)
Y = X @ numbers(3, 4) + numbers(4, seed=1)


@pytest.mark.parametrize("form", ["path", "text", "bytes", "proto"])
def test_a_model_comes_as_path_bytes_or_proto(form: str, tmp_path: Path) -> None:
    proto = affine()
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    source = {"path": path, "text": str(path), "bytes": path.read_bytes(), "proto": proto}[form]
    model = tf.import_onnx(source)
    for y in (model(X), model(x=tf.constant(X)), model(X.tolist()), tf.function(model)(X)):
        np.testing.assert_allclose(y, Y, rtol=1e-6)
    assert model(X).shape == (5, 4)
    assert isinstance(model, tf.Module)


def test_the_model_is_not_the_callers_any_more() -> None:
    proto = affine()
    model = tf.import_onnx(proto)
    del proto.graph.node[:]
    np.testing.assert_allclose(model(X), Y, rtol=1e-6)


def test_names_shapes_and_specs_are_the_models() -> None:
    model = tf.import_onnx(affine(), name="affine")
    assert model.name == "affine"
    assert model.inputs == {"x": tf.TensorSpec(["batch", 3], tf.float32, name="x")}
    assert model.outputs["y"].shape.as_list() == [None, 4]
    assert {k: v.name for k, v in model.weights.items()} == {"w": "w:0", "b": "b:0"}
    back = model.as_onnx()
    assert [i.name for i in back.graph.input] == ["x"]
    dims = back.graph.input[0].type.tensor_type.shape.dim
    assert (dims[0].dim_param, dims[1].dim_value) == ("batch", 3)
    assert sorted(t.name for t in back.graph.initializer) == ["b", "w"]
    assert "x: TensorSpec" in repr(model)


def test_back_as_onnx_it_has_the_present_weights(tmp_path: Path) -> None:
    proto = affine()
    proto.doc_string = "what it is"
    proto.metadata_props.add(key="author", value="me")
    model = tf.import_onnx(proto)
    model.weights["b"].assign(np.zeros(4, np.float32))
    back = model.as_onnx(tmp_path / "back.onnx")
    onnx.checker.check_model(str(tmp_path / "back.onnx"), full_check=True)
    assert (back.doc_string, back.metadata_props[0].value) == ("what it is", "me")
    for source in (back, tmp_path / "back.onnx"):
        np.testing.assert_array_equal(run_stock(source, {"x": X})[0], model(X))
    np.testing.assert_allclose(model(X), X @ numbers(3, 4), rtol=1e-6)
    again = tf.import_onnx(back)
    np.testing.assert_array_equal(again(X), model(X))


def test_several_outputs_are_a_dict_in_the_models_order() -> None:
    nodes = [node("Relu", ["x"], ["z"]), node("Neg", ["x"], ["a"])]
    model = tf.import_onnx(make(nodes, outputs=[value("z", [2, 3]), value("a", [2, 3])]))
    found = model(numbers(2, 3))
    assert list(found) == ["z", "a"]
    np.testing.assert_array_equal(found["a"], -numbers(2, 3))


def test_names_that_python_cannot_spell(tmp_path: Path) -> None:
    nodes = [node("Add", ["input.1", "class"], ["1"]), node("Relu", ["1"], ["out/0"])]
    inputs = [value(n, [2]) for n in ("input.1", "class", "unused:0")]
    model = tf.import_onnx(make(nodes, inputs, [value("out/0", [2]), value("1", [2])]))
    a, b = numbers(2), numbers(2, seed=1)
    for found in (
        model(a, b, a),
        model(**{"input.1": a, "class": b, "unused:0": a}),
        model(input_1=a, _class=b, unused_0=a),
    ):
        np.testing.assert_array_equal(found["1"], a + b)
    back = model.as_onnx()
    assert [i.name for i in back.graph.input] == ["input.1", "class", "unused:0"]
    assert [o.name for o in back.graph.output] == ["out/0", "1"]
    tf.saved_model.save(model, tmp_path / "b")
    loaded = tf.saved_model.load(tmp_path / "b")
    feeds = {"input.1": tf.constant(a), "class": tf.constant(b), "unused:0": tf.constant(a)}
    np.testing.assert_array_equal(loaded.signatures["serving_default"](**feeds)["1"], a + b)
    np.testing.assert_array_equal(loaded(a, b, a)["1"], a + b)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "is missing 1 inputs: 'x'"),
        ((X, X), {}, r"takes 1 inputs \(x\); got 2"),
        ((X,), {"x": X}, "multiple values for input 'x'"),
        ((), {"z": X}, "has no input 'z'; it has x"),
    ],
)
def test_calls_that_do_not_fit_are_type_errors(args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tf.import_onnx(affine())(*args, **kwargs)


def test_inputs_of_other_dtypes_or_shapes_are_refused() -> None:
    model = tf.import_onnx(affine())
    with pytest.raises(ValueError, match=r"expected shape \(.*3\), got \(2, 2\)"):
        model(np.ones((2, 2), np.float32))
    with pytest.raises((TypeError, ValueError), match="float32"):
        model(tf.constant([[1, 2, 3]]))


TRAINABLE = [
    (None, {"w", "b"}),
    (True, {"w", "b"}),
    (False, set()),
    (["w"], {"w"}),
    ("w", {"w"}),
    (lambda name: name == "b", {"b"}),
]


@pytest.mark.parametrize(("trainable", "expected"), TRAINABLE, ids=[str(i) for i in range(6)])
def test_trainable_says_which_weights_are_trained(trainable: Any, expected: set[str]) -> None:
    model = tf.import_onnx(affine(), trainable=trainable)
    assert {v.name for v in model.trainable_variables} == {f"{n}:0" for n in expected}
    assert len(model.variables) == 2
    with tf.GradientTape() as tape:
        y = model(X)
    assert {v.name for v in tape.watched_variables()} == {f"{n}:0" for n in expected}
    assert y.shape == (5, 4)


def test_names_of_weights_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'weight'.*It has b, w"):
        tf.import_onnx(affine(), trainable=["weight"])
    with pytest.raises(ValueError, match="expected True, False, names"):
        tf.import_onnx(affine(), trainable=3)  # type: ignore[arg-type]


def test_settings_scalars_and_shapes_stay_constants_and_shapes_static() -> None:
    stored = [
        constant("shape", np.array([0, 2, -1])),
        constant("low", np.float32(-1)),
        constant("scale", np.float32([2])),
        constant("half", np.float32(0.5)),
        constant("mask", np.float32([0, -np.inf, 0, 0, 0, 0])),
        constant("table", np.arange(200).reshape(2, 100)),
    ]
    nodes = [
        node("Clip", ["x", "low"], ["c"]),
        node("Mul", ["c", "half"], ["h"]),
        node("Mul", ["h", "scale"], ["s"]),
        node("Add", ["s", "mask"], ["a"]),
        node("Reshape", ["a", "shape"], ["y"]),
        node("ReduceSum", ["table"], ["t"]),
    ]
    proto = make(nodes, [value("x", ["n", 6])], [value("y", None), value("t", None, INT64)], stored)
    model = tf.import_onnx(proto)
    assert {n: v.trainable for n, v in model.weights.items()} == {
        "scale": True,
        "mask": False,
        "table": False,
    }
    assert model.outputs["y"].shape.as_list() == [None, 2, 3]
    named = tf.import_onnx(proto, trainable=["half"]).trainable_variables
    assert [v.name for v in named] == ["half:0"]
    with pytest.raises(ValueError, match="'table', which is of dtype int64"):
        tf.import_onnx(proto, trainable=["table"])


def test_statistics_are_variables_that_are_not_trained() -> None:
    names = ("scale", "bias", "mean", "var")
    nodes = [node("BatchNormalization", ["x", *names], ["y"])]
    stored = [constant(n, np.abs(numbers(3, seed=i)) + 1) for i, n in enumerate(names)]
    model = tf.import_onnx(make(nodes, stored=stored))
    flags = {n: v.trainable for n, v in model.weights.items()}
    assert flags == {"scale": True, "bias": True, "mean": False, "var": False}


def test_an_initializer_that_is_an_input_too_can_be_given() -> None:
    inputs = [value("x", ["batch", 3]), value("b", [4])]
    model = tf.import_onnx(affine(inputs=inputs))
    np.testing.assert_allclose(model(X), Y, rtol=1e-6)
    b = np.float32([1, 2, 3, 4])
    np.testing.assert_allclose(model(X, b=b), X @ numbers(3, 4) + b, rtol=1e-6)
    assert list(model.inputs) == ["x"]
    old = tf.import_onnx(affine(inputs=inputs, ir_version=3, opset=8))
    with pytest.raises(TypeError, match="has no input 'b'"):
        old(X, b=b)


def test_shapes_can_be_given() -> None:
    model = tf.import_onnx(affine(), input_shapes={"x": [7, 3]})
    assert model.outputs["y"].shape == (7, 4)
    with pytest.raises(ValueError, match="'z', which is no input"):
        tf.import_onnx(affine(), input_shapes={"z": [1]})
    with pytest.raises(ValueError, match="rank 2"):
        tf.import_onnx(affine(), input_shapes={"x": [1]})


def test_copies_and_checkpoints(tmp_path: Path) -> None:
    model = tf.import_onnx(affine())
    other = copy.deepcopy(model)
    other.weights["b"].assign(np.zeros(4, np.float32))
    np.testing.assert_allclose(model(X), Y, rtol=1e-6)
    np.testing.assert_allclose(other(X), X @ numbers(3, 4), rtol=1e-6)
    path = tf.train.Checkpoint(model=other).save(str(tmp_path / "c"))
    tf.train.Checkpoint(model=model).restore(path).assert_consumed()
    np.testing.assert_array_equal(model(X), other(X))


def test_a_pickled_model_has_its_present_values() -> None:
    model = tf.import_onnx(affine(), trainable=["b"])
    model.weights["b"].assign(np.zeros(4, np.float32))
    model.note = "mine"
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(other(X), X @ numbers(3, 4), rtol=1e-6)
    assert [v.name for v in other.trainable_variables] == ["b:0"]
    assert (other.note, other.name) == ("mine", model.name)
    other.weights["b"].assign(np.ones(4, np.float32))
    np.testing.assert_allclose(model(X), X @ numbers(3, 4), rtol=1e-6)


def test_it_is_a_part_of_other_modules_and_functions(tmp_path: Path) -> None:
    class Head(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = tf.import_onnx(affine(), trainable=False)
            self.scale = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x: Any) -> Any:
            return self.base(x) * self.scale

    head = Head()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(head(X))
    np.testing.assert_allclose(tape.gradient(loss, head.scale), Y.sum(), rtol=1e-5)
    tf.saved_model.save(head, tmp_path / "b")
    np.testing.assert_allclose(tf.saved_model.load(tmp_path / "b")(X), 2 * Y, rtol=1e-6)


def test_derivatives_of_every_kind() -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Tanh", ["m"], ["y"])]
    model = tf.import_onnx(
        make(nodes, [value("x", ["n", 3])], [value("y", None)], [constant("w", numbers(3, 4))])
    )
    w, x = numbers(3, 4).astype(np.float64), tf.constant(X)
    slope = 1 - np.tanh(X @ w) ** 2
    jacobian = slope[:, :, None] * w.T
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    np.testing.assert_allclose(tape.batch_jacobian(y, x), jacobian, rtol=1e-4, atol=1e-6)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = model(x)
    np.testing.assert_allclose(forward.jvp(y), jacobian.sum(2), rtol=1e-4, atol=1e-6)
    mapped = tf.vectorized_map(lambda row: model(row[None])[0], x)
    np.testing.assert_allclose(mapped, y, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_other_floats(dtype: str) -> None:
    kind = tf.as_dtype(dtype)
    code = kind.onnx
    w = TensorProto(
        name="w", data_type=code, dims=[3], raw_data=np.ones(3, kind.as_numpy_dtype).tobytes()
    )
    proto = make(
        [node("Mul", ["x", "w"], ["y"])], [value("x", [3], code)], [value("y", [3], code)], [w]
    )
    model = tf.import_onnx(proto)
    x = tf.cast([1.0, 2.0, 3.0], kind)
    with tf.GradientTape() as tape:
        y = model(x)
        loss = tf.reduce_sum(y * y)
    assert y.dtype is kind
    found = tf.cast(tape.gradient(loss, model.weights["w"]), tf.float32)
    np.testing.assert_array_equal(found, [2, 8, 18])
    onnx.checker.check_model(model.as_onnx(), full_check=True)


def test_strings_and_truth_values() -> None:
    nodes = [node("Equal", ["x", "c"], ["y"])]
    text = TensorProto.STRING
    proto = make(
        nodes,
        [value("x", [2], text)],
        [value("y", [2], BOOL)],
        [helper.make_tensor("c", text, [1], [b"a"])],
    )
    assert tf.import_onnx(proto)(np.array(["a", "b"], object)).numpy().tolist() == [True, False]
    assert FLOAT == 1


def test_casts_to_the_type_of_another_value_are_decided_while_reading() -> None:
    """As PyTorch's exporter has a bias of zeros: ONNX Runtime folds no ``CastLike``."""
    nodes = [
        node("CastLike", ["zero", "x"], ["typed"]),
        node("Expand", ["typed", "size"], ["b"]),
        node("Add", ["x", "b"], ["s"]),
        node("CastLike", ["s", "n"], ["whole"]),
        node("CastLike", ["s", "x"], ["same"]),
    ]
    stored = [constant("zero", np.array(1, np.int64)), constant("size", np.array([2], np.int64))]
    inputs = [value("x", [2]), value("n", [2], INT64)]
    outputs = [value("whole", [2], INT64), value("same", [2])]
    model = tf.import_onnx(make(nodes, inputs, outputs, stored))
    found = model(np.float32([1.5, -3.5]), np.int64([0, 0]))
    assert found["whole"].numpy().tolist() == [2, -2]
    assert found["same"].numpy().tolist() == [2.5, -2.5]
    assert sorted(n.op_type for n in model.as_onnx().graph.node) == ["Add", "Cast"]
