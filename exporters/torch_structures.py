"""Torch's nested structures as plain ones, and dimensions by name as torch.export takes them.

What torch flattens (dicts, tuples, dataclasses, outputs of transformers, caches) becomes dicts,
lists and tuples, which every reader of a bundle knows.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError

Path = tuple[Any, ...]


def plain_structure(spec: Any, leaves: Iterator[Any]) -> Any:
    """The structure that a torch ``TreeSpec`` describes, of plain containers, with these leaves.

    A dataclass and other objects of named parts become dicts.
    """
    if spec.is_leaf():
        return next(leaves)
    items = [plain_structure(child, leaves) for child in spec.children()]
    kind = spec.type
    if kind in (dict, OrderedDict):
        return dict(zip(spec.context, items, strict=True))
    if kind is defaultdict:
        return dict(zip(spec.context[1], items, strict=True))
    if kind is list:
        return items
    if kind is tuple:
        return tuple(items)
    names = _field_names(spec, len(items))
    return items if names is None else dict(zip(names, items, strict=True))


def _field_names(spec: Any, count: int) -> list[str] | None:
    """Names of the parts of an object, where what torch keeps of it has them."""
    kind, context = spec.type, spec.context
    candidates = [getattr(kind, "_fields", None), getattr(context, "_fields", None), context]
    if isinstance(context, list | tuple):
        candidates += list(context)
    if dataclasses.is_dataclass(kind):
        candidates.append([f.name for f in dataclasses.fields(kind)])
    for names in candidates:
        fits = isinstance(names, list | tuple) and len(names) == count
        if fits and all(isinstance(name, str) for name in names):
            return list(names)
    return None


def leaf_paths(structure: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """The leaves of plain containers in their own order, each with the keys that lead to it."""
    if isinstance(structure, Mapping):
        pairs: Any = structure.items()
    elif isinstance(structure, list | tuple):
        pairs = enumerate(structure)
    else:
        return [(path, structure)]
    return [found for key, item in pairs for found in leaf_paths(item, (*path, key))]


def path_name(path: Sequence[Any]) -> str:
    """A name of a graph's input or output for a place in a structure."""
    return "_".join(str(part) for part in path)


def grown(value: Any, path: Path, axis: int) -> Any:
    """A structure in which one tensor is longer by 1 along an axis.

    What is added are the elements of its first slice in another order: possible values, and not the
    same twice, of which batch statistics would be made of nothing but rounding.
    """
    import torch

    if not path:
        first = value.narrow(axis, 0, min(1, value.shape[axis]))
        return torch.cat([value, first.flatten().roll(1).reshape(first.shape)], axis)
    key, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {**value, key: grown(value[key], rest, axis)}
    if hasattr(value, "_fields"):
        return value._replace(**{key: grown(getattr(value, key), rest, axis)})
    items = list(value)
    items[key] = grown(items[key], rest, axis)
    return items if isinstance(value, list) else tuple(items)


def part_at(value: Any, path: Path) -> Any:
    """The part of a structure at a place."""
    for key in path:
        value = getattr(value, key) if hasattr(value, "_fields") else value[key]
    return value


def path_text(path: Path) -> str:
    """A place in the arguments as a message says it: ``batch['image'][0]``."""
    return str(path[0]) + "".join(f"[{part!r}]" for part in path[1:])


class NamedDims:
    """Dimensions by name, as torch.export takes them.

    The tracer is told to keep each as general as the model allows (``Dim.AUTO``), so that bounds
    which the model has (a table of 512 positions) need not be said. What it fixed is found
    afterwards. A ``torch.export.Dim`` of the user is passed on as it is.

    Args:
        label: The method, for messages.

    Attributes:
        asked: The dimensions that have a name: the argument's place, the axis and the name.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self.asked: list[tuple[Path, int, str]] = []

    def shapes(self, argument: Any, dynamic: Any, path: Path) -> Any:
        """What torch.export takes as ``dynamic_shapes`` for an argument.

        Args:
            argument: The example.
            dynamic: What the user gave for it.
            path: The argument's place.

        Raises:
            InvalidArgumentError: it names a dimension that the argument has not.
        """
        import torch

        if isinstance(argument, torch.Tensor):
            return None if dynamic is None else self._of_tensor(argument, dynamic, path)
        if isinstance(argument, Mapping):
            return self._of_mapping(argument, dynamic, path)
        if isinstance(argument, list | tuple):
            return self._of_sequence(argument, dynamic, path)
        return None if dynamic is None else self._with_dims(dynamic)

    def _of_mapping(self, argument: Mapping[Any, Any], dynamic: Any, path: Path) -> Any:
        given = {} if dynamic is None else dynamic
        unknown = [k for k in given if k not in argument] if isinstance(given, Mapping) else [given]
        if unknown:
            raise InvalidArgumentError(
                f"{self._label}: dynamic has {unknown[0]!r:.100} for {path_text(path)}, a dict of "
                f"{', '.join(map(repr, argument))}."
            )
        return {k: self.shapes(v, given.get(k), (*path, k)) for k, v in argument.items()}

    def _of_sequence(self, argument: Sequence[Any], dynamic: Any, path: Path) -> Any:
        given = [None] * len(argument) if dynamic is None else dynamic
        if not isinstance(given, list | tuple) or len(given) != len(argument):
            raise InvalidArgumentError(
                f"{self._label}: dynamic has {given!r:.100} for {path_text(path)}, expected a list "
                f"of {len(argument)} items, as the argument has."
            )
        keys = getattr(argument, "_fields", range(len(argument)))
        items = [
            self.shapes(v, d, (*path, k)) for k, v, d in zip(keys, argument, given, strict=True)
        ]
        if hasattr(argument, "_fields"):
            return type(argument)(*items)
        return items if isinstance(argument, list) else tuple(items)

    def _of_tensor(self, tensor: Any, dynamic: Any, path: Path) -> Any:
        if isinstance(dynamic, list | tuple):
            dynamic = dict(enumerate(dynamic))
        if not isinstance(dynamic, Mapping):
            raise InvalidArgumentError(
                f"{self._label}: dynamic has {dynamic!r:.100} for {path_text(path)}, a tensor of "
                f"shape {tuple(tensor.shape)}; expected names by axis, such as {{0: 'batch'}}."
            )
        found = {}
        for axis, name in dynamic.items():
            if name is None:
                continue
            if not isinstance(axis, int) or not -tensor.dim() <= axis < tensor.dim():
                raise InvalidArgumentError(
                    f"{self._label}: dynamic has axis {axis!r} for {path_text(path)}, a tensor of "
                    f"shape {tuple(tensor.shape)}."
                )
            found[axis % tensor.dim()] = self._dim(name)
            self.asked.append((path, axis % tensor.dim(), _name_of(name)))
        return found or None

    def _with_dims(self, dynamic: Any) -> Any:
        """What a user gave for an object that torch flattens, names replaced."""
        if isinstance(dynamic, Mapping):
            return {k: self._with_dims(v) for k, v in dynamic.items()}
        if isinstance(dynamic, list | tuple):
            return [self._with_dims(v) for v in dynamic]
        return self._dim(dynamic) if isinstance(dynamic, str) else dynamic

    def _dim(self, name: Any) -> Any:
        from torch.export import Dim

        if not isinstance(name, str):
            return name
        if not name.isidentifier():
            raise InvalidArgumentError(
                f"{self._label}: dynamic has the name {name!r}, expected an identifier."
            )
        return Dim.AUTO


def _name_of(dim: Any) -> str:
    return dim if isinstance(dim, str) else str(getattr(dim, "__name__", dim))
