"""Gradients that parts of functions have of their own, after saving and loading, also again."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tests.unit.saved_model.damage import rewrite
from tfx.loaders import Bundle

VECTOR = tf.TensorSpec([None], tf.float32)
X = (1.0, 2.0)


@tf.custom_gradient
def hundred(x: Any) -> Any:
    """The square, whose derivative is said to be a hundred."""
    return x * x, lambda dy: dy * 100.0


class Parts(tf.Module):
    """Functions whose gradients are not those of their operations, one for each way to stand."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(2.0)

    @tf.function(input_signature=[VECTOR])
    def plain(self, x: Any) -> Any:
        return hundred(x)

    @tf.function(input_signature=[VECTOR])
    def nested(self, x: Any) -> Any:
        """It uses a variable, and both it and its gradient have parts with gradients."""

        @tf.custom_gradient
        def outer(x: Any) -> Any:
            @tf.custom_gradient
            def inner(y: Any) -> Any:
                return y * 3.0, lambda d: d * x * 50.0

            def grad(dy: Any, variables: Any = None) -> Any:
                @tf.custom_gradient
                def of_gradient(d: Any) -> Any:
                    return d * d * 7.0, lambda dd: dd * 1000.0

                return of_gradient(dy), [tf.reduce_sum(dy) * 11.0]

            return inner(x) * self.v, grad

        return outer(x * x) * 2.0

    @tf.function(input_signature=[VECTOR])
    def branches(self, x: Any) -> Any:
        return self.plain(x) if tf.reduce_sum(x) > 0.0 else self.nested(x)

    @tf.function(input_signature=[VECTOR])
    def loop(self, x: Any) -> Any:
        for _ in tf.range(3):
            x = hundred(x) / 50.0
        return x

    @tf.function(input_signature=[VECTOR])
    def recomputed(self, x: Any) -> Any:
        return tf.recompute_grad(lambda x: tf.sin(x * self.v))(x)

    @tf.function(input_signature=[VECTOR])
    def rounded(self, x: Any) -> Any:
        return x * tf.grad_pass_through(tf.round)(x)

    @tf.function(input_signature=[VECTOR])
    def several(self, x: Any) -> Any:
        """Several results, one of them an integer, and an argument without a gradient."""

        @tf.custom_gradient
        def parts(x: Any, n: Any) -> Any:
            return (x * n, tf.cast(x, tf.int32)), lambda dy, _: (dy * 3.0, None)

        y, i = parts(x, tf.constant(2.0))
        return y * tf.cast(i, tf.float32)

    @tf.function(input_signature=[VECTOR])
    def step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self.nested(x))
        self.v.assign_sub(0.001 * tape.gradient(loss, self.v))
        return loss


NAMES = ("plain", "nested", "branches", "loop", "recomputed", "rounded", "several", "step")


def derivatives(model: Any, name: str) -> list[Any]:
    """Result, gradients, second derivative, and the variable afterwards."""
    model.v.assign(2.0)
    x = tf.constant(X)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(model, name)(x)
        first = tape.gradient(y, [x, model.v])
        total = sum(tf.reduce_sum(g * g) for g in first if g is not None)
    found = [y, *first, outer.gradient(total, x), model.v]
    return [None if g is None else g.numpy() for g in found]


