"""Arguments that say by a ``TraceType`` which traces serve them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import tfx as tf

T: Any = tf.types.experimental


class _Of(T.TraceType):  # type: ignore[misc]  # its base is Any here
    """The type of a value: its class and a note; a subclass's is a subtype."""

    def __init__(self, value: Any, note: Any = None) -> None:
        self.value, self.note = value, note

    def is_subtype_of(self, other: Any) -> bool:
        return issubclass(type(self.value), type(other.value)) and self.note == other.note

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context: Any) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Of)
            and type(self.value) is type(other.value)
            and self.note == other.note
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.note))


class _Fruit:
    sweetness = 1

    def __tf_tracing_type__(self, context: Any) -> Any:
        return _Of(self)


class _Apple(_Fruit):
    sweetness = 2


class _SmallApple(_Apple):
    sweetness = 5


class _PairType(_Of):
    def to_tensors(self, value: Any) -> list[Any]:
        return [value.x, value.y]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        return _Pair(next(tensors), next(tensors), self.note)


class _Pair:
    def __init__(self, x: Any, y: Any, note: int) -> None:
        self.x, self.y, self.note = x, y, note

    def __tf_tracing_type__(self, context: Any) -> Any:
        return _PairType(self, self.note)


def test_one_trace_serves_equal_types_and_subtypes() -> None:
    @tf.function
    def sweetness(fruit: Any) -> Any:
        return tf.constant(fruit.sweetness)

    assert [int(sweetness(_Apple())) for _ in range(3)] == [2, 2, 2]
    assert sweetness.experimental_get_tracing_count() == 1
    assert int(sweetness(_SmallApple())) == 2  # by the apples' trace
    assert int(sweetness(_Fruit())) == 1  # what is not known to be an apple
    assert sweetness.experimental_get_tracing_count() == 2


def test_tensors_of_an_object_are_inputs() -> None:
    @tf.function
    def product(pair: Any) -> Any:
        return pair.x * pair.y * pair.note

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = product(_Pair(x, tf.constant(2.0), 5))
    assert (float(y), float(tape.gradient(y, x))) == (30.0, 10.0)
    assert float(product(_Pair(tf.constant(1.0), tf.constant(1.0), 5))) == 5.0
    assert product.experimental_get_tracing_count() == 1
    assert float(product(_Pair(x, x, 1))) == 9.0
    assert product.experimental_get_tracing_count() == 2
    nested = tf.function(lambda p: product({"p": p}["p"]))
    assert float(nested(_Pair(x, x, 1))) == 9.0


def test_a_type_that_equals_nothing_is_traced_each_time() -> None:
    class Never(_Of):
        def is_subtype_of(self, other: Any) -> bool:
            return False

        def __eq__(self, other: object) -> bool:
            return False

        def __hash__(self) -> int:
            return id(self)

    class Scaled(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = tf.Variable(2.0)

        def __tf_tracing_type__(self, context: Any) -> Any:
            return Never(self)

    module, x = Scaled(), tf.constant(3.0)
    scaled = tf.function(lambda m, x: m.scale * x)
    with tf.GradientTape() as tape:
        total = scaled(module, x) + scaled(module, x)
    assert float(total) == 12.0
    assert float(tape.gradient(total, module.scale)) == 6.0
    assert scaled.experimental_get_tracing_count() == 2


def test_what_follows_the_protocol() -> None:
    assert isinstance(_Fruit(), T.SupportsTracingProtocol)
    assert not isinstance(3, T.SupportsTracingProtocol)
    assert isinstance(tf.TensorSpec([2]), T.TraceType)
    apple = _Apple()
    kind = _Of(apple)
    assert (kind.to_tensors(apple), kind.flatten(), kind.from_tensors(iter(()))) == ([], [], apple)
    assert kind.cast(apple, None) is apple
    with pytest.raises(AssertionError, match="Cannot cast 3"):
        kind.cast(3, None)

    class Wrong:
        def __tf_tracing_type__(self, context: Any) -> Any:
            return 3

    with pytest.raises(TypeError, match=r"must return a tf.types.experimental.TraceType; got 3"):
        tf.function(lambda x: 1)(Wrong())
