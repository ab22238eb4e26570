"""Plans for the sizes of calls, on a GPU that the CPU plays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.runtime.pretended_gpu import pretended_gpu
from tfx.core.errors import ResourceExhaustedError
from tfx.function.execution import sized_plans
from tfx.function.execution.cuda_graph_check import can_capture
from tfx.function.execution.plan import Plan
from tfx.function.execution.sized_plans import SizedRunner, has_open_sizes
from tfx.graph.ir import Graph, Value
from tfx.runtime import session as sessions
from tfx.runtime.cuda_graphs import CapturingRunner
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.run_hooks import plain
from tfx.runtime.values import RawValue, from_numpy, to_numpy

OPEN = tf.TensorSpec([None, 2])


def _graph(function: Any, *specs: tf.TensorSpec) -> Graph:
    return tf.function(function).get_concrete_function(*specs)._observed.make_pure().graph


class _Watched:
    """A runner of a graph, the sizes that it made plans for, and calls that any size may take."""

    def __init__(self, graph: Graph, frozen: dict[Value, RawValue] | None = None) -> None:
        self.plan = Plan(graph, frozen=frozen, fuse=False)
        self.made: list[tuple[Any, ...]] = []
        self.plain = 0
        names = [f"%in{i}" for i in range(len(graph.inputs))]
        self.runner = SizedRunner(graph, names, frozen or {}, self._run, self._make)

    def _run(self, *given: Any) -> Any:
        self.plain += 1
        return self.plan.session.run_raw(*given)

    def _make(self, graph: Graph, frozen: dict[Value, RawValue]) -> Plan:
        self.made.append(tuple(v.shape for v in graph.inputs))
        return Plan(graph, frozen=frozen, fuse=False)

    def __call__(self, *arrays: Any) -> np.ndarray:
        feeds = self.plan.feed_values(*map(from_numpy, arrays))
        return to_numpy(self.runner(feeds, self.plan.output_names, RUN_OPTIONS)[0])


def _chain(x: Any) -> Any:
    return tf.reduce_mean(tf.tanh(x) * 2.0 + 1.0)


def _expected(x: np.ndarray) -> Any:
    return np.mean(np.tanh(x) * 2 + 1)


def _array(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).normal(size=(rows, 2)).astype(np.float32)


def test_sizes_that_come_again_get_a_plan() -> None:
    run = _Watched(_graph(_chain, OPEN))
    for call in range(6):
        np.testing.assert_allclose(run(_array(5)), _expected(_array(5)), rtol=1e-6)
        assert len(run.made) == (call >= sized_plans._CALLS)
    assert run.made == [((5, 2),)]
    assert run.plain == sized_plans._CALLS


def test_other_sizes_run_as_before() -> None:
    run = _Watched(_graph(_chain, OPEN))
    for _ in range(5):
        run(_array(5))
    for rows in range(1, 200):
        np.testing.assert_allclose(run(_array(rows)), _expected(_array(rows)), rtol=1e-6)
    assert len(run.made) == 1


def test_plans_are_few() -> None:
    run = _Watched(_graph(_chain, OPEN))
    for rows in range(1, 10):
        for _ in range(sized_plans._CALLS + 2):
            np.testing.assert_allclose(run(_array(rows)), _expected(_array(rows)), rtol=1e-6)
    assert len(run.made) == sized_plans._MOST_PLANS


def test_frozen_inputs_stay_what_they_are() -> None:
    graph = _graph(lambda x, w: tf.tanh(x @ w) * 2.0 + 1.0, OPEN, tf.TensorSpec([2, 3]))
    w = np.float32([[1, 2, 3], [4, 5, 6]])
    run = _Watched(graph, {graph.inputs[1]: from_numpy(w)})
    for _ in range(6):
        np.testing.assert_allclose(run(_array(4)), np.tanh(_array(4) @ w) * 2 + 1, rtol=1e-5)
    assert run.made == [((4, 2), (2, 3))]


def test_a_plan_that_fails_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    run = _Watched(_graph(_chain, OPEN))

    def refuse(*given: Any) -> Any:
        raise ResourceExhaustedError("no memory")

    full = SimpleNamespace(session=SimpleNamespace(run_raw=refuse))
    monkeypatch.setattr(run.runner, "_make", lambda graph, frozen: full)
    for _ in range(8):
        np.testing.assert_allclose(run(_array(5)), _expected(_array(5)), rtol=1e-6)
    assert run.plain == 8


def test_a_plan_that_cannot_be_made_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run, tries = _Watched(_graph(_chain, OPEN)), []

    def refuse(graph: Graph, frozen: Any) -> Any:
        tries.append(graph)
        raise ResourceExhaustedError("no memory")

    monkeypatch.setattr(run.runner, "_make", refuse)
    for _ in range(8):
        np.testing.assert_allclose(run(_array(5)), _expected(_array(5)), rtol=1e-6)
    assert len(tries) == 1


def test_an_error_of_the_call_is_the_one_that_any_size_has() -> None:
    def checked(x: Any) -> Any:
        return tf.reduce_sum(tf.gather(x * 2.0 + 1.0, tf.cast(x[:, 0], tf.int32)) * 3.0)

    run = _Watched(_graph(checked, OPEN))
    good, bad = np.zeros((3, 2), np.float32), np.full((3, 2), 7, np.float32)
    for _ in range(5):
        run(good)
    with pytest.raises(Exception, match="out of"):
        run(bad)
    before = run.plain
    assert run(good) == run.plan.run([from_numpy(good)])[0].numpy()
    assert run.plain == before  # the plan was not given up for it


@pytest.mark.parametrize(
    ("function", "captured"),
    [
        (_chain, True),
        (lambda x: tf.unique(tf.reshape(x, [-1]))[0] * 2.0 + 1.0, False),
        (lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x + 1.0) * 3.0, False),
        (lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: y + 1.0, [x]), False),
    ],
    ids=["chain", "unique", "cond", "while"],
)
def test_only_what_may_become_a_cuda_graph(function: Any, captured: bool) -> None:
    run = _Watched(_graph(function, OPEN))
    for _ in range(6):
        run(_array(3))
    assert len(run.made) == captured


def test_loops_of_known_length_may_be_captured() -> None:
    def summed(x: Any) -> Any:
        total = tf.zeros([2])
        for i in tf.range(tf.shape(x)[0]):
            total = total * 0.5 + x[i]
        return total * 2.0

    graph = _graph(summed, tf.TensorSpec([7, 2]))
    assert not can_capture(graph, "GPU:0")
    assert can_capture(graph, "GPU:0", unrolled=True)
    assert not can_capture(_graph(summed, OPEN), "GPU:0", unrolled=True)


def test_open_sizes() -> None:
    assert has_open_sizes(_graph(_chain, OPEN))
    assert not has_open_sizes(_graph(_chain, tf.TensorSpec([3, 2])))


def _recurrent(x: Any) -> Any:
    found, total = tf.TensorArray(tf.float32, tf.shape(x)[0]), tf.zeros([2])
    for i in tf.range(tf.shape(x)[0]):
        total = tf.tanh(total * 0.5 + x[i])
        found = found.write(i, total)
    return tf.reduce_mean(found.stack() * 2.0)


@pytest.mark.parametrize("function", [_chain, _recurrent])
def test_plans_of_a_gpu_have_them(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _graph(function, OPEN)
    expected = to_numpy(Plan(graph, fuse=False).run([from_numpy(_array(5))])[0])
    with pretended_gpu(monkeypatch):
        monkeypatch.setattr(sessions, "can_be_captured", lambda inference: True)
        plan = Plan(graph, "GPU:0")
        runner = plain(plan.run_raw)
        assert isinstance(runner, SizedRunner)
        for _ in range(8):
            found = to_numpy(plan.run([from_numpy(_array(5))])[0])
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        (sized,) = runner._plans.values()
        assert sized is not None
        captured = plain(sized.session.run_raw)
        assert isinstance(captured, CapturingRunner)
        assert captured.captured() == 1


def test_plans_of_a_cpu_have_none() -> None:
    assert not isinstance(plain(Plan(_graph(_chain, OPEN)).run_raw), SizedRunner)
