"""Results common to both branches: pairs of values, joined to one result of the outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow.tensor_array_state import ArrayState
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import using
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Value


class Joined:
    """A leaf of both branches' results.

    Attributes:
        pairs: The outputs of the two branches that carry it.
        rebuild: From the outputs of the ``If`` to the leaf.
    """

    def __init__(
        self, pairs: Sequence[tuple[Value, Value]], rebuild: Callable[[list[Tensor]], Any]
    ) -> None:
        self.pairs = pairs
        self.rebuild = rebuild


def join(a: Any, b: Any, bodies: Sequence[BodyGraph]) -> Joined:
    """Pair the two branches' leaves: tensors of the bodies, tensor arrays or None."""
    if a is None:
        return Joined((), lambda _: None)
    if isinstance(a, ArrayState):
        return _join_arrays(a, b, bodies)
    return Joined(((a._symbol, b._symbol),), lambda outputs: outputs[0])


def _join_arrays(a: ArrayState, b: ArrayState, bodies: Sequence[BodyGraph]) -> Joined:
    """Element by element where both have the same elements, else as sequences."""
    if a is b and a.parts() is not None:
        return Joined((), lambda _: a)
    first, second = a.parts(), b.parts()
    if first is None or second is None or [x is None for x in first] != [x is None for x in second]:
        first, second = [], []
        for array, body, into in ((a, bodies[0], first), (b, bodies[1], second)):
            with using(graph=body, tapes=()):
                into.append(array.as_sequence())
        return Joined(
            _pairs(first, second, bodies), lambda outputs: a.merged(b).with_sequence(outputs[0])
        )
    present = [x is not None for x in first]

    def rebuild(outputs: list[Tensor]) -> ArrayState:
        given = iter(outputs)
        return a.merged(b).with_items([next(given) if p else None for p in present])

    return Joined(_pairs(first, second, bodies), rebuild)


def _pairs(
    first: Sequence[Tensor | None], second: Sequence[Tensor | None], bodies: Sequence[BodyGraph]
) -> list[tuple[Value, Value]]:
    return [
        (bodies[0].value_of(x), bodies[1].value_of(y))
        for x, y in zip(first, second, strict=True)
        if x is not None and y is not None
    ]
