"""The walk over objects: what counts as a part, under which name, in which order."""

from __future__ import annotations

import dataclasses
import enum
import logging
import threading
from collections import OrderedDict
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.framework.module import Module
from tfx.framework.trackable import (
    children,
    is_trackable,
    members,
    path_parts,
    path_text,
    walk,
)
from tfx.framework.variable import Variable


class Point(NamedTuple):
    x: Any
    y: Any


class Plain:
    """An object of a user's class that knows nothing of tfx."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def module(**attributes: Any) -> Module:
    result = Module()
    for name, value in attributes.items():
        setattr(result, name, value)
    return result


def paths(root: Any) -> list[str]:
    return [path_text(node.path) for node in walk(root) if node.is_variable]


def v() -> Variable:
    return Variable(0.0)


def test_finds_variables_in_every_kind_of_container() -> None:
    root = module(
        direct=v(),
        listed=[v(), {"k": v()}],
        tupled=(v(), [v()]),
        named=Point(v(), (v(),)),
        mapped=OrderedDict(b=v(), a=v()),
        proxied=MappingProxyType({"p": v()}),
        nested=module(w=v()),
    )
    assert sorted(paths(root)) == sorted([
        "direct", "listed/0", "listed/1/k", "tupled/0", "tupled/1/0", "named/x", "named/y/0",
        "mapped/a", "mapped/b", "proxied/p", "nested/w",
    ])  # fmt: skip


def test_walk_is_breadth_first_with_sorted_attributes_and_items_in_order() -> None:
    root = module(z=v(), a=module(w=v()), m=OrderedDict(y=v(), x=v()))
    assert [path_text(n.path) for n in walk(root)] == ["", "a", "m", "z", "a/w", "m/y", "m/x"]


def test_order_of_assignment_has_no_influence() -> None:
    assert paths(module(a=v(), b=v())) == paths(module(b=v(), a=v()))


def test_a_shared_object_is_one_node_under_its_shortest_path() -> None:
    shared = v()
    nodes = walk(module(deep=module(deeper=module(w=shared)), x=shared))
    assert [path_text(n.path) for n in nodes if n.is_variable] == ["x"]
    (number,) = (i for i, n in enumerate(nodes) if n.is_variable)
    assert sum(number in n.children.values() for n in nodes) == 2


def test_cycles_end() -> None:
    root = module(w=v())
    root.child = module(parent=root, w=v())
    root.self_list = [root]
    root.self_list.append(root.self_list)
    nodes = walk(root)
    assert [path_text(n.path) for n in nodes if n.is_variable] == ["w", "child/w"]
    child = next(n for n in nodes if n.path == ("child",))
    assert child.children["parent"] == 0


def test_private_attributes_count_unless_they_begin_with_self() -> None:
    assert paths(module(_hidden=v(), __dunder__=v(), _self_mine=v())) == ["__dunder__", "_hidden"]


def test_what_leads_to_no_variable_is_left_out() -> None:
    root = module(n=3, s="text", a=np.zeros(3), none=None, numbers=[1, 2], empty=Module(), w=v())
    assert [path_text(n.path) for n in walk(root)] == ["", "w"]


def test_plain_objects_count() -> None:
    root = Plain(layer=Plain(w=v()), layers=[Plain(w=v())], config=Plain(units=3))
    assert paths(root) == ["layer/w", "layers/0/w"]


def test_dataclasses_and_slots_count() -> None:
    @dataclasses.dataclass(slots=True)
    class Slotted:
        w: Variable
        size: int
        __private: Any = None

    class Base:
        __slots__ = ("__b", "unset")

        def __init__(self) -> None:
            self.__b = v()

    class Derived(Base):
        __slots__ = ("c",)

    derived = Derived()
    derived.c = v()
    assert paths(Plain(s=Slotted(v(), 3))) == ["s/w"]
    assert paths(derived) == ["_Base__b", "c"]


class Colour(enum.Enum):
    RED = 1


def test_machinery_is_not_looked_into() -> None:
    hook = logging.getLogger("a.b")
    hook.state = v()  # type: ignore[attr-defined]
    values = [hook, threading.Thread(), np.random.default_rng(0), np.zeros(3), Plain, Colour, len]
    root = module(**{f"a{i}": value for i, value in enumerate(values)})
    assert paths(root) == []
    assert not any(is_trackable(value) for value in (*values, 1, "x", b"x", None, v().value()))


@pytest.mark.parametrize(
    ("key", "name"),
    [("k", "k"), (3, "3"), (np.int64(4), "4"), (True, "True"), (0.5, "0.5"), (None, "None"),
     (b"x", "b'x'"), ("", ""), ("a/b", "a/b")],
)  # fmt: skip
def test_keys_of_mappings(key: Any, name: str) -> None:
    assert [n for n, _ in members({key: v()})] == [name]


def test_a_key_without_a_name_is_refused_only_where_there_is_state() -> None:
    assert paths(module(table={(1, 2): "text", Colour.RED: [3]}, w=v())) == ["w"]
    with pytest.raises(TypeError, match=r"sub/table: .*key \(1, 2\) of type tuple .*_self_"):
        walk(module(sub=module(table={(1, 2): [v()]})))


def test_two_keys_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two keys that are both named '3'"):
        walk(module(table={3: v(), "3": v()}))


def test_mapping_that_holds_itself_under_a_nameless_key() -> None:
    table: dict[Any, Any] = {}
    table[(1,)] = table
    assert paths(module(table=table)) == []


def test_children_keeps_what_has_state_or_could_get_it() -> None:
    root = module(n=3, numbers=[1], empty=Module(), nested=[[Module()]], plain=Plain(a=1), w=v(),
                  deep=Plain(x=Plain(w=v())))  # fmt: skip
    assert [name for name, _ in children(root)] == ["deep", "empty", "nested", "w"]
    assert children(root.w) == children(3) == children("x") == []


def test_objects_can_say_what_their_children_are() -> None:
    class Custom:
        def __init__(self) -> None:
            self.hidden, self.shown = v(), v()

        def _trackable_children(self) -> dict[str, Any]:
            return {"other name": self.shown, "number": 3}

    assert paths(module(c=Custom())) == ["c/other name"]


class Keeper(Module):
    """Keeps slots for variables, as optimizers do."""

    def __init__(self, variables: list[Variable]) -> None:
        super().__init__()
        self.step = v()
        self._store = {f"v{i}": v() for i in range(len(variables))}
        self._self_of = variables

    def _trackable_slots(self) -> list[tuple[str, Variable, Variable]]:
        return [("m", a, b) for a, b in zip(self._self_of, self._store.values(), strict=True)]


def test_slots_are_tied_to_their_variables_and_named_after_them() -> None:
    model = module(layers=[module(kernel=v()), module(kernel=v())])
    root = module(model=model, optimizer=Keeper([layer.kernel for layer in model.layers]))
    nodes = walk(root)
    names = [path_text(n.path) for n in nodes if n.is_variable]
    assert sorted(names) == [
        "model/layers/0/kernel", "model/layers/1/kernel", "optimizer/m/model/layers/0/kernel",
        "optimizer/m/model/layers/1/kernel", "optimizer/step",
    ]  # fmt: skip
    (owner,) = (n for n in nodes if n.slots)
    for slot in owner.slots:
        assert nodes[slot.number].path == ("optimizer", "m", *nodes[slot.of].path)
    # The variables of what is not saved have no place; neither have ties to them.
    alone = walk(module(optimizer=root.optimizer))
    assert not any(n.slots for n in alone)


def test_also_root_is_node_zero() -> None:
    model = module(w=v())
    model.child = module(parent=model)
    nodes = walk(Plain(w=model.w, child=model.child), also_root=model)
    assert nodes[nodes[0].children["child"]].children == {"parent": 0}


@given(st.lists(st.text()))
def test_paths_survive_being_text(parts: list[str]) -> None:
    assert path_parts(path_text(parts)) == tuple(parts)


def test_path_text_is_readable() -> None:
    assert path_text(("layers", "0", "kernel")) == "layers/0/kernel"
    assert path_text(("a/b", "c%d")) == "a%2Fb/c%25d"


# Random graphs, against a slow and simple reference


@st.composite
def graphs(draw: st.DrawFn) -> list[Any]:
    count = draw(st.integers(1, 12))
    makers = [Module, list, dict, Plain, v]
    items = [Module()] + [draw(st.sampled_from(makers))() for _ in range(count)]
    for item in items:
        for edge in range(draw(st.integers(0, 4))):
            target = items[draw(st.integers(0, count))]
            if isinstance(item, list):
                item.append(target)
            elif isinstance(item, dict):
                item[draw(st.sampled_from("abcd"))] = target
            elif isinstance(item, Module | Plain):
                setattr(item, "pqrs"[edge], target)
    return items


def reference_distances(root: Any) -> dict[int, int]:
    """Shortest distance to each variable, by relaxation."""

    def parts(item: Any) -> list[Any]:
        if isinstance(item, list):
            return item
        if isinstance(item, dict):
            return list(item.values())
        return [] if isinstance(item, Variable) else list(vars(item).values())

    found, level, distance = {id(root): 0}, [root], 0
    variables: dict[int, int] = {}
    while level:
        variables |= {id(i): distance for i in level if isinstance(i, Variable)}
        below = [p for i in level for p in parts(i) if not isinstance(p, str)]
        level, distance = [], distance + 1
        for part in below:
            if id(part) not in found:
                found[id(part)] = distance
                level.append(part)
    return variables


@given(graphs())
def test_random_graphs(items: list[Any]) -> None:
    nodes = walk(items[0])
    assert nodes[0].item is items[0]
    expected = reference_distances(items[0])
    found = {id(n.item): len(n.path) for n in nodes if n.is_variable}
    assert found == expected
    assert len({n.path for n in nodes}) == len({id(n.item) for n in nodes}) == len(nodes)
    for node in nodes:
        for part_name, number in node.children.items():
            assert dict(members(node.item))[part_name] is nodes[number].item
    for number, node in enumerate(nodes[1:], 1):
        assert len(nodes[number - 1].path) <= len(node.path)
        item: Any = items[0]
        for part in node.path:
            item = dict(members(item))[part]
        assert item is node.item
