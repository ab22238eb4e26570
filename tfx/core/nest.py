"""Nested structures, with TensorFlow's `tf.nest` semantics.

Owns the walks over structures: flatten, pack, map, compare. It must not know tensors, nor
which classes are structures, which is the table in `nest_kinds.py`; whatever is in no kind
there is a leaf, None included.

The design decision: flattening a flat tuple or list, the arguments of nearly every call, is
a path of its own that does nothing but look up the class of each item.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tfx.core.nest_kinds import (
    EXPANDED,
    KINDS,
    MAPPING,
    SEQUENCE,
    Kind,
    classify,
    classify_expanded,
    expanded_kind_of,
    kind_of,
    same_class,
)

Path: TypeAlias = tuple[Any, ...]


def is_nested(seq: Any) -> bool:
    """True if `seq` is a structure and not a leaf.

    Args:
        seq: Anything.

    Returns:
        True for sequences, mappings and the other structures listed in the module.

    Example:
        >>> is_nested([1]), is_nested({}), is_nested("text"), is_nested(None)
        (True, True, False, False)
    """
    return kind_of(seq) is not None


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of `structure`, from left to right, mappings by sorted key.

    Args:
        structure: A structure, or a leaf, which gives a list of one.
        expand_composites: Whether plain dataclasses are structures of their fields, and ragged
            tensors of their values and row splits.

    Returns:
        The leaves.

    Raises:
        TypeError: If a mapping has keys that cannot be sorted.

    Example:
        >>> flatten({"b": [1, (2,)], "a": None})
        [None, 1, 2]
    """
    cls = type(structure)
    kinds = EXPANDED if expand_composites else KINDS
    if cls is tuple or cls is list:
        # The arguments of nearly every call: a flat sequence of known classes of leaves.
        for item in structure:
            if kinds.get(type(item), SEQUENCE) is not None:
                break
        else:
            return list(structure)
    kind = expanded_kind_of(structure) if expand_composites else kind_of(structure)
    if kind is None:
        return [structure]
    leaves: list[Any] = []
    _flatten_into(kind, structure, leaves, expand_composites)
    return leaves


def _flatten_into(kind: Kind, structure: Any, leaves: list[Any], expand: bool) -> None:
    kinds = EXPANDED if expand else KINDS
    for value in kind.values(structure):
        try:
            inner = kinds[type(value)]
        except KeyError:
            inner = classify_expanded(type(value)) if expand else classify(type(value))
        if inner is None:
            leaves.append(value)
        else:
            _flatten_into(inner, value, leaves, expand)


def _finder(expand: bool) -> Callable[[Any], Kind | None]:
    return expanded_kind_of if expand else kind_of


def flatten_with_path(structure: Any, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """Returns the leaves in the order of `flatten`, each with the path that leads to it.

    Args:
        structure: A structure or a leaf.
        expand_composites: See `flatten`.

    Returns:
        Pairs of path and leaf. A path is a tuple of positions (int), keys, and field names;
        the path of a lone leaf is empty.

    Example:
        >>> flatten_with_path({"b": [1, 2], "a": 3})
        [(('a',), 3), (('b', 0), 1), (('b', 1), 2)]
    """
    pairs: list[tuple[Path, Any]] = []
    _paths_into((), structure, pairs, _finder(expand_composites))
    return pairs


def _paths_into(
    path: Path,
    structure: Any,
    pairs: list[tuple[Path, Any]],
    find: Callable[[Any], Kind | None],
) -> None:
    kind = find(structure)
    if kind is None:
        pairs.append((path, structure))
        return
    for key, value in zip(kind.keys(structure), kind.values(structure), strict=True):
        _paths_into((*path, key), value, pairs, find)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns the leaves `flat_sequence` put together in the form of `structure`.

    Args:
        structure: The structure to imitate, or a leaf.
        flat_sequence: The new leaves, in the order of `flatten`.
        expand_composites: See `flatten`.

    Returns:
        The new structure: of the same classes, mappings with the original's order of keys;
        the one leaf itself if `structure` is a leaf.

    Raises:
        TypeError: If `flat_sequence` is not a sequence.
        ValueError: If the numbers of leaves differ.

    Example:
        >>> pack_sequence_as({"b": 0, "a": [0]}, [1, 2])
        {'b': 2, 'a': [1]}
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"cannot pack {flat_sequence!r} of type {type(flat_sequence).__name__} into a "
            "structure: expected a sequence of leaves, such as flatten() gives"
        )
    find = _finder(expand_composites)
    kind = find(structure)
    given = list(flat_sequence)
    if kind is None:
        if len(given) != 1:
            raise ValueError(
                f"cannot pack {len(given)} leaves as the structure {structure!r}: it is a leaf, so "
                "exactly one was expected"
            )
        return given[0]
    leaves = iter(given)
    try:
        packed = _pack(kind, structure, leaves, find)
    except StopIteration:
        wanted = len(flatten(structure, expand_composites))
    else:
        rest = sum(1 for _ in leaves)
        if rest == 0:
            return packed
        wanted = len(given) - rest
    raise ValueError(
        f"cannot pack the leaves: the structure {structure!r} has {wanted} leaves, but "
        f"flat_sequence has {len(given)}: {given!r}"
    )


