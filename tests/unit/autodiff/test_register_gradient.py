"""``RegisterGradient`` and ``no_gradient``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tfx as tf
from tfx.autodiff.backprop import backpropagate
from tfx.framework import rules
from tfx.framework.rules import OpRecord


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table as it was, afterwards."""
    monkeypatch.setattr(rules, "_rules", dict(rules._rules))
    monkeypatch.setattr(rules, "_without", dict(rules._without))
    yield


def slopes(op: str, *inputs: Any) -> Any:
    y = tf.constant(1.0)
    record = OpRecord(op, {"k": 3.0}, inputs, (y,))
    return backpropagate([record], {id(y): tf.constant(2.0)}, list(inputs))


def test_a_new_operator() -> None:
    @tf.RegisterGradient("Cubed")
    def cubed(op: Any, grad: Any) -> Any:
        return 3.0 * op.inputs[0] ** 2 * grad * op.attrs["k"]

    (g,) = slopes("Cubed", tf.constant(2.0))
    assert float(g) == 72.0
    assert cubed.__name__ == "cubed"  # the function itself is given back


def test_several_inputs() -> None:
    tf.RegisterGradient("Both")(lambda op, grad: (grad, None))
    tf.RegisterGradient("First")(lambda op, grad: [grad * 5.0])
    found = slopes("Both", tf.constant(1.0), tf.constant(2.0))
    assert (float(found[0]), found[1]) == (2.0, None)
    assert float(slopes("First", tf.constant(1.0))[0]) == 10.0


def test_names_of_tensorflow_1() -> None:
    assert tf.compat.v1.NotDifferentiable is tf.compat.v1.NoGradient is tf.no_gradient
    assert tf.compat.v1.RegisterGradient is tf.RegisterGradient


def test_not_differentiable() -> None:
    tf.no_gradient("Rounded")
    assert slopes("Rounded", tf.constant(1.0)) == [None]


@pytest.mark.parametrize("name", ["Sin", "Shape"])
def test_what_is_known_is_not_replaced(name: str) -> None:
    with pytest.raises(KeyError, match=f"Registering two gradient with name '{name}'"):
        tf.RegisterGradient(name)(lambda op, grad: grad)
    with pytest.raises(KeyError, match="custom_gradient"):
        tf.no_gradient(name)


def test_twice() -> None:
    tf.RegisterGradient("Once")(lambda op, grad: grad)
    with pytest.raises(KeyError, match="Once"):
        tf.RegisterGradient("Once")(lambda op, grad: grad)
    with pytest.raises(KeyError, match="Once"):
        tf.no_gradient("Once")


@pytest.mark.parametrize("wrong", [3, None, b"Sin"])
def test_wrong_names(wrong: Any) -> None:
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(wrong)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.no_gradient(wrong)


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="is a function of"):
        tf.RegisterGradient("NoFunction")(3)  # type: ignore[type-var]
