"""Random object graphs: what is saved comes back, into the same graph and into one that grows."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.train.objects import Plain
from tfx.framework.module import Module
from tfx.framework.trackable import walk
from tfx.framework.variable import Variable
from tfx.train import Checkpoint, CheckpointOptions, list_variables

# An edge of a plan: from object, by name, to object. Kinds: v(ariable), m(odule), p(lain), l(ist),
# d(ict).
Plan = tuple[list[str], list[tuple[int, str, int]]]


@st.composite
def plans(draw: st.DrawFn, kinds: str = "vvmpld") -> Plan:
    chosen = ["m", *draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=10))]
    edges = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(chosen) - 1),
                st.sampled_from(["a", "b", "c/d", "", "%", "."]),
                st.integers(0, len(chosen) - 1),
            ),
            max_size=25,
        )
    )
    return chosen, edges


def make(kinds: list[str], fill: float | None) -> list[Any]:
    makers = {"m": Module, "p": Plain, "l": list, "d": dict}
    return [
        Variable(np.float32(i if fill is None else fill)) if kind == "v" else makers[kind]()
        for i, kind in enumerate(kinds)
    ]


def connect(items: list[Any], edge: tuple[int, str, int]) -> None:
    source, target = items[edge[0]], items[edge[2]]
    if isinstance(source, list):
        source.append(target)
    elif isinstance(source, dict):
        source[edge[1]] = target
    elif not isinstance(source, Variable):
        setattr(source, edge[1] or "x", target)


def build(plan: Plan, fill: float | None) -> list[Any]:
    items = make(plan[0], fill)
    for edge in plan[1]:
        connect(items, edge)
    return items


def reachable(items: list[Any]) -> list[int]:
    ids = {id(node.item) for node in walk(items[0]) if node.is_variable}
    return [i for i, item in enumerate(items) if id(item) in ids]


def value(items: list[Any], number: int) -> float:
    return float(items[number].numpy())


@settings(max_examples=150)
@given(plans(), st.booleans(), st.booleans())
def test_round_trip(plan: Plan, at_root: bool, sharded: bool) -> None:
    saved, fresh = build(plan, None), build(plan, -1.0)

    def checkpoint(items: list[Any]) -> Checkpoint:
        return Checkpoint(items[0]) if at_root else Checkpoint(model=items[0])

    with tempfile.TemporaryDirectory() as folder:
        options = CheckpointOptions(max_shard_bytes=4) if sharded else None
        path = checkpoint(saved).save(folder + "/c", options)
        numbers = reachable(saved)
        assert len(list_variables(path)) == len(numbers) + 1
        checkpoint(fresh).restore(path).assert_consumed()
    for number, kind in enumerate(plan[0]):
        if kind == "v":
            assert value(fresh, number) == (number if number in numbers else -1.0)


@settings(max_examples=150)
@given(plans("vvvmmm"), st.randoms())
def test_modules_that_grow_after_the_restore(plan: Plan, random: Any) -> None:
    """Whatever the order of the assignments, at the end all is restored, at once."""
    # One edge for each name, or the last assignment would decide what is saved.
    edges = list({(a, n): (a, n, b) for a, n, b in plan[1] if plan[0][a] == "m"}.values())
    saved, fresh = build((plan[0], edges), None), make(plan[0], -1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Checkpoint(saved[0]).save(folder + "/c")
        checkpoint = Checkpoint(fresh[0])
        status = checkpoint.restore(path)
        random.shuffle(edges)
        for edge in edges:
            connect(fresh, edge)
        for number in reachable(saved):
            assert value(fresh, number) == number
        status.assert_consumed()


@settings(max_examples=100)
@given(plans(), plans())
def test_any_checkpoint_into_any_program(one: Plan, other: Plan) -> None:
    """Nothing fails, and the report accounts for every value and every variable once."""
    saved, program = build(one, None), build(other, -1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Checkpoint(saved[0]).write(folder + "/c")
        report = Checkpoint(program[0]).read(path).expect_partial().report
        keys = [row.key for row in report.rows if row.key is not None]
        assert sorted(keys) == [name for name, _ in list_variables(path)]
    assert len(report.restored) + len(report.missing) == len(reachable(program))
    assert str(report)
    values = sorted(value(program, n) for n in reachable(program) if value(program, n) >= 0)
    assert len(values) == len(set(values)) == len(report.restored)
