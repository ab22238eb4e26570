"""Functions that a program has from before there was anything that they look for."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import partial, reduce
from typing import Any

import pytest

import tfx as tf
from tests import source_tree

# Each runs in a process of its own: its first ragged or sparse tensor is the first one at all.
FIRST = {
    "an argument that is evaluated after the function": """
        found = tf.cast(tf.ragged.constant([[1], [2, 3]]), tf.float32)
        assert found.dtype == tf.float32 and found.to_list() == [[1.0], [2.0, 3.0]]
    """,
    "a sparse argument": """
        assert tf.abs(tf.SparseTensor([[0]], [-1.0], [2])).values.numpy().tolist() == [1.0]
        assert tf.shape(tf.sparse.from_dense([[0, 1]])).numpy().tolist() == [1, 2]
    """,
    "a right operand": """
        x = tf.constant([[1], [2]])
        assert (x == tf.ragged.constant([[1], [2, 3]])).to_list() == [[True], [True, False]]
        y = tf.ragged.constant([[1], [2, 3]])
        assert (x - y).to_list() == [[0], [0, -1]]
        assert (tf.Variable([[1], [2]]) * y).to_list() == [[1], [4, 6]]
    """,
    "a method": """
        add = tf.Tensor.__add__
        assert add(tf.constant(1), tf.ragged.constant([[1], [2, 3]])).to_list() == [[2], [3, 4]]
    """,
    "a signature": """
        concat = tf.concat

        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
        def twice(x):
            return concat([x, x], axis=0)

        assert twice(tf.ragged.constant([[1], [2, 3]])).to_list() == [[1], [2, 3]] * 2
    """,
    "a dataset": """
        largest, rows = tf.reduce_max, tf.data.Dataset.from_tensor_slices([1, 3])
        found = [largest(x, 1).numpy().tolist() for x in rows.map(tf.range).ragged_batch(2)]
        assert found == [[0, 2]]
    """,
    "names that were imported, and what holds functions": """
        import functools
        from tfx import cast, stack
        from tfx.math import add
        from tfx.nn import relu

        class Join:
            def __init__(self, how=tf.concat):
                self.how = how

            def __call__(self, *parts, after=tf.math.negative):
                return after(self.how(parts, axis=1))

        def logged(function):
            @functools.wraps(function)
            def call(*args, **kwargs):
                return function(*args, **kwargs)
            return call

        join, product, sums = Join(), logged(tf.multiply), functools.partial(tf.reduce_sum, axis=1)
        traced, many = tf.function(tf.abs), functools.partial(map, tf.square)
        once = traced(tf.constant([-1, 2]))
        x = tf.ragged.constant([[1], [-2, 3]])
        assert cast(x, tf.int64).dtype == tf.int64
        assert stack([x, x], axis=0).to_list() == [[[1], [-2, 3]]] * 2
        assert add(x, 1).to_list() == [[2], [-1, 4]]
        assert relu(x).to_list() == [[1], [0, 3]]
        assert join(x, x).to_list() == [[-1, -1], [2, -3, 2, -3]]
        assert product(x, 2).to_list() == [[2], [-4, 6]]
        assert sums(x).numpy().tolist() == [1, 1]
        assert traced(x).to_list() == [[1], [2, 3]]
        assert traced(tf.constant([-1, 2])).numpy().tolist() == once.numpy().tolist() == [1, 2]
        assert next(many([x])).to_list() == [[1], [4, 9]]
    """,
    "functions that TensorFlow 1 has otherwise": """
        v1 = tf.compat.v1
        sums, names = v1.reduce_sum, (v1.math.log1p, v1.nn.relu)
        x = tf.ragged.constant([[1.0], [-2.0, 3.0]])
        assert sums(x, axis=1).numpy().tolist() == [1.0, 1.0]
        assert names[1](x).to_list() == [[1.0], [0.0, 3.0]]
        assert names[0](x * 0.0).to_list() == [[0.0], [0.0, 0.0]]
    """,
}


@pytest.mark.parametrize("program", FIRST.values(), ids=FIRST)
def test_first_tensors_of_a_program(program: str) -> None:
    text = f"import tfx as tf\n{textwrap.dedent(program)}"
    command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=source_tree.ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]


class Metres(tf.experimental.ExtensionType):
    length: tf.Tensor


@pytest.fixture
def unregistered() -> Iterator[list[Any]]:
    """What is registered in a test, and no longer after it."""
    owners: list[Any] = []
    yield owners
    for owner in owners:
        tf.experimental.unregister_dispatch_for(owner)


def test_types_of_a_program(unregistered: list[Any]) -> None:
    held = (tf.abs, partial(tf.clip_by_value, clip_value_min=0.0, clip_value_max=1.0), tf.add)
    traced = tf.function(lambda x: held[0](held[2](x, x)))
    total = partial(reduce, tf.math.add)

    @tf.experimental.dispatch_for_unary_elementwise_apis(Metres)
    def single(api: Any, x: Any) -> Any:
        return Metres(api(x.length))

    @tf.experimental.dispatch_for_binary_elementwise_apis(Metres, Metres)
    def pair(api: Any, x: Any, y: Any) -> Any:
        return Metres(api(x.length, y.length))

    unregistered += [single, pair]
    x = Metres(tf.constant(-3.0))
    assert float(held[0](x).length) == 3.0
    assert float(held[1](x).length) == 0.0
    assert float(held[2](x, x).length) == -6.0
    assert float(traced(x).length) == 6.0
    assert float(total([x, x, x]).length) == -9.0


def test_a_handler_is_given_the_function_that_was_called(unregistered: list[Any]) -> None:
    given = []

    @tf.experimental.dispatch_for_unary_elementwise_apis(Metres)
    def single(api: Any, x: Any) -> Any:
        given.append(api)
        return Metres(api(x.length))

    unregistered.append(single)
    tf.math.ceil(Metres(1.5))
    assert given == [tf.math.ceil]
    # With other arguments, it is one of the tensor alone.
    assert tf.cast(Metres(1.5), tf.int32).length.dtype == tf.int32
    assert given[1] is not tf.cast
    assert given[1].__name__ == "cast"


def test_operators_of_tensors_take_types_of_a_program(unregistered: list[Any]) -> None:
    @tf.experimental.dispatch_for_api(tf.add, {"y": Metres})
    def add(x: Any, y: Any, name: str | None = None) -> Any:
        return Metres(tf.add(x, y.length))

    unregistered.append(add)
    assert float((tf.constant(1.0) + Metres(2.0)).length) == 3.0


def test_functions_look_for_types_that_most_arguments_are(unregistered: list[Any]) -> None:
    def tensors(values: list[tf.Tensor], axis: int = 0) -> str:
        return "tensors"

    def anything(x: object, name: str | None = None) -> str:
        return "anything"

    unregistered += [
        tf.experimental.dispatch_for_api(tf.stack)(tensors),
        tf.experimental.dispatch_for_api(tf.math.lbeta)(anything),
    ]
    x = tf.constant([1.0])
    assert tf.stack([x, x]) == tf.stack((x, x), 1) == "tensors"
    assert tf.stack([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]
    assert tf.math.lbeta(x) == tf.math.lbeta([1.0, 2.0]) == "anything"


def test_defaults_count_as_arguments_and_are_the_own_ones_of_what_is_called(
    unregistered: list[Any],
) -> None:
    @tf.experimental.dispatch_for_api(tf.shape, {"input": Metres, "name": None})
    def unnamed(input: Any, out_type: Any = tf.int64, name: Any = "own") -> Any:
        return out_type, name

    unregistered.append(unnamed)
    x = Metres(1.0)
    assert tf.shape(x) == tf.shape(x, out_type=None) == (tf.int64, "own")
    assert tf.shape(x, out_type=tf.int64) == (tf.int64, "own")
    assert tf.shape(x, tf.int16) == (tf.int16, "own")
    with pytest.raises((TypeError, ValueError)):
        tf.shape(x, name="given")


def test_a_function_that_nothing_is_looked_for_any_more_costs_what_it_did() -> None:
    before = tf.math.lbeta([1.0, 2.0]), tf.math.lbeta.__code__

    @tf.experimental.dispatch_for_api(tf.math.lbeta, {"x": Metres})
    def own(x: Any, name: str | None = None) -> str:
        return "own"

    assert tf.math.lbeta(Metres(1.0)) == "own"
    assert tf.math.lbeta.__code__ is not before[1]
    tf.experimental.unregister_dispatch_for(own)
    assert tf.math.lbeta.__code__ is before[1]
    assert float(tf.math.lbeta([1.0, 2.0])) == float(before[0])


def test_nodes_and_errors_know_nothing_of_it() -> None:
    tf.ragged.constant([[1.0], []])  # from here on they look

    @tf.function
    def f(x: Any) -> Any:
        return tf.nn.relu(tf.abs(x, name="size")) + 1.0

    operations = f.get_concrete_function(tf.TensorSpec([2])).graph.get_operations()
    assert {"size", "Relu", "add"} <= {each.name for each in operations}
    traced = f.get_concrete_function(tf.RaggedTensorSpec([None, None]))
    assert {"size", "Relu"} <= {each.name for each in traced.graph.get_operations()}
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.abs("a")
    places = {entry.path for entry in error.traceback}
    assert [str(place) for place in places] == [inspect.getfile(inspect.currentframe())]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^abs\(\) missing 1 required positional argument: 'x'$"):
        tf.abs()  # type: ignore[call-arg]


def test_autograph_converts_nothing_of_it() -> None:
    tf.ragged.constant([[1.0], []])

    @tf.function
    def f(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            return tf.abs(x)
        return tf.map_fn(lambda v: -v if v < 0.0 else v * 2.0, x)

    assert f(tf.constant([-1.0, 2.0])).numpy().tolist() == [1.0, 2.0]
    assert f(tf.constant([-3.0, 2.0])).numpy().tolist() == [3.0, 4.0]
