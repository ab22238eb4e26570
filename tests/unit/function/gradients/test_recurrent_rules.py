"""Gradients of ``RNN``, ``GRU`` and ``LSTM``: by differences of NumPy in float64, and PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.function.recurrent_cases import CASES, HIDDEN, Case, floating, tensors_of
from tests.unit.ops.imported import numbers
from tfx.function.gradients import recurrent_rules
from tfx.graph.ir import Graph

STEP = 1e-5


def differences(case, inputs, rng):
    """A direction for each input, and the reference's derivative along it."""
    for i in floating(inputs):
        direction = rng.standard_normal(inputs[i].shape)
        moved = [
            [x if k != i or x is None else x + s * STEP * direction for k, x in enumerate(inputs)]
            for s in (1, -1)
        ]
        yield direction, (case.total(moved[0]) - case.total(moved[1])) / (2 * STEP)


def agree(case, inputs, found, rng):
    for (direction, expected), gradient in zip(differences(case, inputs, rng), found, strict=True):
        got = float((np.asarray(gradient, np.float64) * direction).sum())
        assert got == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values_and_gradients(number, rng):
    case = CASES[number]
    inputs = case.inputs()
    tensors = tensors_of(inputs)
    for got, want in zip(case.apply(tensors), case.reference(inputs), strict=True):
        np.testing.assert_allclose(got.numpy(), want, atol=1e-4)
    agree(case, inputs, case.slopes(tensors, floating(inputs)), rng)


@pytest.mark.parametrize("number", [0, 6, 11, 21, 41, 50, 57])
@pytest.mark.parametrize("open_sizes", [False, True])
def test_in_functions(number, open_sizes, rng):
    case = CASES[number]
    inputs = case.inputs()
    tensors = tensors_of(inputs)
    there = [t for t in tensors if t is not None]
    signature = None
    if open_sizes:
        sizes = [[*t.shape] for t in there]
        sizes[0] = [None, None, sizes[0][-1]]
        signature = [tf.TensorSpec(s, t.dtype) for s, t in zip(sizes, there, strict=True)]

    @tf.function(input_signature=signature)
    def slopes(*given):
        rest = iter(given)
        return case.slopes([None if t is None else next(rest) for t in tensors], floating(inputs))

    agree(case, inputs, slopes(*there), rng)


SMOOTH = [n for n, case in enumerate(CASES) if not case.attrs.get("clip")]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("number", SMOOTH[::7])
def test_second_order(number, traced):
    case = CASES[number]
    inputs = case.inputs()
    wanted = floating(inputs)
    rng = np.random.default_rng(3)
    first, second = ([rng.standard_normal(inputs[i].shape) for i in wanted] for _ in range(2))

    def along(*sources):
        given = tensors_of(inputs)
        for i, x in zip(wanted, sources, strict=True):
            given[i] = x
        with tf.GradientTape() as tape:
            tape.watch(sources)
            parts = zip(case.slopes(given, wanted), first, strict=True)
            total = tf.add_n([tf.reduce_sum(g * tf.constant(d, tf.float32)) for g, d in parts])
        return tape.gradient(total, list(sources))

    sources = [t for i, t in enumerate(tensors_of(inputs)) if i in wanted]
    found = (tf.function(along) if traced else along)(*sources)
    got = sum(float((g.numpy() * d).sum()) for g, d in zip(found, second, strict=True))

    def at(a, b):
        moved = list(inputs)
        for i, d, e in zip(wanted, first, second, strict=True):
            moved[i] = inputs[i] + a * d + b * e
        return case.total(moved)

    step = 1e-4
    mixed = at(step, step) - at(step, -step) - at(-step, step) + at(-step, -step)
    assert got == pytest.approx(mixed / (4 * step * step), rel=5e-3, abs=5e-3)


# By input, initial states, weights, recurrent weights.
TORCH = {
    ("RNN", False): (-0.565282251426, -0.857940086597, 1.4891163327, 3.65424002324),
    ("GRU", False): (0.764998492975, -0.491390378762, -0.0577074049318, -0.91982890284),
    ("LSTM", False): (-0.549040309981, -0.0346140553549, -0.546612672898, -0.524016973272,
                      -0.774647780434),
    ("RNN", True): (-1.61948674658, -0.0709823802458, -0.534270875113, 0.0954259674324),
    ("GRU", True): (1.23168376802, -0.323214365892, 2.79026872248, -0.185809664054),
    ("LSTM", True): (-0.40558502225, -0.376738732856, -0.74243795262, -0.734995599743,
                     -1.17056878289),
}  # fmt: skip


