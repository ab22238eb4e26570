"""The classes that are nested structures, and how each is taken apart and rebuilt.

Owns the table of kinds. It must not know what is done with structures; that is `nest.py`.

The structures are sequences (list, tuple, namedtuple, deque, ...; not strings), mappings
(leaves in the order of the sorted keys, whatever the order of insertion), views of mappings,
instances of attrs classes, and objects with TensorFlow's pair of methods `__tf_flatten__` and
`__tf_unflatten__`, which is how a dataclass takes part. Arrays, sets and generators are leaves.

So are plain dataclasses, as in TensorFlow, except where composites are asked to be expanded: the
arguments and results of traced functions are taken apart so. A dataclass is then put together
without its constructor: it is the object that it was with other fields.

The design decision: what a class is gets decided once, by `classify`, and from then on is one
dict lookup. (optree was tried: it keeps the insertion order of an OrderedDict and takes
subclasses of list, and mappings of other classes, for leaves, so it does not serve.)
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence
from typing import Any, Final, NamedTuple


class Kind(NamedTuple):
    """The functions that take one class of structures apart and rebuild it."""

    keys: Callable[[Any], list[Any]]
    values: Callable[[Any], Iterable[Any]]
    # (the structure to imitate, the new values in the order of `values`) -> a new structure.
    build: Callable[[Any, list[Any]], Any]
    # What it has beside them, which belongs to its class: structures that differ in it differ.
    beside: Callable[[Any], Any] | None = None


def _positions(structure: Any) -> list[Any]:
    return list(range(len(structure)))


def _build_sequence(like: Any, values: list[Any]) -> Any:
    return type(like)(values)


def _build_list(like: Any, values: list[Any]) -> Any:
    # Views and ranges cannot hold values of their own; TensorFlow makes lists too.
    return values


def _sorted_keys(structure: Any) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError as e:
        raise TypeError(
            f"the keys of the {type(structure).__name__} {list(structure)!r} cannot be sorted: a "
            "nested structure needs mappings whose keys are of one sortable type"
        ) from e


def _mapping_values(structure: Any) -> list[Any]:
    return [structure[key] for key in _sorted_keys(structure)]


def _build_mapping(like: Any, values: list[Any]) -> Any:
    new = dict(zip(_sorted_keys(like), values, strict=True))
    items = {key: new[key] for key in like}  # the order of insertion is the original's
    if isinstance(like, defaultdict):
        # Not every subclass takes the factory first, but defaultdict itself always does.
        return type(like)(like.default_factory, items)
    return items if type(like) is dict else type(like)(items)


def _attrs_fields(structure: Any) -> list[Any]:
    return [attribute.name for attribute in type(structure).__attrs_attrs__]


def _attrs_values(structure: Any) -> list[Any]:
    return [getattr(structure, name) for name in _attrs_fields(structure)]


def _build_attrs(like: Any, values: list[Any]) -> Any:
    given = {
        # attrs drops the leading underscores of private fields in its constructor.
        (getattr(attribute, "alias", None) or attribute.name.lstrip("_")): value
        for attribute, value in zip(type(like).__attrs_attrs__, values, strict=True)
    }
    return type(like)(**given)


def _dataclass_fields(structure: Any) -> list[Any]:
    named = getattr(type(structure), "_tfx_fields", None)
    if named is not None:
        return list(named)
    # A field without default that the constructor does not take may not be there yet.
    return [f.name for f in dataclasses.fields(structure) if hasattr(structure, f.name)]


def _dataclass_values(structure: Any) -> list[Any]:
    return [getattr(structure, name) for name in _dataclass_fields(structure)]


def _build_dataclass(like: Any, values: list[Any]) -> Any:
    new = object.__new__(type(like))
    if hasattr(like, "__dict__"):
        vars(new).update(vars(like))
    for name, value in zip(_dataclass_fields(like), values, strict=True):
        object.__setattr__(new, name, value)  # frozen ones too
    return new


def _protocol_values(structure: Any) -> tuple[Any, ...]:
    return tuple(structure.__tf_flatten__()[1])


def _protocol_keys(structure: Any) -> list[Any]:
    return list(range(len(_protocol_values(structure))))


def _build_protocol(like: Any, values: list[Any]) -> Any:
    return type(like).__tf_unflatten__(like.__tf_flatten__()[0], tuple(values))


class TracingContext:
    """What is known of the call whose arguments are asked for their types: nothing so far."""


def _follows_tracing_protocol(cls: type) -> bool:
    # Arrays are tensors, whatever they say: so are TensorFlow's own.
    return hasattr(cls, "__tf_tracing_type__") and not hasattr(cls, "__array__")


def _trace_type_of(value: Any) -> Any:
    return value.__tf_tracing_type__(TracingContext())


def _traced_values(value: Any) -> list[Any]:
    return list(_trace_type_of(value).to_tensors(value))


def _traced_keys(value: Any) -> list[Any]:
    return list(range(len(_traced_values(value))))


def _build_traced(like: Any, values: list[Any]) -> Any:
    return _trace_type_of(like).from_tensors(iter(values))


SEQUENCE: Final = Kind(_positions, iter, _build_sequence)
_NAMEDTUPLE: Final = Kind(lambda s: list(s._fields), iter, lambda like, v: type(like)(*v))
_VIEW: Final = Kind(_positions, iter, _build_list)
MAPPING: Final = Kind(_sorted_keys, _mapping_values, _build_mapping)
_ATTRS: Final = Kind(_attrs_fields, _attrs_values, _build_attrs)
_PROTOCOL: Final = Kind(_protocol_keys, _protocol_values, _build_protocol)
DATACLASS: Final = Kind(_dataclass_fields, _dataclass_values, _build_dataclass)
# Objects with a `TraceType`, as arguments of functions.
TRACED: Final = Kind(_traced_keys, _traced_values, _build_traced, _trace_type_of)

_STRING_LIKE: Final = (str, bytes, bytearray, memoryview)
_MAX_CLASSES: Final = 4096

# Class -> its kind, or None for a leaf. Emptied when full, so that programs which make classes
# at run time do not keep them all alive.
KINDS: Final[dict[type, Kind | None]] = {list: SEQUENCE, tuple: SEQUENCE, dict: MAPPING}
# The same where plain dataclasses are structures too.
EXPANDED: Final[dict[type, Kind | None]] = dict(KINDS)
# Leaves there that are sequences elsewhere: values of arguments, not structures of tensors.
_VALUES: Final = (range,)


def classify(cls: type) -> Kind | None:
    """Decides the kind of a class met for the first time, and enters it in `KINDS`."""
    kind: Kind | None = None
    if hasattr(cls, "__tf_flatten__") and hasattr(cls, "__tf_unflatten__"):
        kind = _PROTOCOL
    elif issubclass(cls, _STRING_LIKE):
        kind = None
    elif issubclass(cls, Mapping):
        kind = MAPPING
    elif namedtuple_fields(cls) is not None:
        kind = _NAMEDTUPLE
    elif issubclass(cls, (MappingView, range)):
        kind = _VIEW
    elif issubclass(cls, Sequence):
        kind = SEQUENCE
    elif hasattr(cls, "__attrs_attrs__"):
        kind = _ATTRS
    if len(KINDS) >= _MAX_CLASSES:
        KINDS.clear()
    KINDS[cls] = kind
    return kind


def classify_expanded(cls: type) -> Kind | None:
    """``classify`` where plain dataclasses are structures; enters the class in `EXPANDED`.

    A class that says ``_tfx_is_object = True`` is a leaf: what matters of it is its identity. A
    class of ours that names its parts in ``_tfx_fields`` is one of these structures, too; one with
    an ``_tfx_expanded_kind``, or whose objects have a `TraceType`, says itself how it is taken
    apart.
    """
    kind = None if cls in _VALUES else classify(cls)
    own = getattr(cls, "_tfx_expanded_kind", None)
    if own is not None:
        kind = own
    elif kind is None and _follows_tracing_protocol(cls):
        kind = TRACED
    elif kind is None and _has_fields(cls) and not getattr(cls, "_tfx_is_object", False):
        kind = DATACLASS
    if len(EXPANDED) >= _MAX_CLASSES:
        EXPANDED.clear()
    EXPANDED[cls] = kind
    return kind


def _has_fields(cls: Any) -> bool:
    """True if it can be put together from its fields without its constructor."""
    named = dataclasses.is_dataclass(cls) or hasattr(cls, "_tfx_fields")
    return named and cls.__new__ is object.__new__


def expanded_kind_of(structure: Any) -> Kind | None:
    """`kind_of` where plain dataclasses are structures."""
    cls = type(structure)
    try:
        return EXPANDED[cls]
    except KeyError:
        return classify_expanded(cls)


def kind_of(structure: Any) -> Kind | None:
    """Returns how `structure` is taken apart, or None if it is a leaf."""
    cls = type(structure)
    try:
        return KINDS[cls]
    except KeyError:
        return classify(cls)


def namedtuple_fields(cls: type) -> tuple[str, ...] | None:
    """Returns the fields of a namedtuple class, None for any other class."""
    fields = getattr(cls, "_fields", None) if issubclass(cls, tuple) else None
    if isinstance(fields, tuple) and all(isinstance(field, str) for field in fields):
        return fields
    return None


def same_class(a: type, b: type) -> bool:
    """True if structures of the two classes count as of one class; see assert_same_structure."""
    if a is b:
        return True
    # A spec has the structure of the values that it describes.
    a, b = getattr(a, "_tfx_value_class", a), getattr(b, "_tfx_value_class", b)
    if a is b:
        return True
    if issubclass(a, Mapping) and issubclass(b, Mapping):
        return True
    if issubclass(a, list) and issubclass(b, list):
        return True
    fields = namedtuple_fields(a)
    return fields is not None and a.__name__ == b.__name__ and fields == namedtuple_fields(b)


def in_order_of(keys: Sequence[Any], given: Sequence[Any], values: Iterable[Any]) -> Any:
    """The parts of a structure in the order of another one with the same keys.

    Names may stand in another order: that of the components of a class may have changed since
    something was saved.

    Args:
        keys: The keys of the other structure.
        given: The keys of this one.
        values: Its parts.

    Returns:
        A list of the parts, or None if the keys differ.
    """
    if list(keys) == list(given):
        return list(values)
    if not all(type(key) is str for key in (*keys, *given)) or sorted(keys) != sorted(given):
        return None
    parts = dict(zip(given, values, strict=True))
    return [parts[key] for key in keys]
