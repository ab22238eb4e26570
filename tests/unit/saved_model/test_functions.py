"""Loaded functions are called like the originals."""

from __future__ import annotations

import collections
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.models import Dense, numbers, saved, saved_function

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024
X = tf.constant(numbers(2, 3))


def test_traces_for_python_values(tmp_path: Any) -> None:
    layer = Dense(3, 2)
    plain, trained = layer(X), layer(X, training=True)
    back = saved(layer, tmp_path / "m")
    for result in (back(X), back(X, False), back(x=X), back(X, training=False)):
        np.testing.assert_array_equal(result, plain)
    for result in (back(X, True), back(training=True, x=X)):
        assert list(result) == ["y", "twice"]
        np.testing.assert_array_equal(result["twice"], trained["twice"])


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (None, [0, False, ""]),
        (True, [1, 1.0, "True", False]),
        (1, [True, 1.0]),
        (2.5, [2, "2.5"]),
        ("relu", [b"relu", "RELU"]),
        (b"x", ["x"]),
        (tf.float32, [tf.float64, "float32"]),
        ((1, "a"), [(1, "b"), (1,), 1]),
        ({"a": 1}, [{"a": 2}, {"b": 1}, {}]),
        (float("nan"), [0.0]),
    ],
    ids=repr,
)
def test_a_python_value_selects_its_trace_and_no_other(
    value: Any, others: list[Any], tmp_path: Any
) -> None:
    f = tf.function(lambda x, option: x + 1.0)
    f(tf.constant(1.0), value)
    back = saved_function(f, tmp_path / "m")
    assert float(back(tf.constant(1.0), value)) == 2.0
    for other in others:
        with pytest.raises(ValueError, match="argument 'option"):
            back(tf.constant(1.0), other)


def test_each_value_has_its_trace(tmp_path: Any) -> None:
    @tf.function
    def f(x: Any, mode: Any = "add", scale: Any = None) -> Any:
        y = x + 1.0 if mode == "add" else x * 10.0
        return y if scale is None else y * scale

    x = tf.constant(2.0)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x,), {}), ((x, "add"), {}), ((x, "mul"), {}), ((x,), {"mode": "mul", "scale": 0.5}),
        ((x,), {"scale": x}),
    ]  # fmt: skip
    expected = [float(f(*a, **k)) for a, k in calls]
    back = saved_function(f, tmp_path / "m")
    assert [float(back(*a, **k)) for a, k in calls] == expected
    assert len(back.concrete_functions) == len(f.concrete_functions)


def test_structures_of_arguments(tmp_path: Any) -> None:
    @tf.function
    def f(table: Any, items: Any, point: Any) -> Any:
        return table["b"][0] + table["a"] * items[1] - point.y

    one, two, three = (tf.constant(v) for v in (1.0, 2.0, 3.0))
    expected = float(f({"b": (one,), "a": two}, [one, three], Point(None, two)))
    back = saved_function(f, tmp_path / "m")
    other = collections.namedtuple("Other", "x y")  # noqa: PYI024
    for table in ({"b": (one,), "a": two}, {"a": two, "b": [one]}):
        for items in ([one, three], (one, three)):
            for point in (Point(None, two), other(None, two)):
                assert float(back(table, items, point)) == expected
    for wrong in ({"b": (one,)}, {"b": (one, one), "a": two}, [one, two]):
        with pytest.raises(ValueError, match="argument 'table'"):
            back(wrong, [one, three], Point(None, two))


def test_attrs_classes_and_structures_of_ones_own(tmp_path: Any) -> None:
    class Pair:  # what attrs.define makes, as far as structures look at it
        __attrs_attrs__ = tuple(types.SimpleNamespace(name=n, alias=n) for n in ("first", "second"))

        def __init__(self, first: Any, second: Any) -> None:
            self.first, self.second = first, second

    class Custom:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        def __tf_flatten__(self) -> Any:
            return ((), (self.a, self.b))

        @classmethod
        def __tf_unflatten__(cls, metadata: Any, components: Any) -> Any:
            return cls(*components)

    f = tf.function(lambda p, c: Pair(p.first + c.a, p.second * c.b))
    one, two = tf.constant(1.0), tf.constant(2.0)
    f(Pair(one, two), Custom(one, two))
    back = saved_function(f, tmp_path / "m")
    result = back(Pair(two, two), Custom(two, two))
    assert (float(result.first), float(result.second)) == (4.0, 4.0)


