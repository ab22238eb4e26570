"""Matching: partial, renamed, clashing, shared, and objects that appear later."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.train.objects import Keeper, Plain, f, module, v
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.framework import awaited_variables, deferred_restores
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.train import Checkpoint


@pytest.fixture(autouse=True)
def nothing_stays_pending() -> Iterator[None]:
    yield
    gc.collect()
    assert deferred_restores.pending() == []


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A checkpoint of ``model/a`` = 1, ``model/b`` = 2 and ``model/sub/w`` = [3, 4]."""
    model = module(a=v(1.0), b=v(2.0), sub=module(w=v([3.0, 4.0])))
    return Checkpoint(model=model).write(tmp_path / "saved")


# Assertions


def test_a_complete_match(saved: str) -> None:
    model = module(a=v(), b=v(), sub=module(w=v([0.0, 0.0])))
    status = Checkpoint(model=model).read(saved)
    assert status.assert_consumed() is status
    assert status.assert_existing_objects_matched() is status
    assert status.assert_nontrivial_match() is status
    assert (f(model.a), f(model.b)) == (1.0, 2.0)
    np.testing.assert_array_equal(model.sub.w.numpy(), [3.0, 4.0])


def test_the_checkpoint_has_more(saved: str) -> None:
    status = Checkpoint(model=module(a=v())).read(saved)
    status.assert_existing_objects_matched().assert_nontrivial_match()
    with pytest.raises(AssertionError, match=r"(?s)unexpected +model/sub/w +float32 \(2,\)"):
        status.assert_consumed()


def test_the_program_has_more(saved: str) -> None:
    model = module(a=v(), b=v(), c=v(7.0), sub=module(w=v([0.0, 0.0])))
    status = Checkpoint(model=model).read(saved).assert_nontrivial_match()
    for check in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match=r"missing +model/c"):
            check()
    assert f(model.c) == 7.0


def test_nothing_matches(saved: str) -> None:
    status = Checkpoint(net=module(a=v())).read(saved).expect_partial()
    with pytest.raises(AssertionError, match="nothing in common"):
        status.assert_nontrivial_match()
    with pytest.raises(AssertionError, match="no objects that could be yet"):
        Checkpoint().read(saved).expect_partial().assert_nontrivial_match()


def test_an_object_without_variables_is_a_match(saved: str) -> None:
    model = module(c=v())
    status = Checkpoint(model=model).read(saved).expect_partial().assert_nontrivial_match()
    with pytest.raises(AssertionError, match="missing"):
        status.assert_existing_objects_matched()


def test_partial_restore_into_another_graph(saved: str) -> None:
    sub = Plain(w=v([0.0, 0.0]))
    Checkpoint(model={"sub": sub}).read(saved).expect_partial().assert_existing_objects_matched()
    np.testing.assert_array_equal(sub.w.numpy(), [3.0, 4.0])


# Clashes


@pytest.mark.parametrize("wrong", [[0.0], 0, [[0.0, 0.0]]])
def test_a_clash_changes_nothing(saved: str, wrong: Any) -> None:
    model = module(a=v(), b=v(), sub=module(w=v(wrong)))
    with pytest.raises(InvalidArgumentError, match=r"model/sub/w: float32 \(2,\) in the check"):
        Checkpoint(model=model).read(saved)
    assert f(model.a) == f(model.b) == 0.0


def test_clashes_may_be_skipped(saved: str) -> None:
    model = module(a=v(), b=v(), sub=module(w=v([9.0])))
    status = Checkpoint(model=model).read(saved, skip_mismatch=True)
    assert f(model.a) == 1.0
    assert model.sub.w.numpy() == [9.0]
    (row,) = status.report.clashes
    assert (row.key, row.path, str(row.present)) == ("model/sub/w", "model/sub/w", "float32 (1,)")
    for check in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match="clash"):
            check()


def test_unknown_dimensions_take_any_size(saved: str) -> None:
    x = Variable(np.zeros(5, np.float32), shape=[None])
    Checkpoint(model=module(sub=module(w=x))).read(saved).expect_partial()
    np.testing.assert_array_equal(x.numpy(), [3.0, 4.0])


