"""Types of functions, and their text, which is TensorFlow's."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import tfx as tf
from tfx.function.inspection.function_type import type_text


class Point(NamedTuple):
    x: Any
    y: Any


SPEC = tf.TensorSpec([None, 2], name="ignored")
TEXT = "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (SPEC, TEXT),
        (None, "Literal[None]"),
        (True, "Literal[True]"),
        ("a", "Literal['a']"),
        ([1, SPEC], f"List[Literal[1], {TEXT}]"),
        ((1.5,), "Tuple[Literal[1.5]]"),
        ({"k": [SPEC]}, f"Dict[['k', List[{TEXT}]]]"),
        (Point(1, SPEC), f"Point[['x', Literal[1]], ['y', {TEXT}]]"),
        (tf.Variable([1.0]), "VariableSpec(shape=(1,), dtype=tf.float32)"),
        (tf.Module(), "<Module>"),
    ],
)
def test_types(value: Any, text: str) -> None:
    assert type_text(value) == text


def test_a_function_with_everything() -> None:
    v = tf.Variable(1.0, name="v")

    @tf.function
    def f(x: Any, *rest: Any, flag: bool = False, **more: Any) -> Any:
        return {"y": x * v}

    concrete = f.get_concrete_function(tf.TensorSpec([2]), 3, flag=True, k=4)
    assert str(concrete) == (
        "ConcreteFunction Input Parameters:\n"
        "  x (POSITIONAL_ONLY): TensorSpec(shape=(2,), dtype=tf.float32, name=None)\n"
        "  rest_0 (POSITIONAL_ONLY): Literal[3]\n"
        "  flag (KEYWORD_ONLY): Literal[True]\n"
        "  k (KEYWORD_ONLY): Literal[4]\n"
        "Output Type:\n"
        "  Dict[['y', TensorSpec(shape=(2,), dtype=tf.float32, name=None)]]\n"
        "Captures:\n"
        "  v:0: TensorSpec(shape=(), dtype=tf.float32, name=None)"
    )
    line = (
        "(x: TensorSpec(shape=(2,), dtype=tf.float32, name=None), rest_0: Literal[3], /, *, "
        "flag: Literal[True], k: Literal[4]) -> "
        "Dict[['y', TensorSpec(shape=(2,), dtype=tf.float32, name=None)]]"
    )
    assert concrete.pretty_printed_signature(verbose=False) == line
    assert repr(concrete) == f"<ConcreteFunction {line} at 0x{id(concrete):X}>"


def test_lines_as_tensorflow_has_them() -> None:
    @tf.function
    def f(x: Any, *, k: int = 1) -> Any:
        return x

    f(tf.constant(1.0))
    f(tf.constant([1.0]), k=2)
    assert f.pretty_printed_concrete_signatures(verbose=False) == (
        "(x: TensorSpec(shape=(), dtype=tf.float32, name=None), *, k: Literal[1]) -> "
        "TensorSpec(shape=(), dtype=tf.float32, name=None)\n"
        "(x: TensorSpec(shape=(1,), dtype=tf.float32, name=None), *, k: Literal[2]) -> "
        "TensorSpec(shape=(1,), dtype=tf.float32, name=None)"
    )
    nothing = tf.function(lambda: None).get_concrete_function()
    assert repr(nothing).startswith("<ConcreteFunction () -> Literal[None] at 0x")


def test_a_function_of_nothing() -> None:
    concrete = tf.function(lambda: None).get_concrete_function()
    assert "Input Parameters:\n  None\n" in str(concrete)
    assert list(concrete.graph.as_graph_def().node) == []


def test_types_of_functions_are_signatures() -> None:
    w = tf.Variable(1.0, name="w")

    @tf.function
    def f(x: Any, y: int = 2) -> Any:
        return {"a": x * w, "b": (x, y)}

    assert str(f.function_type) == "(x, y=<captured_default_value>)"
    kind = f.get_concrete_function(tf.TensorSpec([None, 2])).function_type
    assert isinstance(kind, tf.types.experimental.FunctionType)
    spec = tf.TensorSpec([None, 2])
    x, y = kind.parameters.values()
    assert (x.name, x.type_constraint, x.optional) == ("x", spec, False)
    assert repr(y) == (
        "Parameter(name=y, kind=POSITIONAL_OR_KEYWORD, optional=False, type_constraint=Literal[2])"
    )
    assert kind.flat_inputs == [spec]
    assert kind.flat_outputs == [spec, spec, tf.TensorSpec([], tf.int32)]
    assert kind.flat_captures == [tf.TensorSpec([])]
    assert kind.bind(1, 2).arguments == {"x": 1, "y": 2}
    assert kind == f.get_concrete_function(spec).function_type


def test_input_signatures_are_in_the_type() -> None:
    f = tf.function(lambda x, y: x, input_signature=[tf.TensorSpec([], tf.int32)] * 2)
    text = "TensorSpec(shape=(), dtype=tf.int32, name=None)"
    assert str(f.function_type) == f"(x: {text}, y: {text})"
    assert f.function_type.output is None


def test_ragged_tensors_have_their_specs() -> None:
    f = tf.function(lambda x: x)
    kind = f.get_concrete_function(tf.ragged.constant([[1]])).function_type
    spec = "RaggedTensorSpec(TensorShape([1, None]), tf.int32, 1, tf.int64)"
    assert str(kind) == f"(x: {spec}) -> {spec}"
    assert [s.dtype for s in kind.flat_inputs] == [tf.int32, tf.int64]


def test_names_that_are_no_parameters_stay_together() -> None:
    f = tf.function(lambda **named: named["a b"])
    text = "TensorSpec(shape=(), dtype=tf.float32, name=None)"
    line = f"(**named: Dict[['a b', {text}]]) -> {text}"
    assert str(f.get_concrete_function(**{"a b": tf.constant(1.0)}).function_type) == line