def test_results_keep_their_structure(tmp_path: Any) -> None:
    @tf.function
    def f(x: Any) -> Any:
        return {"z": (x, None), "a": [Point(x + 1.0, {"k": x * 2.0})], "n": None, "e": ()}

    expected = f(X)
    back = saved_function(f, tmp_path / "m")(X)
    assert list(back) == list(expected)
    assert back["n"] is None
    assert back["e"] == ()
    assert back["z"][1] is None
    assert isinstance(back["z"], tuple)
    assert isinstance(back["a"], list)
    np.testing.assert_array_equal(back["z"][0], X)
    np.testing.assert_array_equal(back["a"][0].x, expected["a"][0].x)
    np.testing.assert_array_equal(back["a"][0].y["k"], expected["a"][0].y["k"])


def test_composite_results_are_what_they_were(tmp_path: Any) -> None:
    """They came back as named tuples of their components."""

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)], autograph=False)
    def function(x: Any) -> Any:
        dense = x.to_tensor()
        uniform = tf.RaggedTensor.from_uniform_row_length(tf.range(4.0), 2)
        return {"r": (x * 2, uniform), "s": tf.sparse.from_dense(dense), "n": None, "d": dense}

    x = tf.ragged.constant([[1.5, 2.0], [], [3.0]])
    loaded = saved_function(function, tmp_path)
    for call in (loaded, tf.function(lambda x: loaded(x))):
        found = call(x)
        rows, uniform = found["r"]
        assert isinstance(rows, tf.RaggedTensor)
        assert rows.to_list() == [[3.0, 4.0], [], [6.0]]
        assert uniform.shape == [2, 2]
        assert isinstance(found["s"], tf.SparseTensor)
        assert tf.sparse.to_dense(found["s"]).numpy().tolist() == found["d"].numpy().tolist()
        assert found["n"] is None
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(loaded(x)["r"][0] ** 2)
    assert tape.gradient(total, x).to_list() == [[12.0, 16.0], [], [24.0]]


@pytest.mark.parametrize(
    "result",
    [lambda x: None, lambda x: (), lambda x: [x], lambda x: (x, x), lambda x: x],
    ids=["none", "empty", "list", "the same twice", "the argument"],
)
def test_simple_results(result: Any, tmp_path: Any) -> None:
    f = tf.function(result)
    expected = f(X)
    back = saved_function(f, tmp_path / "m")(X)
    assert type(back) is type(expected)
    tf.nest.map_structure(np.testing.assert_array_equal, back, expected)


def test_variadic_and_keyword_only_parameters(tmp_path: Any) -> None:
    @tf.function
    def f(first: Any, *rest: Any, k: Any = 2.0, **more: Any) -> Any:
        return first + sum(rest, tf.constant(0.0)) * k + more.get("z", tf.constant(0.0))

    one, two = tf.constant(1.0), tf.constant(2.0)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((one,), {}), ((one, two), {}), ((one, two, two), {"k": 3.0}), ((one,), {"z": two}),
        ((), {"first": two}),
    ]  # fmt: skip
    expected = [float(f(*a, **kw)) for a, kw in calls]
    back = saved_function(f, tmp_path / "m")
    assert [float(back(*a, **kw)) for a, kw in calls] == expected
    with pytest.raises(ValueError, match="argument 'more'"):
        back(one, y=two)


def test_defaults_that_are_tensors_arrays_and_objects(tmp_path: Any) -> None:
    marker = object()

    @tf.function
    def f(x: Any, y: Any = tf.constant([1.0, 2.0]), act: Any = marker) -> Any:  # noqa: B008
        return x + y

    f(tf.constant(1.0))
    back = saved_function(f, tmp_path / "m")
    np.testing.assert_array_equal(back(tf.constant(3.0)), [4.0, 5.0])
    np.testing.assert_array_equal(back(tf.constant(3.0), tf.constant([0.0, 0.0])), [3.0, 3.0])
    with pytest.raises(ValueError, match="argument 'act'"):
        back(tf.constant(3.0), act=marker)


def test_shapes_select_the_most_specific_trace(tmp_path: Any) -> None:
    @tf.function
    def f(x: Any) -> Any:
        known = x.shape.rank is not None and x.shape[0] is not None
        return (x, tf.constant("fixed" if known else "any"))

    f(tf.constant([1.0, 2.0]))
    f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    f.get_concrete_function(tf.TensorSpec(None, tf.float32))
    back = saved_function(f, tmp_path / "m")
    for value, expected in (([1.0, 2.0], b"fixed"), ([1.0], b"any"), ([[1.0]], b"any")):
        found = back(tf.constant(value))[1].numpy()
        assert found == expected == f(tf.constant(value))[1].numpy()