# Renames


def test_rename_variables_and_branches(saved: str) -> None:
    model = module(x=v(), y=v(), block=[module(w=v([0.0, 0.0]))])
    rename = {"model/a": "net/x", "model/b": "net/y", "model/sub": "net/block/0"}
    Checkpoint(net=model).read(saved, rename=rename).assert_consumed()
    assert (f(model.x), f(model.y)) == (1.0, 2.0)
    np.testing.assert_array_equal(model.block[0].w.numpy(), [3.0, 4.0])


def test_rename_can_exchange(saved: str) -> None:
    model = module(a=v(), b=v(), sub=module(w=v([0.0, 0.0])))
    rename = {"model/a": "model/b", "model/b": "model/a"}
    Checkpoint(model=model).read(saved, rename=rename).assert_consumed()
    assert (f(model.a), f(model.b)) == (2.0, 1.0)


def test_rename_from_and_to_the_root(tmp_path: Path) -> None:
    model = module(a=v(1.0), sub=module(w=v(2.0)))
    model.sub.parent = model
    checkpoint = Checkpoint(model=model)
    below, at_root = checkpoint.save(tmp_path / "below"), Checkpoint(model).save(tmp_path / "root")
    for make, path, rename in (
        (Checkpoint, below, {"model": ""}),
        (lambda m: Checkpoint(model=m), at_root, {"": "model"}),
    ):
        other = module(a=v(), sub=module(w=v()))
        other.sub.parent = other
        restored = make(other)
        restored.restore(path, rename=rename).assert_consumed()
        assert (f(other.a), f(other.sub.w), int(restored.save_counter)) == (1.0, 2.0, 1)


def test_rename_of_nothing_names_the_nearest(saved: str) -> None:
    with pytest.raises(NotFoundError, match=r"'model/aa'.*did you mean 'model/a'"):
        Checkpoint(model=module(a=v())).read(saved, rename={"model/aa": "model/b"})


def test_rename_to_a_place_that_is_taken(saved: str) -> None:
    with pytest.raises(ValueError, match="has something else"):
        Checkpoint(model=module(a=v())).read(saved, rename={"model/a": "model/b"})


def test_suggested_renames_can_be_followed(saved: str) -> None:
    model = module(a=v(), b=v(), subs=module(w=v([0.0, 0.0])))
    suggested = Checkpoint(model=model).read(saved).report.suggested_renames
    assert suggested == {"model/sub": "model/subs"}
    Checkpoint(model=model).read(saved, rename=suggested).assert_consumed()


# Sharing


def test_shared_in_the_program_only(tmp_path: Path) -> None:
    path = Checkpoint(a=v(1.0), b=v(2.0)).write(tmp_path / "c")
    shared = v()
    status = Checkpoint(a=shared, b=shared).read(path)
    assert f(shared) == 1.0
    assert "shared in the program" in str(status)
    status.assert_consumed()


def test_shared_in_the_checkpoint_only(tmp_path: Path) -> None:
    shared = v(1.0)
    path = Checkpoint(a=shared, b=shared).write(tmp_path / "c")
    a, b = v(), v()
    status = Checkpoint(a=a, b=b).read(path)
    assert (f(a), f(b)) == (1.0, 0.0)
    with pytest.raises(AssertionError, match=r"missing +b"):
        status.assert_existing_objects_matched()


# Later


def test_attributes_that_are_assigned_later(saved: str) -> None:
    model = Module()
    status = Checkpoint(model=model).read(saved)
    status.assert_existing_objects_matched().assert_nontrivial_match()
    model.a = v()
    assert f(model.a) == 1.0
    model.sub = Module()
    model.sub.w = v([0.0, 0.0])
    np.testing.assert_array_equal(model.sub.w.numpy(), [3.0, 4.0])
    with pytest.raises(AssertionError, match="model/b"):
        status.assert_consumed()
    model.b = v()
    status.assert_consumed()
    assert deferred_restores.pending() == []


def test_whole_branches_that_are_assigned_later(saved: str) -> None:
    checkpoint = Checkpoint()
    status = checkpoint.read(saved)
    checkpoint.model = {"a": v(), "b": v(), "sub": module(w=v([0.0, 0.0]))}
    assert f(checkpoint.model["a"]) == 1.0
    status.assert_consumed()


