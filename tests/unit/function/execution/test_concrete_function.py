"""One trace as a callable, and as an ONNX model that any runtime takes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.checker
import onnxruntime
import pytest

import tfx as tf
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.tensor import SymbolicTensor

VECTOR = tf.TensorSpec([None], tf.float32)


@pytest.fixture
def multiply():
    def multiply(x, factor=3):
        return x * factor

    return tf.function(multiply).get_concrete_function(VECTOR)


def test_calls(multiply):
    x = tf.constant([1.0, 2.0])
    for result in (multiply(x), multiply(x=x), multiply(x, 3), multiply(x, factor=3)):
        np.testing.assert_array_equal(result, [3.0, 6.0])
    np.testing.assert_array_equal(multiply([5.0]), [15.0])
    np.testing.assert_array_equal(multiply(np.ones(2, np.float32)), [3.0, 3.0])
    np.testing.assert_array_equal(multiply(tf.Variable([2.0])), [6.0])


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, "missing required argument 'x'"),
        (([1.0], 3, 4), {}, TypeError, "too many positional"),
        (([1.0],), {"factr": 3}, TypeError, "got 'factr'; did you mean 'factor'"),
        (([1.0], 4), {}, TypeError, "'factor' is fixed to 3 by the trace; got 4"),
        (([1.0], 3.0), {}, TypeError, r"fixed to 3 by the trace; got 3\.0"),
        ((tf.constant([1]),), {}, DTypeMismatchError, "'x' expected float32 .*got int32"),
        (
            (tf.constant([[1.0]]),),
            {},
            InvalidArgumentError,
            r"expected shape \(None,\), got \(1, 1\)",
        ),
        ((object(),), {}, TypeError, "'x' expected float32"),
    ],
)
def test_wrong_calls(args, kwargs, error, message, multiply):
    with pytest.raises(error, match=message):
        multiply(*args, **kwargs)


def test_structures_are_checked():
    f = tf.function(lambda d: d["a"][0] + d["a"][1])
    concrete = f.get_concrete_function({"a": [VECTOR, VECTOR]})
    np.testing.assert_array_equal(concrete({"a": ([1.0], [2.0])}), [3.0])
    for wrong in ({"b": [[1.0], [2.0]]}, {"a": [[1.0]]}, [[1.0], [2.0]], {"a": [1.0, 2.0], "b": 1}):
        with pytest.raises((TypeError, ValueError), match="'d"):
            concrete(wrong)


def test_tensor_defaults_fill_in():
    five = tf.constant([5.0])
    concrete = tf.function(lambda x, y=five: x + y).get_concrete_function(VECTOR)
    np.testing.assert_array_equal(concrete([1.0]), [6.0])
    np.testing.assert_array_equal(concrete([1.0], [2.0]), [3.0])


def test_facts():
    v = tf.Variable([2.0], name="scale")
    frozen = tf.Variable([1.0], trainable=False, name="bias")

    def model(x, training=False):
        frozen.assign(x[:1])
        return {"y": x * v, "n": None}

    concrete = tf.function(model).get_concrete_function(tf.TensorSpec(["batch"], name="image"))
    args, kwargs = concrete.structured_input_signature
    assert (args, kwargs) == ((tf.TensorSpec(["batch"], tf.float32, "image"), False), {})
    assert concrete.structured_outputs["y"] == tf.TensorSpec(["batch"], tf.float32)
    assert concrete.structured_outputs["n"] is None
    assert concrete.output_dtypes == {"y": tf.float32, "n": None}
    assert concrete.output_shapes["y"].as_list() == [None]
    assert [t.name for t in concrete.inputs] == ["image:0", "scale:0"]
    assert len(concrete.outputs) == 1
    assert all(isinstance(t, SymbolicTensor) for t in concrete.inputs + concrete.outputs)
    assert [w.name for w in concrete.variables] == ["bias:0", "scale:0"]
    assert [w.name for w in concrete.trainable_variables] == ["scale:0"]
    assert [w.name for w in concrete.written_variables] == ["bias:0"]
    assert [w.name for w in concrete.captured_inputs] == ["scale:0"]
    assert concrete.bindings() == [("argument", 0, None), ("variable", 0, v)]
    assert concrete.name == "model"
    assert repr(concrete).startswith("<ConcreteFunction (x: TensorSpec(")


def test_get_concrete_function_does_not_run():
    v = tf.Variable(0)
    f = tf.function(lambda: v.assign_add(1))
    concrete = f.get_concrete_function()
    assert v.numpy() == 0
    assert f.get_concrete_function() is concrete
    assert int(concrete()) == 1


def test_specs_and_tensors_together():
    f = tf.function(lambda x, y, n: x * n + y)
    concrete = f.get_concrete_function(VECTOR, tf.constant(1.0), 2)
    np.testing.assert_array_equal(concrete([1.0, 2.0], 1.0), [3.0, 5.0])
    assert f.concrete_functions == [concrete]


def test_exactly_what_was_asked_for():
    f = tf.function(lambda x: x * 1.0)
    f.get_concrete_function(VECTOR)
    exact = f.get_concrete_function(tf.TensorSpec([3]))
    assert exact.structured_outputs.shape == [3]
    assert f.experimental_get_tracing_count() == 2


# As an ONNX model


def _bare(model):
    """Run a model in a session that nothing of ours touches."""
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda **feeds: session.run(None, feeds)


def test_as_onnx_runs_anywhere(multiply):
    model = multiply.as_onnx()
    assert [i.name for i in model.graph.input] == ["x"]
    assert [o.name for o in model.graph.output] == ["output_0"]
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(_bare(model)(x=x)[0], x * 3)


def test_variables_are_inputs_and_outputs():
    v = tf.Variable([1.0, 2.0], name="layer/w")

    @tf.function
    def step(x):
        v.assign_add(x)
        return {"loss": tf.reduce_sum(v), "pair": (x, v)}

    model = step.get_concrete_function(tf.TensorSpec([2], name="x")).as_onnx()
    assert [i.name for i in model.graph.input] == ["x", "layer/w"]
    names = [o.name for o in model.graph.output]
    assert names == ["loss", "pair_0", "pair_1", "layer/w_new"]
    feeds = {"x": np.array([1, 1], np.float32), "layer/w": np.array([1, 2], np.float32)}
    loss, x, w, new = _bare(model)(**feeds)
    assert loss == 5.0
    np.testing.assert_array_equal(x, feeds["x"])
    np.testing.assert_array_equal(w, [2.0, 3.0])
    np.testing.assert_array_equal(new, [2.0, 3.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_nested_calls_are_local_functions():
    v = tf.Variable(2.0, name="v")
    inner = tf.function(lambda x: (v.assign_add(1.0), x * v)[1], autograph=False)

    def outer(x):
        return inner(inner(x))

    model = tf.function(outer).get_concrete_function(VECTOR).as_onnx()
    assert [f.name for f in model.functions] == ["lambda"]
    assert [n.op_type for n in model.graph.node if n.domain] == ["lambda", "lambda"]
    result, new = _bare(model)(x=np.ones(3, np.float32), v=np.array(2, np.float32))
    np.testing.assert_array_equal(result, np.full(3, 12.0))
    assert new == 4.0


def test_clashing_names():
    f = tf.function(lambda x, output_0: {"x": x + output_0})
    model = f.get_concrete_function(VECTOR, VECTOR).as_onnx()
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(_bare(model)(x=one, output_0=one)[0], [2.0, 2.0])


def test_bfloat16_models_hold_their_casts():
    f = tf.function(lambda x: x + x)
    model = f.get_concrete_function(tf.TensorSpec([2], tf.bfloat16)).as_onnx()
    onnx.checker.check_model(model, full_check=True)
    assert "Cast" in [n.op_type for n in model.graph.node]


def test_one_tensor_for_each_leaf_in_place_of_structures():
    spec = tf.TensorSpec([], tf.float32)
    one, two, three = tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)

    @tf.function
    def nested(d, items, k=3):
        return d["a"] + items[0] * 2.0 + items[1] * k

    concrete = nested.get_concrete_function({"a": spec}, [spec, spec])
    assert float(concrete(one, two, three)) == 14.0
    assert float(concrete({"a": one}, [two, three])) == 14.0
    with pytest.raises(TypeError, match="argument 'd' does not have the structure"):
        concrete(one, two)
    with pytest.raises(DTypeMismatchError, match="items"):
        concrete(one, two, tf.constant(3))

    @tf.function
    def between(x, k, y):
        return x * k - y

    concrete = between.get_concrete_function(spec, 2.0, spec)
    assert float(concrete(one, three)) == float(concrete(one, 2.0, three)) == -1.0
    with pytest.raises(TypeError, match=r"'k' is fixed to 2\.0"):
        concrete(one, 3.0, two)


def test_messages_about_results_show_the_users_function():
    @tf.function
    def odd(x):
        return object()

    with pytest.raises(TypeError, match=r"<function .*<locals>\.odd at 0x"):
        odd(1)


def test_a_function_is_added_to_the_graph_that_is_being_traced():
    """Libraries add the variant for another device, which only a call would bring in."""
    called = tf.function(lambda x: 2.0 * x).get_concrete_function(tf.TensorSpec([]))
    other = tf.function(lambda x: 3.0 * x).get_concrete_function(tf.TensorSpec([]))

    @tf.function
    def f(x):
        other.add_to_graph()
        other.add_gradient_functions_to_graph()
        return called(x)

    x = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert (float(y), float(tape.gradient(y, x))) == (3.0, 2.0)
    called.add_to_graph(f.get_concrete_function(x).graph, overwrite=True)
