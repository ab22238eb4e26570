"""Nested structures: TensorFlow's order, classes and errors, and round trips."""

from __future__ import annotations

import dataclasses
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.core import nest_kinds
from tfx.core.nest import (
    assert_same_structure,
    flatten,
    flatten_with_path,
    is_nested,
    map_structure,
    pack_sequence_as,
)


class Point(NamedTuple):
    x: Any
    y: Any


class TrackedList(list[Any]):
    """A subclass of list, as containers of a Module are."""


class ReadOnly(Mapping[str, Any]):
    """A mapping which is no dict."""

    def __init__(self, items: Any) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


@dataclasses.dataclass
class Plain:
    a: Any


@dataclasses.dataclass
class Masked:
    """A dataclass with TensorFlow's protocol: the name is kept aside, the rest are leaves."""

    name: str
    value: Any
    mask: Any

    def __tf_flatten__(self) -> tuple[tuple[str], tuple[Any, Any]]:
        return (self.name,), (self.value, self.mask)

    @classmethod
    def __tf_unflatten__(cls, metadata: tuple[str], components: tuple[Any, ...]) -> Masked:
        return cls(*metadata, *components)


def attribute(name: str, alias: str | None = None) -> Any:
    """A field as attrs describes it, with the alias of attrs >= 22.2 or without."""
    return types.SimpleNamespace(name=name, **({"alias": alias} if alias else {}))


class Attrs:
    """What attrs makes of a class with a public and a private field."""

    __attrs_attrs__ = (attribute("left", "left"), attribute("_right"))

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self._right = left, right


STRUCTURES: list[tuple[Any, list[Any], list[tuple[Any, ...]]]] = [
    ([], [], []),
    ((), [], []),
    ({}, [], []),
    ([1, 2], [1, 2], [(0,), (1,)]),
    ((1, [2, (3,)]), [1, 2, 3], [(0,), (1, 0), (1, 1, 0)]),
    ({"b": 1, "a": 2}, [2, 1], [("a",), ("b",)]),
    (OrderedDict([("b", 1), ("a", 2)]), [2, 1], [("a",), ("b",)]),
    (ReadOnly({"b": 1, "a": [2]}), [2, 1], [("a", 0), ("b",)]),
    (types.MappingProxyType({"b": 1, "a": 2}), [2, 1], [("a",), ("b",)]),
    (defaultdict(list, {2: "x", 1: "y"}), ["y", "x"], [(1,), (2,)]),
    (Counter("aab"), [2, 1], [("a",), ("b",)]),
    (Point(1, Point(2, None)), [1, 2, None], [("x",), ("y", "x"), ("y", "y")]),
    (deque([1, 2]), [1, 2], [(0,), (1,)]),
    (TrackedList([1, {"k": 2}]), [1, 2], [(0,), (1, "k")]),
    (Masked("m", 1, [2, 3]), [1, 2, 3], [(0,), (1, 0), (1, 1)]),
    (Attrs(1, [2]), [1, 2], [("left",), ("_right", 0)]),
    (range(3), [0, 1, 2], [(0,), (1,), (2,)]),
    ({"b": 1, "a": 2}.values(), [1, 2], [(0,), (1,)]),
]
LEAVES: list[Any] = [
    None,
    1,
    "text",
    b"text",
    bytearray(b"t"),
    memoryview(b"t"),
    np.arange(3),
    {1, 2},
    frozenset([1]),
    Plain([1, 2]),
    Masked,  # the class, not an instance
    object(),
    (i for i in range(2)),
    1.5,
]


@pytest.mark.parametrize(("structure", "leaves", "paths"), STRUCTURES)
def test_leaves_and_paths(structure: Any, leaves: list[Any], paths: list[Any]) -> None:
    assert is_nested(structure)
    assert flatten(structure) == leaves
    assert flatten([structure, 7]) == [*leaves, 7]
    found = flatten_with_path(structure)
    assert [leaf for _, leaf in found] == leaves
    assert [path for path, _ in found] == paths


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: type(leaf).__name__)
def test_what_is_a_leaf(leaf: Any) -> None:
    assert not is_nested(leaf)
    for _ in range(2):  # the class is new to the table, then known
        assert flatten(leaf)[0] is leaf
        assert flatten((leaf, leaf))[1] is leaf
    assert flatten_with_path(leaf) == [((), leaf)]
    assert pack_sequence_as(leaf, ["new"]) == "new"


@pytest.mark.parametrize(
    "structure",
    [s for s, _, _ in STRUCTURES if type(s).__name__ not in ("range", "dict_values", "Attrs")],
)
def test_pack_gives_the_same_class_and_content(structure: Any) -> None:
    packed = pack_sequence_as(structure, flatten(structure))
    assert type(packed) is type(structure)
    assert packed == structure or dict(packed) == dict(structure)
    if isinstance(structure, Mapping):
        assert list(packed) == list(structure)  # the order of insertion is kept


def test_pack_special_classes() -> None:
    assert pack_sequence_as(range(2), [5, 6]) == [5, 6]
    assert pack_sequence_as({"a": 1}.values(), [5]) == [5]
    made = pack_sequence_as(defaultdict(list, a=1), [2])
    assert made.default_factory is list
    assert made["missing"] == []
    attrs = pack_sequence_as(Attrs(1, [2]), [10, 20])
    assert (type(attrs), attrs.left, attrs._right) == (Attrs, 10, [20])
    assert pack_sequence_as(Masked("m", 1, 2), [3, 4]) == Masked("m", 3, 4)


def test_pack_takes_any_sequence() -> None:
    assert pack_sequence_as([0, (0,)], (1, 2)) == [1, (2,)]