def test_the_root_object_gets_parts_later(tmp_path: Path) -> None:
    path = Checkpoint(module(w=v(3.0))).write(tmp_path / "c")
    model = Module()
    Checkpoint(model).read(path)
    model.w = v()
    assert f(model.w) == 3.0


def test_each_value_is_used_once(saved: str) -> None:
    model = Module()
    Checkpoint(model=model).read(saved).expect_partial()
    model.a = v()
    model.a = v(9.0)
    assert f(model.a) == 9.0
    model.sub = module(w=v([0.0, 0.0]))
    model.sub = module(w=v([9.0, 9.0]))
    np.testing.assert_array_equal(model.sub.w.numpy(), [9.0, 9.0])


def test_trained_values_are_not_overwritten(saved: str, tmp_path: Path) -> None:
    model = module(a=v())
    checkpoint = Checkpoint(model=model)
    status = checkpoint.read(saved).expect_partial()
    model.a.assign(5.0)
    model.a = model.a
    model.b = v()
    status.initialize_or_restore()
    checkpoint.write(tmp_path / "c")
    assert (f(model.a), f(model.b)) == (5.0, 2.0)


def test_new_variables_of_a_trace_get_their_values(tmp_path: Path) -> None:
    path = Checkpoint(layers=[v(1.0), v(2.0)]).write(tmp_path / "c")
    layers = [v()]
    checkpoint = Checkpoint(layers=layers)
    checkpoint.read(path)
    layers.append(v())
    old = v(3.0)
    deferred_restores.traced([*layers, old], created=[layers[1]])
    assert not any(map(awaited_variables.is_awaiting, layers))
    assert [f(x) for x in layers] == [1.0, 2.0]


def test_warns_when_a_function_is_called_first(saved: str) -> None:
    model = module(a=v(), x=v())
    checkpoint = Checkpoint(model=model)
    checkpoint.read(saved)
    deferred_restores.traced([v()])  # has nothing to do with it
    with pytest.warns(UserWarning, match=r"A function is called first while .*\(2\).*model/b"):
        deferred_restores.traced([model.a])
    deferred_restores.traced([model.a])  # once is enough
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint.read(saved).expect_partial()
        deferred_restores.traced([model.a])


def test_values_survive_the_checkpoint_object_and_the_file(saved: str) -> None:
    model = Module()
    Checkpoint(model=model).read(saved)
    gc.collect()
    Path(saved + ".safetensors").unlink()
    model.b = v()
    assert f(model.b) == 2.0


def test_the_restore_ends_with_its_objects(saved: str) -> None:
    model = Module()
    Checkpoint(model=model).read(saved)
    assert len(deferred_restores.pending()) == 1
    del model
    gc.collect()
    assert deferred_restores.pending() == []


def test_a_clash_later(saved: str) -> None:
    model = Module()
    Checkpoint(model=model).read(saved).expect_partial()
    with pytest.raises(InvalidArgumentError, match="model/sub/w"):
        model.sub = module(w=v(0.0))
    assert f(model.sub.w) == 0.0


def test_the_newer_restore_wins(tmp_path: Path) -> None:
    old = Checkpoint(m=module(a=v(1.0), b=v(1.0))).write(tmp_path / "old")
    new = Checkpoint(m=module(b=v(2.0), c=v(2.0))).write(tmp_path / "new")
    model = Module()
    one, two = Checkpoint(m=model), Checkpoint(m=model)
    one.read(old).expect_partial()
    two.read(new).expect_partial()
    model.a, model.b, model.c = v(), v(), v()
    assert (f(model.a), f(model.b), f(model.c)) == (1.0, 2.0, 2.0)


def test_restoring_again_forgets_what_was_left_over(tmp_path: Path) -> None:
    old = Checkpoint(m=module(a=v(1.0), b=v(1.0))).write(tmp_path / "old")
    new = Checkpoint(m=module(a=v(2.0))).write(tmp_path / "new")
    model = module(a=v())
    checkpoint = Checkpoint(m=model)
    checkpoint.read(old).expect_partial()
    checkpoint.read(new).assert_consumed()
    model.b = v()
    assert (f(model.a), f(model.b)) == (2.0, 0.0)