def _pack(
    kind: Kind, structure: Any, leaves: Any, find: Callable[[Any], Kind | None] = kind_of
) -> Any:
    values: list[Any] = []
    for value in kind.values(structure):
        inner = find(value)
        values.append(next(leaves) if inner is None else _pack(inner, value, leaves, find))
    return kind.build(structure, values)


def map_structure(
    func: Callable[..., Any],
    *structure: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> Any:
    """Calls `func` on the corresponding leaves and packs what it returns.

    Args:
        func: A function of as many arguments as there are structures.
        *structure: One or more structures of one form.
        check_types: Whether the classes of the structures must agree, not only the form.
        expand_composites: See `flatten`.

    Returns:
        The results in the form of the first structure.

    Raises:
        TypeError: If `func` cannot be called, or classes differ.
        ValueError: If there is no structure, or the forms differ.

    Example:
        >>> map_structure(lambda x, y: x + y, {"a": [1, 2]}, {"a": [10, 20]})
        {'a': [11, 22]}
    """
    if not callable(func):
        raise TypeError(f"map_structure got func={func!r}: expected a function")
    if not structure:
        raise ValueError("map_structure got no structure: expected at least one after func")
    first = structure[0]
    if len(structure) == 1:
        results = [func(leaf) for leaf in flatten(first, expand_composites)]
    else:
        for other in structure[1:]:
            assert_same_structure(first, other, check_types, expand_composites)
        columns = [flatten(each, expand_composites) for each in structure]
        results = [func(*leaves) for leaves in zip(*columns, strict=True)]
    return pack_sequence_as(first, results, expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises unless the two structures have the same form.

    Namedtuples with the same name and fields, two kinds of list, and two kinds of mapping
    count as one class.

    Args:
        nest1: A structure or a leaf.
        nest2: A structure or a leaf.
        check_types: Whether classes and the keys of mappings must agree, not only the form.
        expand_composites: See `flatten`.

    Raises:
        ValueError: If the forms or the keys differ.
        TypeError: If only the classes differ.

    Example:
        >>> assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    """
    try:
        _assert_same((), nest1, nest2, check_types, _finder(expand_composites))
    except (ValueError, TypeError) as e:
        # The whole structures are shown once, here, so that agreement never pays for a repr.
        raise type(e)(f"{e}\n  first structure:  {nest1!r}\n  second structure: {nest2!r}") from e


def _assert_same(
    path: Path, a: Any, b: Any, check_types: bool, find: Callable[[Any], Kind | None]
) -> None:
    kind_a, kind_b = find(a), find(b)
    if kind_a is None and kind_b is None:
        return
    if kind_a is None or kind_b is None:
        raise ValueError(_differ("form", path, _describe(a, kind_a), _describe(b, kind_b)))
    if check_types and not same_class(type(a), type(b)):
        text = _differ("classes", path, f"a {type(a).__name__}", f"a {type(b).__name__}")
        raise TypeError(f"{text}; pass check_types=False to compare the form only")
    keys_a, keys_b = kind_a.keys(a), kind_b.keys(b)
    if check_types and kind_a is MAPPING and keys_a != keys_b:
        raise ValueError(_differ("form", path, f"the keys {keys_a!r}", f"the keys {keys_b!r}"))
    if len(keys_a) != len(keys_b):
        raise ValueError(
            _differ("form", path, f"{len(keys_a)} elements", f"{len(keys_b)} elements")
        )
    if kind_a.beside is not None and kind_a is kind_b and kind_a.beside(a) != kind_a.beside(b):
        raise ValueError(_differ("values", path, f"{kind_a.beside(a)!r}", f"{kind_a.beside(b)!r}"))
    for key, value_a, value_b in zip(keys_a, kind_a.values(a), kind_b.values(b), strict=True):
        _assert_same((*path, key), value_a, value_b, check_types, find)


def _differ(what: str, path: Path, first: str, second: str) -> str:
    where = "".join(f"[{key!r}]" for key in path) or "the top"
    return (
        f"the structures do not have the same {what}: at {where} the first has {first}, the "
        f"second {second}"
    )


def _describe(value: Any, kind: Kind | None) -> str:
    return f"a {'leaf' if kind is None else 'structure'} of type {type(value).__name__}"
