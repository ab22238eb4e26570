"""Traces as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import tfx as tf
from tfx.function.inspection.describe import type_text


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
        "  x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2,), dtype=tf.float32, name=None)\n"
        "  rest (VAR_POSITIONAL): Tuple[Literal[3]]\n"
        "  flag (KEYWORD_ONLY): Literal[True]\n"
        "  more (VAR_KEYWORD): Dict[['k', Literal[4]]]\n"
        "Output Type:\n"
        "  Dict[['y', TensorSpec(shape=(2,), dtype=tf.float32, name=None)]]\n"
        "Captures:\n"
        "  v:0: TensorSpec(shape=(), dtype=tf.float32, name=None)"
    )
    line = (
        "(x: TensorSpec(shape=(2,), dtype=tf.float32, name=None), *rest: Tuple[Literal[3]], "
        "flag: Literal[True], **more: Dict[['k', Literal[4]]]) -> "
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
