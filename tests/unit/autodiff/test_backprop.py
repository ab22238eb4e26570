"""The reverse walk on records made by hand."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.autodiff.backprop import backpropagate, reachable
from tfx.core.errors import InternalError
from tfx.framework import rules
from tfx.framework.rules import OpRecord


def _tensors(count):
    return [tf.constant(float(i)) for i in range(count)]


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setattr(rules, "_rules", dict(rules._rules))


def test_reachable_follows_floating_results():
    a, b, c, d = _tensors(4)
    n = tf.constant(1)
    records = [
        OpRecord("F", {}, (a,), (b, n)),
        OpRecord("G", {}, (n,), (c,)),
        OpRecord("H", {}, (None, b), (d,)),
    ]
    assert reachable(records, {id(a)}) == {id(a), id(b), id(d)}


def test_rules_are_told_which_gradients_are_wanted():
    seen = []

    @rules.gradient("F")
    def rule(op, *dys):
        seen.append((op.needs, [dy is not None for dy in dys]))
        return tuple(dys[1] if n else None for n in op.needs)

    a, b, y0, y1 = _tensors(4)
    record = OpRecord("F", {}, (a, None, b), (y0, y1))
    seed = tf.constant(5.0)
    assert backpropagate([record], {id(y1): seed}, [b]) == [seed]
    assert seen == [((False, False, True), [False, True])]


def test_what_the_target_does_not_depend_on_is_skipped():
    @rules.gradient("Never")
    def rule(op, dy):
        raise AssertionError("not on the way")

    a, b, c = _tensors(3)
    records = [OpRecord("Never", {}, (a,), (b,)), OpRecord("Identity", {}, (a,), (c,))]
    seed = tf.constant(2.0)
    assert backpropagate(records, {id(c): seed}, [a]) == [seed]


def test_gradients_of_one_tensor_are_added():
    a, b, c, d = _tensors(4)
    records = [
        OpRecord("Identity", {}, (a,), (b,)),
        OpRecord("Identity", {}, (a,), (c,)),
        OpRecord("Add", {}, (b, c), (d,)),
    ]
    (gradient,) = backpropagate(records, {id(d): tf.constant(2.0)}, [a])
    assert gradient.numpy() == 4.0


def test_a_rule_with_the_wrong_number_of_gradients():
    rules.gradient("F")(lambda op, dy: (dy,))
    a, b, y = _tensors(3)
    with pytest.raises(InternalError, match="rule of F returned 1 gradients for 2 inputs"):
        backpropagate([OpRecord("F", {}, (a, b), (y,))], {id(y): a}, [a])
