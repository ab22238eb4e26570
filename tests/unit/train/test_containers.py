"""Variables that are put into plain containers and objects after the restore."""

from __future__ import annotations

import gc
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf
from tests.unit.train.objects import Plain, f, module, v
from tfx.core.errors import InvalidArgumentError
from tfx.framework import awaited_variables, deferred_restores, variable_locks
from tfx.framework.awaited_variables import is_awaiting
from tfx.framework.variable import Variable
from tfx.train import Checkpoint


@pytest.fixture(autouse=True)
def nothing_stays_pending() -> Iterator[None]:
    yield
    gc.collect()
    assert deferred_restores.pending() == []


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A checkpoint of a list, a dict and an object with the values 1, 2, 3 in each."""
    model = module(
        items=[v(1.0), v(2.0), v(3.0)],
        table={"a": v(1.0), "b": v(2.0), "c": {"d": [v(3.0)]}},
        plain=Plain(a=v(1.0), b=v(2.0), c=v(3.0)),
    )
    return Checkpoint(model=model).write(tmp_path / "saved")


def restored(saved: str) -> tuple[Checkpoint, Any]:
    """A model whose containers have the first part of each."""
    model = module(items=[v()], table={"a": v(), "c": {"d": []}}, plain=Plain(a=v()))
    checkpoint = Checkpoint(model=model)
    checkpoint.read(saved).expect_partial()
    return checkpoint, model


def _append(m: Any, x: Variable) -> None:
    m.items.append(x)


def _extend(m: Any, x: Variable) -> None:
    m.items += [x, v()]


def _put(m: Any, x: Variable) -> None:
    m.table["b"] = x


def _set(m: Any, x: Variable) -> None:
    m.plain.b = x


@pytest.mark.parametrize("older", [False, True], ids=["new", "older"])
@pytest.mark.parametrize("place", [_append, _extend, _put, _set])
def test_a_value_arrives_in_a_plain_container(
    saved: str, place: Callable[[Any, Variable], None], older: bool
) -> None:
    x = v(9.0) if older else None
    _checkpoint, model = restored(saved)
    x = v(9.0) if x is None else x
    assert f(x) == 9.0
    x.assign(8.0)
    place(model, x)
    assert f(x) == 2.0
    assert type(x) is Variable
    x.assign(7.0)
    assert f(x) == 7.0


def test_nested_containers_and_whole_objects(saved: str) -> None:
    _checkpoint, model = restored(saved)
    model.table["c"]["d"].append(v())
    assert f(model.table["c"]["d"][0]) == 3.0
    model.items.extend([v(), v()])
    assert [f(x) for x in model.items] == [1.0, 2.0, 3.0]


def test_modules_that_are_appended(tmp_path: Path) -> None:
    blocks = [module(w=v(float(i))) for i in range(3)]
    path = Checkpoint(blocks=blocks).write(tmp_path / "c")
    grown: list[Any] = []
    status = Checkpoint(blocks=grown).read(path)
    for i in range(3):
        grown.append(module(w=v(9.0)))
        assert f(grown[i].w) == i
    status.assert_consumed()


def test_the_programs_own_list_may_be_used(saved: str) -> None:
    mine: list[Variable] = []
    model = module(items=mine)
    checkpoint = Checkpoint(model=model)
    checkpoint.read(saved).expect_partial()
    assert model.items is mine
    mine.append(v())
    assert f(mine[0]) == 1.0


def test_an_assignment_comes_after_the_restored_value(saved: str) -> None:
    _checkpoint, model = restored(saved)
    model.items.append(v())
    model.items[1].assign_add(5.0)
    assert f(model.items[1]) == 7.0
    model.items.append(v())
    model.items[2].assign(5.0)
    assert f(model.items[2]) == 5.0


def test_a_function_that_runs_first(saved: str) -> None:
    _checkpoint, model = restored(saved)
    x = v()
    model.items.append(x)

    @tf.function
    def double() -> Any:
        x.assign(x * 2.0)
        return x + 0.0

    assert float(double()) == 4.0
    assert f(x) == 4.0


def test_a_function_that_ran_before_reads_the_restored_value(saved: str) -> None:
    x = v(9.0)

    @tf.function
    def read() -> Any:
        return x + 0.0

    assert float(read()) == 9.0
    _checkpoint, model = restored(saved)
    model.items.append(x)
    assert float(read()) == 2.0


def test_a_function_that_ran_before_changes_the_restored_value(saved: str) -> None:
    x = v(9.0)
    step = tf.function(lambda: x.assign_add(1.0))
    step()
    _checkpoint, model = restored(saved)
    model.items.append(x)
    step()
    assert f(x) == 3.0


def test_what_is_saved_was_restored_before(saved: str, tmp_path: Path) -> None:
    checkpoint, model = restored(saved)
    model.items.append(v(9.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = checkpoint.write(tmp_path / "again")
    assert tf.train.load_variable(path, "model/items/1") == 2.0


def test_a_replaced_item_has_its_own_value(saved: str) -> None:
    _checkpoint, model = restored(saved)
    model.items[0] = v(9.0)
    assert f(model.items[0]) == 9.0


def test_a_variable_stops_to_wait(saved: str) -> None:
    checkpoint, model = restored(saved)
    x = v(9.0)
    assert is_awaiting(x)
    for _ in range(awaited_variables._LOOKS + 1):
        x.numpy()
    assert type(x) is Variable
    model.items.append(x)
    assert f(x) == 9.0
    del checkpoint, model


def test_no_variable_waits_where_every_object_tells(tmp_path: Path) -> None:
    path = Checkpoint(model=module(a=v(1.0), b=v(2.0))).write(tmp_path / "c")
    model = module(a=v())
    Checkpoint(model=model).read(path).expect_partial()
    assert not is_awaiting(v())
    model.b = v()
    assert f(model.b) == 2.0


def test_waiting_ends_with_the_restore(saved: str) -> None:
    checkpoint, model = restored(saved)
    x = v(9.0)
    assert is_awaiting(x)
    del checkpoint, model
    gc.collect()
    assert deferred_restores.pending() == []
    assert f(x) == 9.0
    assert type(x) is Variable


def test_a_waiting_variable_is_a_variable(saved: str) -> None:
    _checkpoint, _model = restored(saved)
    x = v(9.0)
    assert isinstance(x, tf.Variable)
    assert type(x).__name__ == "Variable"
    assert "numpy=9.0" in repr(x)
    assert f(pickle.loads(pickle.dumps(x))) == 9.0
    x.assign_add(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 20.0


def test_a_value_that_does_not_fit_is_told_once(saved: str) -> None:
    _checkpoint, model = restored(saved)
    x = v([1.0, 2.0])
    model.items.append(x)
    with pytest.raises(InvalidArgumentError, match="model/items/1"):
        x.numpy()
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])


def test_reading_inside_of_a_call_does_not_wait_for_itself(saved: str) -> None:
    _checkpoint, model = restored(saved)
    x = v(9.0)
    model.items.append(x)
    with variable_locks.writing((x._lock_number,)):
        assert f(x) == 2.0
    assert type(x) is Variable


@pytest.mark.parametrize("old", [Pair, tuple, list])
@pytest.mark.parametrize("new", [Pair, tuple, list])
def test_named_tuples_are_tuples_too(tmp_path: Path, old: Any, new: Any) -> None:
    def make(kind: Any, *parts: Any) -> Any:
        return kind(*parts) if kind is Pair else kind(parts)

    path = Checkpoint(m=module(t=make(old, v(1.0), v(2.0)))).write(tmp_path / "c")
    model = module(t=make(new, v(), v()))
    status = Checkpoint(m=model).read(path)
    if new is Pair and old is not Pair:  # its fields have names that nobody saved
        status.expect_partial()
    else:
        status.assert_consumed()
    assert [f(x) for x in model.t] == [1.0, 2.0]


def test_readers_see_all_old_or_all_new_values(tmp_path: Path) -> None:
    model = module(parts=[v(0.0) for _ in range(40)])
    checkpoint = Checkpoint(m=model)
    paths = []
    for value in (1.0, 2.0):
        for x in model.parts:
            x.assign(value)
        paths.append(checkpoint.write(tmp_path / f"c{value}"))

    @tf.function
    def read() -> Any:
        return tf.stack(model.parts)

    seen, stop = [read().numpy()], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.append(read().numpy())

    thread = threading.Thread(target=watch)
    thread.start()
    for i in range(60):
        checkpoint.read(paths[i % 2]).assert_consumed()
    stop.set()
    thread.join()
    assert all(len(set(values.tolist())) == 1 for values in seen)
    assert len({values[0] for values in seen}) == 2