def test_named_dimensions_are_kept(tmp_path: Any) -> None:
    spec = tf.TensorSpec(["batch", 3], tf.float32)
    f = tf.function(lambda x, y: x + y, input_signature=[spec, spec])
    f.get_concrete_function()
    back = saved_function(f, tmp_path / "m")
    (x_spec, _), _ = back.get_concrete_function().structured_input_signature
    assert x_spec.shape.symbolic == ("batch", 3)
    np.testing.assert_array_equal(back(X, X), 2 * X.numpy())
    with pytest.raises(ValueError, match="batch"):
        back(X, X[:1])


def test_arrays_numbers_lists_and_variables_serve_for_tensors(tmp_path: Any) -> None:
    f = tf.function(lambda x: x * 2.0)
    f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    g = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None], tf.float32)])
    module = tf.Module()
    module.f, module.g = f, g
    back = saved(module, tmp_path / "m")
    for function in (back.f, back.g):
        for value in ([1.0, 2.0], (1, 2), np.float32([1, 2]), tf.constant([1.0, 2.0]),
                      tf.Variable([1.0, 2.0])):  # fmt: skip
            np.testing.assert_array_equal(function(value), [2.0, 4.0])
        with pytest.raises((TypeError, ValueError), match="'x'"):
            function([[1.0]])
        with pytest.raises((TypeError, ValueError), match="'x'"):
            function(["a"])
    with pytest.raises(ValueError, match="'x' is float64"):
        back.f(np.float64([1, 2]))


def test_the_error_shows_what_came_and_every_trace(tmp_path: Any) -> None:
    layer = Dense(3, 2)
    layer(X)
    layer(X, training=True)
    back = saved(layer, tmp_path / "m")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        back(tf.constant(numbers(2, 4)))
    text = str(caught.value)
    assert "Could not find matching concrete function" in text
    assert "__call__(x=float32[2, 4], training=False)" in text
    assert "x=float32[2, 3], training=True" in text
    assert "argument 'x' is float32[2, 4], the trace is for float32[2, 3]" in text
    with pytest.raises(TypeError, match="did you mean 'training'"):
        back(X, trainin=True)
    with pytest.raises(TypeError, match="missing a required argument"):
        back()


def test_a_function_that_was_never_traced_says_so(tmp_path: Any) -> None:
    back = saved_function(tf.function(lambda x: x), tmp_path / "m")
    with pytest.raises(ValueError, match="saved with no traces"):
        back(X)


def test_untraced_functions_with_an_input_signature_are_traced(tmp_path: Any) -> None:
    spec = tf.TensorSpec([None, 3], tf.float32, name="image")
    back = saved_function(tf.function(lambda x: x, input_signature=[spec]), tmp_path / "m")
    np.testing.assert_array_equal(back(X), X)
    assert back.input_signature[0].shape.as_list() == [None, 3]


def test_a_signature_with_structure_and_defaults(tmp_path: Any) -> None:
    spec = tf.TensorSpec([], tf.float32)

    def f(table: Any, flag: Any = True, n: int = 3) -> Any:
        return table["a"] + table["b"][0] * float(n) if flag else table["a"]

    function = tf.function(f, input_signature=[{"a": spec, "b": [spec]}])
    one = tf.constant(1.0)
    expected = float(function({"a": one, "b": [one]}))
    back = saved_function(function, tmp_path / "m")
    assert float(back({"a": one, "b": [one]})) == expected == 4.0
    assert float(back({"b": (1.0,), "a": 1.0})) == expected


def test_a_device_scope_does_not_hide_the_traces(tmp_path: Any) -> None:
    f = tf.function(lambda x: x + 1.0)
    f(X)
    with tf.device("/CPU:0"):
        f(X)
    back = saved_function(f, tmp_path / "m")
    assert len(back.concrete_functions) == 1
    with tf.device("/CPU:0"):
        np.testing.assert_array_equal(back(X), X.numpy() + 1)


def test_functions_run_eagerly_run_their_graph(tmp_path: Any) -> None:
    back = saved_function(tf.function(lambda x: x + 1.0), tmp_path / "empty")
    f = tf.function(lambda x: x + 1.0)
    f(X)
    back = saved_function(f, tmp_path / "m")
    tf.config.run_functions_eagerly(True)
    try:
        np.testing.assert_array_equal(back(X), X.numpy() + 1)
    finally:
        tf.config.run_functions_eagerly(False)


