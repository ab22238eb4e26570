"""What the layers of a Keras model give while it runs, whatever its backend.

Owns how a layer is watched: its ``call`` is wrapped on the instance, for one run. The one decision:
a value is known by the number of its layer, of the call and of the tensor, which are the same for a
model and for the one that is made again of its config, in this process or another.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor that a layer gave.

    Attributes:
        place: The numbers of the layer and of the tensor in its results.
        layer: The layer's path.
        tensor: The tensor.
    """

    place: tuple[int, int]
    layer: str
    tensor: Any


def keyed(seen: Iterable[Seen]) -> dict[str, Seen]:
    """What was seen in one run, by a key that the same tensor has in another run."""
    calls: dict[tuple[int, int], int] = {}
    found = {}
    for item in seen:
        number = calls[item.place] = calls.get(item.place, -1) + 1
        found["/".join(map(str, (*item.place, number)))] = item
    return found


@contextmanager
def watched(model: Any) -> Iterator[list[Seen]]:
    """Note what the layers of a model give, in the order in which they are done.

    Args:
        model: The model; afterwards it is as it was.

    Yields:
        What was seen, which grows with each call of a layer.
    """
    tree: Any = importlib.import_module("keras").tree
    found: list[Seen] = []
    layers = list(dict.fromkeys(model._flatten_layers()))

    def note(number: int, layer: Any, result: Any) -> None:
        name = str(getattr(layer, "path", None) or layer.name)
        for i, leaf in enumerate(tree.flatten(result)):
            found.append(Seen((number, i), name, leaf))

    wrapped = []
    try:
        for number, layer in enumerate(layers):
            if "call" not in vars(layer):
                object.__setattr__(layer, "call", _noting(number, layer, note))
                wrapped.append(layer)
        yield found
    finally:
        for layer in wrapped:
            object.__delattr__(layer, "call")


def _noting(number: int, layer: Any, note: Callable[[int, Any, Any], None]) -> Any:
    call = layer.call

    @functools.wraps(call)
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        note(number, layer, result)
        return result

    return noting
