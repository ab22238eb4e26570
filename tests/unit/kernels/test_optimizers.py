"""An update of an optimizer is one pass over each weight, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.function.execution.plan import Plan
from tfx.graph.fusion.elementwise import fused_plan
from tfx.kernels.library import usable_library

pytestmark = needs_library

keras = tf.keras
SHAPES = ((64, 128), (300,))
# A name, and options, which are those of Keras' optimizer, too.
OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.01}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("Adagrad", {}),
    ("Lion", {}),
    ("Nadam", {}),
    ("Adamax", {}),
    ("Adadelta", {}),
    ("Ftrl", {}),
]
IDS = ["-".join([name, *options]) for name, options in OPTIMIZERS]
Step = Callable[..., None]


def passes(step: Step) -> tuple[list[int], list[str]]:
    """How many axes each loop of a step's programs goes over, and the operators outside of them."""
    specs = [tf.TensorSpec(shape) for shape in SHAPES]
    graph = tf.function(step).get_concrete_function(*specs)._observed.make_pure().graph
    library = usable_library()
    assert library is not None
    plan = Plan(graph)
    assert plan.fused
    ready = fused_plan(plan._prepared("CPU:0", own_kernels=True), library.instructions, frozenset())
    found: list[int] = []
    for node in ready.nodes:
        if node.op == "Fused":
            found += ranks(node.attrs["program"])
    return found, [node.op for node in ready.nodes if node.op not in ("Fused", "Constant")]


def ranks(words: Sequence[int]) -> list[int]:
    """The number of axes of each element-wise loop of a program; other loops are none of these."""
    _, inputs, outputs, temporaries, constants, loops = words[:6]
    at = 6 + inputs + outputs + 2 * temporaries + constants
    found = []
    for _ in range(loops):
        kind, rank, _, sources, results, steps = words[at : at + 6]
        assert kind == 0
        found.append(rank)
        at += 6 + 3 * sources + results + 5 * steps
    assert at == len(words)
    return found


def require_one_pass(step: Step) -> None:
    """One loop over each weight, whatever else is of single numbers, and nothing outside."""
    found, outside = passes(step)
    assert sorted(rank for rank in found if rank) == sorted(len(shape) for shape in SHAPES)
    assert outside == []


def weights(make: Callable[[Any], Any] = tf.Variable) -> list[Any]:
    return [make(np.ones(shape, np.float32)) for shape in SHAPES]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=IDS)
def test_ours(name: str, options: dict[str, Any]) -> None:
    optimizer, variables = getattr(tf.optimizers, name)(0.01, **options), weights()

    def step(a: Any, b: Any) -> None:
        optimizer.apply_gradients(zip((a, b), variables, strict=True))

    require_one_pass(step)


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=IDS)
def test_of_keras(name: str, options: dict[str, Any]) -> None:
    variables = weights(keras.Variable)
    optimizer = getattr(keras.optimizers, name)(0.01, **options)
    optimizer.build(variables)

    def step(a: Any, b: Any) -> None:
        optimizer.apply([a, b], variables)

    require_one_pass(step)


class ByHand:
    """What a program that knows no optimizer has: variables for averages, and formulas."""

    def __init__(self, rule: Callable[..., Any], slots: int) -> None:
        self.variables = weights()
        self.slots = [[tf.Variable(tf.zeros_like(v)) for _ in range(slots)] for v in self.variables]
        self.steps = tf.Variable(0.0)
        self.rule = rule

    def step(self, *gradients: Any) -> None:
        self.steps.assign_add(1.0)
        for v, slots, g in zip(self.variables, self.slots, gradients, strict=True):
            self.rule(v, g, self.steps, *slots)


def momentum(v: Any, g: Any, steps: Any, m: Any) -> None:
    m.assign(0.9 * m + g)
    v.assign_sub(0.1 * m)


def nesterov(v: Any, g: Any, steps: Any, m: Any) -> None:
    m.assign(0.9 * m - 0.1 * g)
    v.assign_add(0.9 * m - 0.1 * g)


def adam(v: Any, g: Any, steps: Any, m: Any, s: Any) -> None:
    m.assign(0.9 * m + 0.1 * g)
    s.assign(0.999 * s + 0.001 * tf.square(g))
    first, second = m / (1.0 - 0.9**steps), s / (1.0 - 0.999**steps)
    v.assign_sub(0.001 * first / (tf.sqrt(second) + 1e-8))


def adamw(v: Any, g: Any, steps: Any, m: Any, s: Any) -> None:
    v.assign_sub(0.001 * 0.01 * v)
    adam(v, g, steps, m, s)


def rmsprop(v: Any, g: Any, steps: Any, mean: Any, s: Any, m: Any) -> None:
    s.assign(0.9 * s + 0.1 * g**2)
    mean.assign(0.9 * mean + 0.1 * g)
    m.assign(0.9 * m + g * tf.math.rsqrt(s - tf.square(mean) + 1e-7))
    v.assign_sub(0.01 * m)


def adagrad(v: Any, g: Any, steps: Any, total: Any) -> None:
    total.assign_add(g * g)
    v.assign_sub(0.1 * g / (tf.sqrt(total) + 1e-7))


def lion(v: Any, g: Any, steps: Any, m: Any) -> None:
    v.assign_sub(0.001 * (tf.sign(0.9 * m + 0.1 * g) + 0.01 * v))
    m.assign(0.99 * m + 0.01 * g)


RULES = [(momentum, 1), (nesterov, 1), (adam, 2), (adamw, 2), (rmsprop, 3), (adagrad, 1), (lion, 1)]


@pytest.mark.parametrize(("rule", "slots"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_by_hand(rule: Callable[..., Any], slots: int) -> None:
    require_one_pass(ByHand(rule, slots).step)


@pytest.mark.parametrize(("rule", "slots"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_they_train_as_operators_do(rule: Callable[..., Any], slots: int) -> None:
    together, apart = ByHand(rule, slots), ByHand(rule, slots)
    fused, plain = tf.function(together.step), tf.function(apart.step, jit_compile=False)
    rng = np.random.default_rng(0)
    for _ in range(5):
        gradients = [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]
        fused(*gradients)
        plain(*gradients)
    for a, b in zip(together.variables, apart.variables, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_within_a_training_step() -> None:
    """The update is one program beside the products of matrices, and not the loss's."""
    w, optimizer = tf.Variable(np.ones((1000, 1000), np.float32)), tf.optimizers.AdamW(0.01)

    def step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(tf.matmul(x, w)) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    graph = tf.function(step).get_concrete_function(tf.TensorSpec((128, 1000))).graph
    programs = [[piece.op for piece in p.pieces] for p in graph.summary().fusion.programs]
    # Of the second moments, and of the rate's correction.
    updates = [pieces for pieces in programs if "Sqrt" in pieces]
    assert [pieces.count("Sqrt") for pieces in updates] == [2]
    assert "Tanh" not in updates[0]