def test_concrete_functions_as_attributes_and_roots(tmp_path: Any) -> None:
    f = tf.function(lambda x: x + 1.0)
    concrete = f.get_concrete_function(tf.TensorSpec([None, 3], tf.float32, name="x"))
    module = tf.Module()
    module.concrete = concrete
    back = saved(module, tmp_path / "m")
    np.testing.assert_array_equal(back.concrete(X), X.numpy() + 1)
    for i, root in enumerate((f, concrete)):
        loaded = saved(root, tmp_path / f"root{i}")
        np.testing.assert_array_equal(loaded(X), X.numpy() + 1)
        assert list(loaded.signatures) == ["serving_default"]


def test_nested_calls_are_local_functions_in_the_file(tmp_path: Any) -> None:
    import onnx

    v = tf.Variable(3.0)
    inner = tf.function(lambda x: x * v)
    middle = tf.function(lambda x: inner(x) + inner(x + 1.0))
    module = tf.Module()
    module.v = v
    spec = tf.TensorSpec([], tf.float32)
    module.f = tf.function(lambda x: middle(x) * middle(x), input_signature=[spec])
    expected = float(module.f(2.0))
    back = saved(module, tmp_path / "m")
    assert float(back.f(2.0)) == expected == 225.0
    model = onnx.load(tmp_path / "m" / "serving_default.onnx")
    assert len(model.functions) == 2
    assert len(model.graph.node) < 8
    back.v.assign(1.0)
    assert float(back.f(2.0)) == 25.0


def test_documentation_and_names_are_kept(tmp_path: Any) -> None:
    @tf.function
    def scaled(x: Any, by: float = 2.0) -> Any:
        """Multiply."""
        return x * by

    scaled(tf.constant(1.0))
    back = saved_function(scaled, tmp_path / "m")
    assert back.__doc__ == "Multiply."
    assert "by=2.0" in repr(back)
    assert "float32" in back.pretty_printed_concrete_signatures()


def test_traces_of_dead_variables_are_left_out(tmp_path: Any) -> None:
    holder = {"v": tf.Variable(1.0)}
    f = tf.function(lambda x: x * holder["v"])
    f(tf.constant(1.0))
    holder["v"] = tf.Variable([1.0, 2.0])
    f(tf.constant([1.0, 1.0]))
    back = saved_function(f, tmp_path / "m")
    np.testing.assert_array_equal(back(tf.constant([3.0, 3.0])), [3.0, 6.0])
    assert len(back.concrete_functions) == 1


def test_a_function_traced_inside_another_is_saved_without_that_trace(tmp_path: Any) -> None:
    module = tf.Module()

    @tf.function
    def outer(x: Any) -> Any:
        module.inner = tf.function(lambda y: y + x)
        return module.inner(x)

    module.outer = outer
    assert float(module.outer(tf.constant(2.0))) == 4.0
    back = saved(module, tmp_path / "m")
    assert float(back.outer(tf.constant(2.0))) == 4.0
    with pytest.raises(ValueError, match="no traces"):
        back.inner(tf.constant(1.0))
    with pytest.raises(ValueError, match=r"has 1 traces|tensors of the function"):
        tf.saved_model.save(module, tmp_path / "n", signatures=module.inner)


class _InOldOrder(NamedTuple):
    """The components of a sparse tensor as bundles had them first, sorted by name."""

    dense_shape: Any
    indices: Any
    values: Any


_InOldOrder.__name__ = "SparseTensor"


def test_components_of_sparse_tensors_are_known_by_name(tmp_path: Any) -> None:
    spec = _InOldOrder(
        tf.TensorSpec([2], tf.int64), tf.TensorSpec([None, 2], tf.int64), tf.TensorSpec([None])
    )
    module = tf.Module()
    module.f = tf.function(lambda x: x._replace(values=2.0 * x.values), input_signature=[spec])
    module.g = tf.function(lambda x: x._replace(values=3.0 * x.values))
    module.g.get_concrete_function(spec)
    tf.saved_model.save(module, tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    x = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])
    for function, factor in ((back.f, 2.0), (back.g, 3.0)):
        found = function(x)
        assert isinstance(found, tf.SparseTensor)
        assert tf.sparse.to_dense(found).numpy().tolist() == [[factor, 0], [0, 2 * factor]]