@pytest.mark.parametrize("key", TORCH, ids=lambda k: f"{k[0]}-{'both' if k[1] else 'one'}")
def test_as_torch(key):
    op, both = key
    gates, two = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 2 if both else 1
    size, hidden, time, batch = 3, 4, 5, 2
    made = [
        numbers(10, time, batch, size), numbers(11, two, gates * hidden, size),
        numbers(12, two, gates * hidden, hidden), numbers(13, two, 2 * gates * hidden), None,
        numbers(14, two, batch, hidden),
    ]  # fmt: skip
    made += [numbers(15, two, batch, hidden)] if op == "LSTM" else []
    tensors = tensors_of(made)
    attrs = {"hidden_size": hidden, "direction": "bidirectional" if both else "forward"}
    attrs |= {"linear_before_reset": 1} if op == "GRU" else {}
    wanted = [0, 5, 6, 1, 2] if op == "LSTM" else [0, 5, 1, 2]
    sources = [tensors[i] for i in wanted]
    count = 3 if op == "LSTM" else 2
    with tf.GradientTape() as tape:
        tape.watch(sources)
        ys = getattr(tf.raw, op)(*tensors, n_outputs=count, **attrs)
        total = tf.add_n([
            tf.reduce_sum(y * numbers(20 + i, *y.shape).astype(np.float32))
            for i, y in enumerate(ys)
        ])  # fmt: skip
    found = [float((g.numpy() * numbers(7, *g.shape)).sum()) for g in tape.gradient(total, sources)]
    np.testing.assert_allclose(found, TORCH[key], rtol=1e-4, atol=1e-5)


def test_one_backward_graph_serves_all_lengths():
    recurrent_rules._kept.clear()
    case = Case("GRU", {})
    inputs = case.inputs()
    for time in (4, 2, 3):
        given = tensors_of([inputs[0][:time], *inputs[1:]])
        with tf.GradientTape() as tape:
            tape.watch(given[0])
            y = case.apply(given)[0]
        assert tape.gradient(y, given[0]).shape == given[0].shape
    assert len(recurrent_rules._kept) == 1


def test_kept_graphs_are_bounded(monkeypatch):
    recurrent_rules._kept.clear()
    monkeypatch.setattr(recurrent_rules, "MOST_KEPT", 2)
    for case in (Case("RNN", {}), Case("RNN", {"clip": 1.0}), Case("RNN", {}, bias=False)):
        inputs = case.inputs()
        case.slopes(tensors_of(inputs), [0])
    assert len(recurrent_rules._kept) == 2


def test_the_loop_backwards_has_no_product_but_its_own():
    """Weights' and inputs' gradients are products over all steps, outside of the loop."""
    case = Case("LSTM", {})
    inputs = case.inputs()
    recurrent_rules._kept.clear()
    case.slopes(tensors_of(inputs), [0, 1, 2, 3])
    ((function, _),) = recurrent_rules._kept.values()
    nodes = [n for g in (function.graph, *function.graph.subgraphs()) for n in g.nodes]
    bodies = [b for n in nodes for b in n.bodies() if n.op == "Loop"]
    products = [_count(b, ("MatMul", "Gemm")) for b in bodies]
    assert sorted(products) == [0, 1]


def _count(graph: Graph, ops: tuple[str, ...]) -> int:
    return sum(node.op in ops for node in graph.nodes)


def test_a_state_of_one_step_alone():
    """Only ``Y_h`` has a gradient: nothing comes in on the way."""
    case = Case("LSTM", {}, lengths=(4, 1, 2))
    inputs = case.inputs()
    tensors = tensors_of(inputs)
    with tf.GradientTape() as tape:
        tape.watch(tensors[0])
        total = tf.reduce_sum(case.apply(tensors)[1])
    found = tape.gradient(total, tensors[0]).numpy()
    assert found.shape == (4, 3, 3)
    assert not found[1:, 1].any()
    assert not found[2:, 2].any()
    assert found[:, 0].any(-1).all()
    assert HIDDEN == 2


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("op", "gates", "states"), [("RNN", 1, 1), ("GRU", 3, 1), ("LSTM", 4, 2)])
def test_no_steps_hand_the_first_states_on(op: str, gates: int, states: int, traced: bool) -> None:
    x = tf.zeros([0, 2, 3])
    w, r = tf.ones([1, 2 * gates, 3]), tf.ones([1, 2 * gates, 2])
    first = [tf.fill([1, 2, 2], float(i + 1)) for i in range(states)]

    def slopes():
        with tf.GradientTape() as tape:
            tape.watch([x, w, r, *first])
            last = getattr(tf.raw, op)(
                x, w, r, None, None, *first, hidden_size=2, n_outputs=1 + states
            )[1:]
            loss = tf.add_n([tf.reduce_sum(s * float(i + 3)) for i, s in enumerate(last)])
        return tape.gradient(loss, [x, w, r, *first])

    found = tf.function(slopes)() if traced else slopes()
    assert found[0].shape == [0, 2, 3]
    assert not found[1].numpy().any()
    assert not found[2].numpy().any()
    for i, slope in enumerate(found[3:]):
        np.testing.assert_array_equal(slope.numpy(), np.full([1, 2, 2], i + 3.0))