@pytest.mark.parametrize(
    ("structure", "flat", "error", "match"),
    [
        ([1, 2], [1], ValueError, r"\[1, 2\] has 2 leaves, but flat_sequence has 1"),
        ([1, [2]], [1, 2, 3], ValueError, "has 2 leaves, but flat_sequence has 3"),
        (1, [1, 2], ValueError, "cannot pack 2 leaves .*exactly one"),
        ([1], 5, TypeError, "cannot pack 5 of type int"),
        ([1], "ab", TypeError, "cannot pack 'ab' of type str"),
    ],
)
def test_pack_errors(structure: Any, flat: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        pack_sequence_as(structure, flat)


def test_unsortable_keys() -> None:
    with pytest.raises(TypeError, match=r"keys of the dict \[1, 'a'\] cannot be sorted"):
        flatten({1: 2, "a": 3})


NESTS = st.recursive(
    st.one_of(st.integers(), st.none(), st.text(max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(Point, inner, inner),
    ),
    max_leaves=12,
)


@given(NESTS)
def test_round_trip(structure: Any) -> None:
    leaves = flatten(structure)
    assert pack_sequence_as(structure, leaves) == structure
    assert_same_structure(structure, pack_sequence_as(structure, [0] * len(leaves)))
    assert map_structure(lambda leaf: leaf, structure) == structure


@given(NESTS)
def test_paths_lead_to_the_leaves(structure: Any) -> None:
    pairs = flatten_with_path(structure)
    assert [leaf for _, leaf in pairs] == flatten(structure)
    for path, leaf in pairs:
        found = structure
        for step in path:
            found = getattr(found, step) if isinstance(found, Point) else found[step]
        assert found is leaf


def test_map_structure() -> None:
    assert map_structure(lambda x: x * 2, {"a": (1, [2])}) == {"a": (2, [4])}
    assert map_structure(lambda x, y: x - y, [5, (6,)], [1, (2,)]) == [4, (4,)]
    assert map_structure(lambda x, y: x + y, [1, 2], (3, 4), check_types=False) == [4, 6]
    assert map_structure(str, None) == "None"
    # Mappings pair up by key, whatever their order.
    assert map_structure(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": 20, "a": 10}) == {
        "a": (1, 10),
        "b": (2, 20),
    }


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        ((5, [1]), TypeError, "func=5: expected a function"),
        ((str,), ValueError, "no structure"),
        ((max, [1], [1, 2]), ValueError, "same form"),
        ((max, [1], (1,)), TypeError, "same classes"),
    ],
)
def test_map_structure_errors(args: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        map_structure(*args)


# Of the same name and fields as Point, but another class; and one of another name.
OtherPoint: Any = NamedTuple("Point", [("x", Any), ("y", Any)])  # type: ignore[name-match]
Pair: Any = NamedTuple("Pair", [("x", Any), ("y", Any)])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, "leaf"),
        ([1, (2,)], ["a", ("b",)]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, OrderedDict(a=2)),
        (ReadOnly({"a": 1}), {"a": 2}),
        ([1], TrackedList([2])),
        (TrackedList([2]), [1]),
        (Point(1, 2), OtherPoint(3, 4)),
        (Masked("m", 1, 2), Masked("n", 3, 4)),
    ],
)
def test_same_structure(a: Any, b: Any) -> None:
    assert_same_structure(a, b)
    assert_same_structure(b, a, check_types=False)


@pytest.mark.parametrize(
    ("a", "b", "error", "match"),
    [
        ([1], 1, ValueError, "top the first has a structure of type list, the second a leaf"),
        ([1, [2]], [1, 2], ValueError, r"at \[1\] the first has a structure"),
        ([1, 2], [1], ValueError, "first has 2 elements, the second 1 elements"),
        ({"a": 1}, {"b": 1}, ValueError, r"the keys \['a'\], the second the keys \['b'\]"),
        ({"k": {"a": 1}}, {"k": {}}, ValueError, r"at \['k'\]"),
        ([1], (1,), TypeError, "a list, the second a tuple; pass check_types=False"),
        (Point(1, 2), Pair(1, 2), TypeError, "Point, the second a Pair"),
        (Point(1, 2), (1, 2), TypeError, "Point, the second a tuple"),
        ([1], {"a": 1}, TypeError, "a list, the second a dict"),
    ],
)
def test_different_structures(a: Any, b: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        assert_same_structure(a, b)
    assert repr(a) in str(caught.value)
    assert repr(b) in str(caught.value)


def test_form_alone_is_compared_on_request() -> None:
    assert_same_structure([1], (1,), check_types=False)
    assert_same_structure({"a": 1}, {"b": 1}, check_types=False)
    assert_same_structure(Point(1, 2), Pair(1, 2), check_types=False)
    with pytest.raises(ValueError, match="same form"):
        assert_same_structure([1], (1, 2), check_types=False)


def test_expand_composites_is_taken() -> None:
    assert flatten([1], expand_composites=True) == [1]
    assert pack_sequence_as([0], [1], expand_composites=True) == [1]
    assert map_structure(str, [1], expand_composites=True) == ["1"]
    assert_same_structure([1], [2], expand_composites=True)


def test_agreement_never_shows_a_value() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise AssertionError("repr of a leaf is taken on the way to no error")

    assert_same_structure([Silent()], [Silent()])
    assert len(flatten([Silent(), {"a": Silent()}])) == 2


def test_table_of_classes_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nest_kinds, "KINDS", dict(nest_kinds.KINDS))
    monkeypatch.setattr(nest_kinds, "_MAX_CLASSES", 20)
    for i in range(50):
        cls = type(f"Made{i}", (), {})
        assert not is_nested(cls())
        assert len(nest_kinds.KINDS) <= 20
    assert is_nested([1])
    assert flatten({"a": (1,)}) == [1]