def assert_same(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def original() -> Parts:
    return Parts()


@pytest.fixture(scope="module")
def folder(original: Parts, tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("custom") / "m"
    tf.saved_model.save(original, folder)
    return folder


@pytest.fixture(scope="module")
def again(folder: Path) -> Any:
    """Loaded, saved again and loaded again."""
    tf.saved_model.save(tf.saved_model.load(folder), folder.parent / "again")
    return tf.saved_model.load(folder.parent / "again")


@pytest.mark.parametrize("name", NAMES)
def test_loaded_functions_keep_their_gradients(
    name: str, original: Parts, folder: Path, again: Any
) -> None:
    expected = derivatives(original, name)
    assert_same(derivatives(tf.saved_model.load(folder), name), expected)
    assert_same(derivatives(again, name), expected)


def test_the_gradients_are_those_that_were_given(folder: Path) -> None:
    back = tf.saved_model.load(folder)
    y, g, gv, _, _ = derivatives(back, "plain")
    np.testing.assert_array_equal(y, [1.0, 4.0])
    np.testing.assert_array_equal(g, [100.0, 100.0])
    assert gv is None
    _, g, gv, second, _ = derivatives(back, "nested")
    # dy is 2, its square times 7 is 28; the rest is x * x, and both square when summed.
    np.testing.assert_array_equal(g, [56.0, 112.0])
    assert gv == 44.0
    np.testing.assert_array_equal(second, 2 * g * 2 * 28.0)
    _, g, _, _, _ = derivatives(back, "rounded")
    np.testing.assert_array_equal(g, [2.0, 4.0])  # x * round(x) with round' = 1


def test_inside_functions_and_by_tf_gradients(folder: Path) -> None:
    back = tf.saved_model.load(folder)

    @tf.function
    def by_tape(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = back.branches(x)
        return tape.gradient(y, x)

    by_graph = tf.function(lambda x: tf.gradients(back.branches(x), x)[0])
    for function in (by_tape, by_graph):
        np.testing.assert_array_equal(function(tf.constant(X)), [100.0, 100.0])


def test_the_stock_files_know_nothing_of_it(folder: Path) -> None:
    back = tf.saved_model.load(folder)
    for name in NAMES:
        model = onnx.load(folder / f"{name}.onnx", load_external_data=False)
        assert "tfx.gradient" not in {d.domain for d in model.opset_import}
        onnx.checker.check_model(folder / f"{name}.onnx")
    session = onnxruntime.InferenceSession(folder / "nested.live.onnx")
    feeds = {"x": np.array(X, np.float32), "v": np.array(2.0, np.float32)}
    (found,) = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    np.testing.assert_array_equal(found, back.nested(tf.constant(X)))


def test_the_gradient_form_is_plain_onnx_too(folder: Path) -> None:
    for name in NAMES:
        path = folder / f"{name}.gradient.onnx"
        onnx.checker.check_model(path)
        session = onnxruntime.InferenceSession(path)
        feeds = {"x": np.array(X, np.float32), "v": np.array(2.0, np.float32)}
        session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})


def test_the_python_loader_passes_over_it_and_keeps_it(folder: Path, tmp_path: Path) -> None:
    with Bundle.open(folder, verify=True) as bundle:
        bundle.variables["v"] = 5.0
        bundle.save(tmp_path / "other")
    back = tf.saved_model.load(tmp_path / "other")
    assert back.v.numpy() == 5.0
    assert_same(derivatives(back, "nested"), derivatives(tf.saved_model.load(folder), "nested"))


def test_large_constants_of_gradients_lie_in_the_store_once(tmp_path: Path) -> None:
    weights = np.arange(4096, dtype=np.float32)

    class Large(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([4096], tf.float32)])
        def f(self, x: Any) -> Any:
            @tf.custom_gradient
            def part(x: Any) -> Any:
                return x + weights, lambda dy: dy * tf.convert_to_tensor(weights)

            return part(x)

    tf.saved_model.save(Large(), tmp_path / "m")
    sizes = {p.name: p.stat().st_size for p in (tmp_path / "m").iterdir()}
    assert sizes["serving_default.gradient.onnx"] < 4096
    stored = (tmp_path / "m" / "variables" / "model.safetensors").stat().st_size
    assert stored < 2 * weights.nbytes
    back = tf.saved_model.load(tmp_path / "m")
    x = tf.ones([4096])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = back.f(x)
    np.testing.assert_array_equal(tape.gradient(y, x), weights)


def test_without_gradients_by_choice(tmp_path: Path) -> None:
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(Parts(), tmp_path / "m", options=options)
    assert not list((tmp_path / "m").glob("*.gradient.onnx"))
    back = tf.saved_model.load(tmp_path / "m")
    x = tf.constant(X)
    np.testing.assert_array_equal(back.plain(x), [1.0, 4.0])
    with (
        pytest.raises(LookupError, match=r"No gradient defined for .*experimental_custom_grad"),
        tf.GradientTape() as tape,
    ):
        tape.watch(x)
        tape.gradient(back.plain(x), x)


