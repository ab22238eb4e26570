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


def plain_structure(spec: Any, leaves: Iterator[Any]) -> Any:
    """A structure that torch describes, of plain containers, with these leaves."""
    if spec.is_leaf():
        return next(leaves)
    kind, children = spec.type, _children(spec)
    items = [plain_structure(child, leaves) for child in children]
    if kind in (dict, OrderedDict):
        return dict(zip(spec.context, items, strict=True))
    if kind is defaultdict:
        return dict(zip(spec.context[1], items, strict=True))
    if kind is list:
        return items
    if kind is tuple:
        return tuple(items)
    names = _field_names(spec, len(items))
    if names is not None:
        return dict(zip(names, items, strict=True))
    return items[0] if len(items) == 1 else items


def _children(spec: Any) -> Sequence[Any]:
    found = getattr(spec, "children_specs", None)
    return list(spec.children() if found is None else found)


def _field_names(spec: Any, count: int) -> list[str] | None:
    """Names of the parts of an object, where what torch keeps of it has them."""
    kind, context = spec.type, spec.context
    named = getattr(kind, "_fields", None) or getattr(context, "_fields", None)
    if named is not None and len(named) == count:
        return list(named)
    candidates = [context]
    if isinstance(context, list | tuple):
        candidates += list(context)
    for candidate in candidates:
        if (
            isinstance(candidate, list | tuple)
            and len(candidate) == count
            and all(isinstance(name, str) for name in candidate)
        ):
            return list(candidate)
    if dataclasses.is_dataclass(kind):
        names = [f.name for f in dataclasses.fields(kind)]
        if len(names) == count:
            return names
    return None


def leaf_paths(structure: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
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


class NamedDims:
    """Dimensions by name, the same object for the same name.

    Args:
        label: The method, for messages.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self.dims: dict[str, Any] = {}
        self.asked: list[tuple[str, int, str]] = []

    def shapes(self, argument: Any, dynamic: Any, path: str) -> Any:
        """What torch.export takes for an argument's ``dynamic_shapes``.

        Raises:
            InvalidArgumentError: it names a dimension that the argument has not.
        """
        import torch

        if isinstance(argument, torch.Tensor):
            return self._of_tensor(argument, dynamic, path)
        if isinstance(argument, Mapping):
            given = dynamic if isinstance(dynamic, Mapping) else {}
            self._check_keys(given, argument, path)
            return {k: self.shapes(v, given.get(k), f"{path}.{k}") for k, v in argument.items()}
        if isinstance(argument, list | tuple):
            several = dynamic if isinstance(dynamic, list | tuple) else [None] * len(argument)
            if len(several) != len(argument):
                raise InvalidArgumentError(
                    f"{self._label}: dynamic has {len(several)} items for {path}, which has "
                    f"{len(argument)}."
                )
            items = [
                self.shapes(v, d, f"{path}[{i}]")
                for i, (v, d) in enumerate(zip(argument, several, strict=True))
            ]
            return items if isinstance(argument, list) else tuple(items)
        if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
            return None
        return None

    def _check_keys(self, given: Mapping[Any, Any], argument: Mapping[Any, Any], path: str) -> None:
        for key in given:
            if key not in argument:
                raise InvalidArgumentError(
                    f"{self._label}: dynamic has {key!r} for {path}, which has "
                    f"{', '.join(map(repr, argument))}."
                )

    def _of_tensor(self, tensor: Any, dynamic: Any, path: str) -> Any:
        if dynamic is None:
            return None
        if isinstance(dynamic, list | tuple):
            dynamic = dict(enumerate(dynamic))
        if not isinstance(dynamic, Mapping):
            raise InvalidArgumentError(
                f"{self._label}: dynamic has {dynamic!r:.100} for {path}, a tensor of shape "
                f"{tuple(tensor.shape)}; expected names by dimension, such as {{0: 'batch'}}."
            )
        found = {}
        for axis, name in dynamic.items():
            if name is None:
                continue
            if not isinstance(axis, int) or not -tensor.dim() <= axis < tensor.dim():
                raise InvalidArgumentError(
                    f"{self._label}: dynamic has dimension {axis!r} for {path}, a tensor of shape "
                    f"{tuple(tensor.shape)}."
                )
            axis %= tensor.dim()
            found[axis] = self._dim(name)
            self.asked.append((path, axis, _name_of(name)))
        return found or None

    def _dim(self, name: Any) -> Any:
        from torch.export import Dim

        key = _name_of(name)
        if key not in self.dims:
            if isinstance(name, str):
                if not name.isidentifier():
                    raise InvalidArgumentError(
                        f"{self._label}: dynamic has the name {name!r}, expected an identifier."
                    )
                name = Dim(name)
            self.dims[key] = name
        return self.dims[key]


def _name_of(dim: Any) -> str:
    return dim if isinstance(dim, str) else str(getattr(dim, "__name__", dim))