# Slots


def trained(order: tuple[int, int]) -> tuple[Module, Keeper]:
    model = module(x=v([1.0, 1.0]), y=v([2.0, 2.0]))
    keeper = Keeper()
    keeper.build([(model.x, model.y)[i] for i in order])
    keeper.slot(model.x).assign([10.0, 10.0])
    keeper.slot(model.y).assign([20.0, 20.0])
    return model, keeper


def blank() -> Module:
    return module(x=v([0.0, 0.0]), y=v([0.0, 0.0]))


def slots(model: Module, keeper: Keeper) -> list[float]:
    return [float(keeper.slot(x).numpy()[0]) for x in (model.x, model.y)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_slots_follow_their_variables(tmp_path: Path, order: tuple[int, int]) -> None:
    model, keeper = trained(order)
    path = Checkpoint(model=model, optimizer=keeper).write(tmp_path / "c")
    fresh, other = blank(), Keeper()
    other.build([fresh.x, fresh.y])
    Checkpoint(model=fresh, optimizer=other).read(path).assert_consumed()
    assert slots(fresh, other) == [10.0, 20.0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_slots_that_are_created_later(tmp_path: Path, order: tuple[int, int]) -> None:
    model, keeper = trained((0, 1))
    path = Checkpoint(model=model, optimizer=keeper).write(tmp_path / "c")
    fresh, other = blank(), Keeper()
    status = Checkpoint(model=fresh, optimizer=other).read(path)
    for i in order:
        other.build([(fresh.x, fresh.y)[i]])
    assert slots(fresh, other) == [10.0, 20.0]
    status.assert_consumed()


def test_slots_of_variables_that_are_created_later(tmp_path: Path) -> None:
    model, keeper = trained((0, 1))
    path = Checkpoint(model=model, optimizer=keeper).write(tmp_path / "c")
    fresh, other = Module(), Keeper()
    status = Checkpoint(model=fresh, optimizer=other).read(path)
    fresh.y = v([0.0, 0.0])
    fresh.x = v([0.0, 0.0])
    other.build([fresh.x, fresh.y])
    assert slots(fresh, other) == [10.0, 20.0]
    status.assert_consumed()


def test_slots_of_other_variables_are_not_taken(tmp_path: Path) -> None:
    model, keeper = trained((0, 1))
    path = Checkpoint(model=model, optimizer=keeper).write(tmp_path / "c")
    fresh, other = module(z=v([0.0, 0.0]), y=v([0.0, 0.0])), Keeper()
    other.build([fresh.z, fresh.y], 7.0)
    status = Checkpoint(model=fresh, optimizer=other).read(path)
    assert float(other.slot(fresh.z).numpy()[0]) == 7.0
    assert float(other.slot(fresh.y).numpy()[0]) == 20.0
    report = status.expect_partial().report
    assert {row.path for row in report.missing} == {"model/z", "optimizer/m/model/z"}
    # Renaming the variable is enough: its slots come with it.
    assert report.suggested_renames == {"model/x": "model/z"}
    Checkpoint(model=fresh, optimizer=other).read(
        path, rename=report.suggested_renames
    ).assert_consumed()
    assert float(other.slot(fresh.z).numpy()[0]) == 10.0


def test_plain_objects_get_parts_later(tmp_path: Path) -> None:
    path = Checkpoint(p=Plain(w=v(1.0))).write(tmp_path / "c")
    plain = Plain()
    checkpoint = Checkpoint(p=plain)
    status = checkpoint.read(path)
    plain.w = v()
    status.assert_consumed()
    assert f(plain.w) == 1.0


def test_objects_without_weak_references(tmp_path: Path) -> None:
    class Slotted:
        __slots__ = ("w",)

        def __init__(self, value: float) -> None:
            self.w = v(value)

    path = Checkpoint(s=Slotted(1.0)).write(tmp_path / "c")
    item: Any = Slotted(0.0)
    Checkpoint(s=item).read(path).assert_consumed()
    assert f(item.w) == 1.0
