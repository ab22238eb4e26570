"""Policies of mixed precision, and the variables that they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfx as tf

mp = tf.mixed_precision


@pytest.fixture(autouse=True)
def _float32_again() -> Iterator[None]:
    yield
    mp.set_global_policy("float32")


@pytest.mark.parametrize(
    ("name", "compute", "variable"),
    [
        ("mixed_float16", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("float32", "float32", "float32"),
        ("float64", "float64", "float64"),
        (tf.bfloat16, "bfloat16", "bfloat16"),
        ("half", "float16", "float16"),
    ],
)
def test_dtypes(name: Any, compute: str, variable: str) -> None:
    policy = mp.Policy(name)
    assert (policy.compute_dtype, policy.variable_dtype) == (compute, variable)
    assert mp.Policy.from_config(policy.get_config()) == policy
    assert hash(mp.Policy.from_config(policy.get_config())) == hash(policy)
    assert policy.is_mixed == (compute != variable)
    assert policy.name in repr(policy)


@pytest.mark.parametrize("name", ["mixed_float32", "int32", "", "string"])
def test_unknown_policies(name: str) -> None:
    with pytest.raises(ValueError, match=r"Valid policies include 'mixed_float16'"):
        mp.Policy(name)


def test_a_policy_is_no_number() -> None:
    with pytest.raises(TypeError, match=r"must be a string.*got 16 of type int"):
        mp.Policy(16)  # type: ignore[arg-type]


def test_the_global_policy() -> None:
    assert mp.global_policy() == mp.Policy("float32")
    mp.set_global_policy(mp.Policy("mixed_float16"))
    assert mp.global_policy().name == "mixed_float16"
    with mp.policy_scope("mixed_bfloat16") as inside:
        assert mp.global_policy() is inside
    assert mp.global_policy().name == "mixed_float16"
    mp.set_global_policy(None)
    assert mp.global_policy() == mp.Policy("float32")


def test_a_scope_ends_with_an_error() -> None:
    with pytest.raises(KeyError), mp.policy_scope("mixed_float16"):
        raise KeyError
    assert mp.global_policy().name == "float32"


def test_it_is_not_set_while_a_function_is_traced() -> None:
    @tf.function
    def f() -> Any:
        mp.set_global_policy("mixed_float16")
        return tf.constant(1.0)

    with pytest.raises(ValueError, match="would come too late"):
        f()
    assert mp.global_policy().name == "float32"


def test_which_variables_are_cast() -> None:
    with mp.policy_scope("mixed_float16"):
        made = {
            "trainable": tf.Variable([1.0]),
            "by a creator": _through_a_creator([1.0]),
            "frozen": tf.Variable([1.0], trainable=False),
            "integer": tf.Variable([1]),
            "double": tf.Variable(np.ones(2)),
        }
        slots = tf.optimizers.Adam()
        slots.build([made["trainable"]])
    cast = {name: isinstance(v, mp.AutoCastVariable) for name, v in made.items()}
    assert cast == {
        "trainable": True,
        "by a creator": True,
        "frozen": False,
        "integer": False,
        "double": False,
    }
    assert not any(isinstance(v, mp.AutoCastVariable) for v in slots.variables)
    assert type(tf.Variable([1.0])) is tf.Variable


def _through_a_creator(value: Any) -> Any:
    def creator(make: Any, **options: Any) -> Any:
        return make(**options)

    with tf.variable_creator_scope(creator):
        return tf.Variable(value)


def test_variables_of_a_function() -> None:
    made: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        if not made:
            made.append(tf.Variable([2.0]))
        with mp.autocast("mixed_float16"):
            return made[0] * tf.cast(x, tf.float16)

    with mp.policy_scope("mixed_float16"):
        assert f(tf.constant([3.0])).numpy() == np.float16(6)
    assert isinstance(made[0], mp.AutoCastVariable)