def test_a_gradient_in_python_cannot_be_saved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Host(tf.Module):
        @tf.function(input_signature=[VECTOR])
        def f(self, x: Any) -> Any:
            @tf.custom_gradient
            def part(x: Any) -> Any:
                return x * 2.0, lambda dy: tf.py_function(lambda d: d * 3.0, [dy], tf.float32)

            return part(x) + hundred(x)

    with caplog.at_level(logging.WARNING, "tfx"):
        tf.saved_model.save(Host(), tmp_path / "m")
    assert "saved without the gradient 'part_gradient'" in caplog.text
    back = tf.saved_model.load(tmp_path / "m")
    x = tf.constant(X)
    np.testing.assert_array_equal(back.f(x), [3.0, 8.0])
    with pytest.raises(tf.errors.NotFoundError, match="part"), tf.GradientTape() as tape:
        tape.watch(x)
        tape.gradient(back.f(x), x)


# Hostile files: what the metadata of a marker may not say


def _marker(model: Any) -> Any:
    return next(n for n in model.graph.node if n.metadata_props)


def _say(key: str, value: str) -> Any:
    def change(model: Any) -> None:
        for item in _marker(model).metadata_props:
            if item.key == key:
                item.value = value

    return change


def _function(model: Any, domain: str) -> Any:
    return next(f for f in model.functions if f.domain == domain)


def _not_a_copy(model: Any) -> None:
    _function(model, "tfx.function").node[0].op_type = "Neg"


def _wrong_dtype(model: Any) -> None:
    function = _function(model, "tfx.gradient")
    cast = onnx.helper.make_node("Cast", [function.output[0]], ["wrong"], to=7)
    function.node.append(cast)
    function.output[0] = "wrong"


def _more_inputs(model: Any) -> None:
    _function(model, "tfx.gradient").input.append("more")


def _more_outputs(model: Any) -> None:
    function = _function(model, "tfx.gradient")
    function.output.append(function.output[0])


def _its_own_gradient(model: Any) -> None:
    """The gradient holds a part whose gradient it is."""
    marker, function = _marker(model), _function(model, "tfx.gradient")
    inner = onnx.NodeProto()
    inner.CopyFrom(marker)
    del inner.input[:], inner.output[:]
    inner.input.extend([function.input[0], function.input[0]])
    inner.output.append("again")
    function.node.append(inner)


def _multiplying(model: Any) -> None:
    """Forty gradients, each with two parts that have the one before."""
    marker, first = _marker(model), _function(model, "tfx.gradient")
    before = first.name
    for i in range(40):
        function = onnx.FunctionProto(name=f"g{i}", domain="tfx.gradient", input=["d"])
        function.opset_import.extend(first.opset_import)
        for source, result in (("d", "m"), ("m", "y")):
            node = function.node.add()
            node.CopyFrom(marker)
            del node.input[:], node.output[:]
            node.input.extend([source, source])
            node.output.append(result)
            node.metadata_props[0].value = before
        function.output.append("y")
        model.functions.append(function)
        before = function.name
    marker.metadata_props[0].value = before


HOSTILE = {
    "no such gradient": _say("tfx.gradient", "nobody"),
    "not text of digits": _say("tfx.gradient.inputs", "1x"),
    "too many inputs": _say("tfx.gradient.inputs", "1" * 50),
    "no inputs": _say("tfx.gradient.inputs", ""),
    "an input without a gradient": _say("tfx.gradient.inputs", "0"),
    "not a copy": _not_a_copy,
    "wrong dtype": _wrong_dtype,
    "more inputs": _more_inputs,
    "more outputs": _more_outputs,
    "its own gradient": _its_own_gradient,
    "multiplies": _multiplying,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_gradients(kind: str, folder: Path, tmp_path: Path) -> None:
    source = tf.saved_model.load(folder)
    one = tf.Module()
    one.plain = source.plain
    tf.saved_model.save(one, tmp_path / "m")
    path = tmp_path / "m" / "serving_default.gradient.onnx"
    model = onnx.load(path, load_external_data=False)
    HOSTILE[kind](model)
    path.write_bytes(model.SerializeToString())
    rewrite(tmp_path / "m")
    with pytest.raises(tf.errors.DataLossError, match=r"serving_default\.gradient\.onnx"):
        tf.saved_model.load(tmp_path / "m").plain(tf.constant(X))
