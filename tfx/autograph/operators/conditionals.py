"""``if`` and ternaries: Python's where the condition is a value, an ``If`` where it is a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.autograph.operators.staging import (
    as_tensor,
    blank,
    is_staged,
    is_tensor_like,
    same_python,
    where,
)
from tfx.autograph.operators.state import State, is_synthetic, spoken
from tfx.autograph.operators.symbols import UNDEFINED, as_unbound_local
from tfx.control_flow.branches import Branching, truth
from tfx.control_flow.results import own, spelled, trace
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import nest
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import current, using
from tfx.framework.tensor import Tensor

_BRANCHES = ("main", "else")


def if_stmt(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    getter: Callable[[], tuple[Any, ...]],
    setter: Callable[[Sequence[Any]], None],
    symbols: tuple[str, ...],
    needed: tuple[str, ...],
) -> None:
    """``if test: ... else: ...``.

    Args:
        test: The condition.
        then: The block that runs if it is true.
        orelse: The other block.
        getter: Reads the symbols that the blocks change.
        setter: Sets them.
        symbols: Their names.
        needed: Those that are used afterwards.

    Raises:
        ValueError: a symbol has a value in one branch only.
        TypeError: its values in the two branches cannot be one tensor.
    """
    if is_staged(test):
        _staged_if(test, then, orelse, State(getter, setter, symbols), needed)
        return
    try:
        if test:
            then()
        else:
            orelse()
    except NameError as e:
        raise as_unbound_local(e) from None


def _staged_if(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    state: State,
    needed: Sequence[str],
) -> None:
    staged = _StagedIf(test, "if")
    found = []
    for number, block in enumerate((then, orelse)):
        state.restore()
        try:
            found.append(staged.trace(number, block, state.read))
        except BaseException:
            state.restore()
            raise
    state.restore()
    chosen = [i for i, symbol in enumerate(state.symbols) if symbol in needed]
    merged = staged.merge(needed, *([values[i] for i in chosen] for values in found))
    after: list[Any] = [UNDEFINED] * len(state.symbols)  # what nobody looks at is gone
    for i, value in zip(chosen, merged, strict=True):
        after[i] = value
    state.write(after)


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], text: str) -> Any:
    """``then if test else orelse``.

    Args:
        test: The condition.
        then: Computes the value if it is true.
        orelse: Computes the other value.
        text: The expression, for messages.
    """
    if is_staged(test):
        return choose(test, then, orelse, text)
    try:
        return then() if test else orelse()
    except NameError as e:
        raise as_unbound_local(e) from None


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], text: str) -> Any:
    """One of two values, computed only if it is chosen.

    Args:
        test: A tensor.
        then: Computes the value if it is true.
        orelse: Computes the other value.
        text: The expression, for messages.
    """
    staged = _StagedIf(test, "if_exp")
    values = [staged.trace(i, None, lambda f=f: [f()]) for i, f in enumerate((then, orelse))]  # type: ignore[misc]
    return staged.merge((text,), *values)[0]


class _StagedIf:
    """An ``If`` made of two traced blocks."""

    def __init__(self, test: Any, name: str) -> None:
        graph = current().graph
        assert graph is not None
        self._branching = Branching(graph, truth(test, "The condition"), name, _BRANCHES, "if")
        self._bodies: list[BodyGraph] = self._branching._bodies

    def trace(
        self, number: int, block: Callable[[], None] | None, results: Callable[[], list[Any]]
    ) -> list[Any]:
        """Run a block into a branch; what the symbols are afterwards, as tensors of the branch."""

        def run() -> list[Any]:
            if block is not None:
                block()
            return results()

        return list(trace(self._bodies[number], run))

    def merge(self, symbols: Sequence[str], first: list[Any], second: list[Any]) -> list[Any]:
        """One value for each symbol: of Python where both branches have it, else of the graph."""
        pairs: list[tuple[Any, Any]] = []
        shapes = [
            self._merged(symbol, a, b, pairs)
            for symbol, a, b in zip(symbols, first, second, strict=True)
        ]
        ours = [[pair[i] for pair in pairs] for i in range(2)]
        outputs = iter(self._branching.add(lambda: ours[0], lambda: ours[1]))
        return [_filled(shape, outputs) for shape in shapes]

    def _merged(self, symbol: str, a: Any, b: Any, pairs: list[tuple[Any, Any]]) -> Any:
        """A structure with ``_Slot`` where outputs of the node go."""
        if a is UNDEFINED and b is UNDEFINED:
            return UNDEFINED
        if a is UNDEFINED or b is UNDEFINED:
            number = 0 if a is UNDEFINED else 1
            if not is_synthetic(symbol):
                raise ValueError(
                    f"{spoken(symbol)} must also be initialized in the {_BRANCHES[number]} branch "
                    f"[{where()}]: it is used afterwards. Give it a value before the `if`, or in "
                    "both branches."
                )
            # Nobody looks at it: a flag tells that the function did not return here.
            given = b if a is UNDEFINED else a
            other = nest.map_structure(lambda x: self._blank(number, x), given)
            a, b = (other, given) if a is UNDEFINED else (given, other)
        if same_python(a, b):
            return a
        self._check_structure(symbol, a, b)
        leaves = [
            self._leaf(symbol, x, y, pairs)
            for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True)
        ]
        return nest.pack_sequence_as(a, leaves)

    def _blank(self, number: int, leaf: Any) -> Any:
        """Something of the same type, made in the branch that has no value."""
        if not isinstance(leaf, Tensor):
            return leaf
        with using(graph=self._bodies[number], tapes=()):
            return blank(leaf)

    def _check_structure(self, symbol: str, a: Any, b: Any) -> None:
        try:
            nest.assert_same_structure(a, b)
        except (TypeError, ValueError):
            if symbol == "ag_return_value" and (a is None or b is None):
                self._none(symbol, a)
            raise TypeError(
                f"{spoken(symbol)} must have the same structure in both branches [{where()}]: it "
                f"is {_shown(a)} in the main branch, and {_shown(b)} in the else branch."
            ) from None

    def _none(self, symbol: str, a: Any) -> None:
        name = _BRANCHES[0 if a is None else 1]
        if symbol == "ag_return_value":
            raise ValueError(
                f"the {name} branch must also have a return statement with a value [{where()}]: "
                "both branches of an `if` on a tensor are part of the graph, and None is no tensor."
            )
        raise ValueError(
            f"{spoken(symbol)} is None at the end of the {name} branch [{where()}], and a tensor "
            "at the end of the other: give it a tensor in both."
        )

    def _leaf(self, symbol: str, a: Any, b: Any, pairs: list[tuple[Any, Any]]) -> Any:
        if same_python(a, b) and not isinstance(a, Tensor):
            return a
        if a is None or b is None:
            self._none(symbol, a)
        for number, leaf in enumerate((a, b)):
            if not is_tensor_like(leaf) and not isinstance(leaf, str | bytes):
                raise TypeError(
                    f"{spoken(symbol)} is {_shown(leaf)} in the {_BRANCHES[number]} branch "
                    f"[{where()}]: an `if` on a tensor can choose between tensors, numbers and "
                    "structures of them."
                )
        tensors = []
        for body, leaf, like in zip(self._bodies, (a, b), (b, a), strict=True):
            with using(graph=body, tapes=()):
                tensors.append(own(body, as_tensor(leaf, like)))
        x, y = tensors
        if isinstance(x, TensorArray) != isinstance(y, TensorArray) or x.dtype is not y.dtype:
            raise TypeError(
                f"{spoken(symbol)} has dtype {_dtype(x)} in the main branch, but dtype {_dtype(y)} "
                f"in the else branch [{where()}]: it is {_shown(a)} and {_shown(b)}. Make them "
                "agree with tfx.cast."
            )
        pairs.append((x, y))
        return _Slot()


class _Slot:
    """Place of an output."""


def _filled(shape: Any, outputs: Any) -> Any:
    if shape is UNDEFINED:
        return shape
    return nest.map_structure(lambda x: next(outputs) if isinstance(x, _Slot) else x, shape)


def _dtype(x: Any) -> str:
    return "TensorArray" if isinstance(x, TensorArray) else str(x.dtype.name)


def _shown(value: Any) -> str:
    """A value for messages."""
    if nest.is_nested(value):
        leaves = [_Text(_shown(x)) for x in nest.flatten(value)]
        return repr(nest.pack_sequence_as(value, leaves))
    if value is None or isinstance(value, Tensor):
        return spelled(value)
    return f"{value!r} of type {type(value).__name__}"


class _Text(str):
    """Text that shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
