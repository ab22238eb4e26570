"""``tf.experimental.Optional`` as TensorFlow has it: values, none, specs and errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import tfx as tf

Optional = tf.experimental.Optional


class Pair(NamedTuple):
    a: Any
    b: Any


class Ranges(tf.experimental.ExtensionType):
    low: tf.Tensor
    high: tf.Tensor


def _plain(x: Any) -> Any:
    found = x.numpy()
    return found if isinstance(found, bytes) else found.tolist()


def _spec(shape: list[int], dtype: Any = tf.int32) -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize(
    ("value", "spec", "plain"),
    [
        (3, _spec([]), [3]),
        ([1, 2], _spec([2]), [[1, 2]]),
        ("s", _spec([], tf.string), [b"s"]),
        ((1, (2.0, 3)), (_spec([]), (_spec([], tf.float32), _spec([]))), [1, 2.0, 3]),
        ((1, [2, 3]), (_spec([]), _spec([2])), [1, [2, 3]]),
        ({"b": 1, "a": [2, 3]}, {"b": _spec([]), "a": _spec([2])}, [[2, 3], 1]),
        (Pair(1, {"c": 2}), Pair(_spec([]), {"c": _spec([])}), [1, 2]),
    ],
    ids=["number", "list", "text", "tuples", "list_inside", "dict", "named"],
)
def test_a_value_comes_back(value: Any, spec: Any, plain: Any) -> None:
    found = Optional.from_value(value)
    assert isinstance(found, Optional)
    assert found.element_spec == spec and type(found.element_spec) is type(spec)
    assert found.has_value().dtype == tf.bool and bool(found.has_value())
    tf.nest.assert_same_structure(found.get_value(), spec)
    got = [_plain(x) for x in tf.nest.flatten(found.get_value())]
    assert got == plain


def test_none_has_a_spec_and_no_value() -> None:
    none = Optional.empty((_spec([]), _spec([2])))
    assert not bool(none.has_value())
    assert none.element_spec == (_spec([]), _spec([2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        none.get_value()
    assert "has_value=False" in repr(none)


def test_the_value_is_not_changed_from_outside() -> None:
    given = {"a": tf.constant(1)}
    found = Optional.from_value(given)
    given["a"] = tf.constant(2)
    found.get_value()["a"] = tf.constant(3)
    assert found.get_value()["a"].numpy() == 1


def test_types_made_of_tensors() -> None:
    found = Optional.from_value(Ranges(tf.constant(1), tf.constant([2, 3])))
    assert found.get_value().high.numpy().tolist() == [2, 3]
    assert found.element_spec.high == _spec([2])


def test_in_traced_functions() -> None:
    @tf.function
    def f(given: Any, x: Any) -> Any:
        inner = Optional.from_value(x + 1.0)
        if given.has_value():
            return given.get_value() * inner.get_value()
        return inner.get_value()

    one, two = Optional.from_value(10.0), Optional.from_value(20.0)
    assert f(one, tf.constant(2.0)).numpy() == 30.0
    assert f(two, tf.constant(2.0)).numpy() == 60.0
    assert f(Optional.empty(one.element_spec), tf.constant(2.0)).numpy() == 3.0


def test_what_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one tensor"):
        Optional.from_value(())
    with pytest.raises((TypeError, ValueError)):
        Optional.from_value(object())
    with pytest.raises(TypeError, match="TypeSpec"):
        Optional.empty(tf.int32)
    with pytest.raises(TypeError, match="from_value"):
        Optional()


def test_specs_of_optionals() -> None:
    spec = tf.OptionalSpec(_spec([None]))
    found = Optional.from_value([1, 2])
    assert tf.type_spec_from_value(found) == tf.OptionalSpec.from_value(found)
    assert tf.OptionalSpec.from_value(found) == tf.OptionalSpec(_spec([2]))
    assert tf.OptionalSpec.from_value(found).is_subtype_of(spec)
    assert not spec.is_subtype_of(tf.OptionalSpec(_spec([2])))
    assert spec.is_compatible_with(found) and not spec.is_compatible_with(Optional.from_value(1))
    assert not spec.is_compatible_with(tf.constant([1])) and spec.value_type is Optional
    assert not spec.is_compatible_with(Optional.from_value({"a": [1]}))
    other = tf.OptionalSpec(_spec([3]))
    assert tf.OptionalSpec(_spec([2])).most_specific_common_supertype([other]) == spec
    assert spec.most_specific_common_supertype([_spec([])]) is None
    assert repr(spec) == "OptionalSpec(TensorSpec(shape=(None,), dtype=tf.int32, name=None),)"
    assert len({spec, tf.OptionalSpec(_spec([None]))}) == 1
    with pytest.raises(TypeError, match="TypeSpec"):
        tf.OptionalSpec(tf.int32)


def test_specs_of_optionals_in_signatures() -> None:
    @tf.function(input_signature=[tf.OptionalSpec(_spec([]))])
    def value_or(found: Any) -> Any:
        return found.get_value() + 1 if found.has_value() else tf.constant(-1)

    assert value_or(Optional.from_value(1)).numpy() == 2
    assert value_or(Optional.empty(_spec([]))).numpy() == -1
