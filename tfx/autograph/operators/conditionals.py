"""``if`` and ternaries: Python's where the condition is a value, an ``If`` where it is a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tfx.autograph.operators.assigned import told
from tfx.autograph.operators.leaves import assert_same_structure, flatten, map_leaves, pack
from tfx.autograph.operators.staging import (
    as_tensor,
    blank,
    is_staged,
    is_tensor_like,
    same_python,
    shown,
    where,
)
from tfx.autograph.operators.state import State, is_synthetic, spoken, tracing
from tfx.autograph.operators.symbols import UNDEFINED, as_unbound_local
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.control_flow.cond import Branching, truth
from tfx.control_flow.structured_results import own, trace
from tfx.control_flow.tensor_array import TensorArray
from tfx.core.dims import is_static
from tfx.core.dtypes import bool as bool_
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import Node
from tfx.graph.traits import traits
from tfx.ops.math.comparison import logical_and, logical_or

_BRANCHES = ("main", "else")
# Limits of speculative computation: the number of operations, and of results of each.
_FEW = 16


def if_stmt(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    getter: Callable[[], tuple[Any, ...]],
    setter: Callable[[Sequence[Any]], None],
    symbols: tuple[str, ...],
    needed: tuple[str, ...],
    changed: tuple[str, ...],
    hidden: tuple[str, ...],
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
        changed: Those whose object the blocks only change in place.
        hidden: Those that only nested functions assign.

    Raises:
        ValueError: a symbol has a value in one branch only.
        TypeError: its values in the two branches cannot be one tensor.
    """
    if isinstance(test, TensorList):
        test = test.count > 0
    if is_staged(test):
        state = State(getter, setter, symbols, changed, hidden)
        _staged_if(test, then, orelse, state, needed)
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
    while True:
        staged = _StagedIf(test, "if")
        found = []
        try:
            for number, block in enumerate((then, orelse)):
                state.restore()
                found.append(staged.trace(number, block, state.read, state))
            break
        except BaseException as e:
            leaking = state.leaking() if isinstance(e, Exception) else []
            state.take_back(leaking)
            if not leaking:
                raise
    state.restore()
    chosen = [i for i, symbol in enumerate(state.symbols) if symbol in needed]
    lists = {state.symbols[i] for i in chosen if isinstance(state.before[i], list)}
    first, second = ([values[i] for i in chosen] for values in found)
    merged = staged.merge(needed, first, second, lists)
    after: list[Any] = [UNDEFINED] * len(state.symbols)  # what nobody looks at is gone
    for i, value in zip(chosen, merged, strict=True):
        after[i] = value
    state.finish(after)


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], text: str) -> Any:
    """``then if test else orelse``.

    Args:
        test: The condition.
        then: Computes the value if it is true.
        orelse: Computes the other value.
        text: The expression, for messages.
    """
    if isinstance(test, TensorList):
        test = test.count > 0
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


def both(test: Any, rest: Callable[[], Any], text: str) -> Any:
    """``test and rest()``; ``rest`` is left out at run time only where it costs something."""
    return _logical(test, rest, text, 0)


def either(test: Any, rest: Callable[[], Any], text: str) -> Any:
    """``test or rest()``; ``rest`` is left out at run time only where it costs something."""
    return _logical(test, rest, text, 1)


def _logical(test: Any, rest: Callable[[], Any], text: str, number: int) -> Any:
    staged = _StagedIf(test, "if_exp")
    traced = staged.trace(number, None, lambda: [rest()])
    moved = staged.moved(number, traced[0])
    if moved is None:
        first, second = ([True], traced) if number else (traced, [False])
        return staged.merge((text,), first, second)[0]
    return (logical_or if number else logical_and)(staged.pred, moved)


class _StagedIf:
    """An ``If`` made of two traced blocks."""

    def __init__(self, test: Any, name: str) -> None:
        graph = current().graph
        assert graph is not None
        self._graph = graph
        self.pred = truth(test, "The condition")
        self._branching = Branching(graph, self.pred, name, _BRANCHES, "if")
        self._bodies: list[BodyGraph] = self._branching._bodies
        # The branches as functions, where they are blocks.
        self._blocks: list[Callable[[], None] | None] = [None, None]
        self._lists: Collection[str] = ()

    def trace(
        self,
        number: int,
        block: Callable[[], None] | None,
        results: Callable[[], list[Any]],
        state: State | None = None,
    ) -> list[Any]:
        """Run a block into a branch; what the symbols are afterwards, as tensors of the branch."""

        def run() -> list[Any]:
            self._blocks[number] = block
            with tracing(state):
                if block is not None:
                    block()
                return results()

        return list(trace(self._bodies[number], run))

    def moved(self, number: int, value: Any) -> Tensor | None:
        """A truth value of a branch, computed outside of it; None if that may fail, or is slow."""
        body = self._bodies[number]
        if isinstance(value, bool):
            return None if body.graph.nodes else convert_to_tensor(value)
        if not isinstance(value, SymbolicTensor) or value.dtype is not bool_ or value.shape.rank:
            return None
        nodes = body.graph.nodes
        if len(nodes) > _FEW or not all(map(_is_cheap, nodes)) or body.created_variables:
            return None
        if next(iter(body.written_states()), None) is not None or value.shape.rank is None:
            return None
        self._graph.graph.nodes.extend(nodes)
        if value._graph is body:
            return SymbolicTensor(value._symbol, self._graph)
        return value

    def merge(
        self,
        symbols: Sequence[str],
        first: list[Any],
        second: list[Any],
        lists: Collection[str] = (),
    ) -> list[Any]:
        """One value for each symbol: of Python where both branches have it, else of the graph.

        Args:
            symbols: Their names.
            first: Their values at the end of the first branch.
            second: And of the second.
            lists: Symbols that were lists before: they may get longer in a branch.
        """
        self._lists = lists
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
                    f"of the `if` on a tensor [{where()}]: it is used afterwards, and it is "
                    f"{self._told(symbol, a, b, 1 - number)} in the {_BRANCHES[1 - number]} "
                    "branch, "
                    f"but undefined in the {_BRANCHES[number]} branch. Give it a value before the "
                    "`if`, or in both branches."
                )
            # Nobody looks at it: a flag tells that the function did not return here.
            given = b if a is UNDEFINED else a
            other = map_leaves(lambda x: self._blank(number, x), given)
            a, b = (other, given) if a is UNDEFINED else (given, other)
        if same_python(a, b):
            return a
        a, b = self._as_lists(a, b, symbol in self._lists)
        self._check_structure(symbol, a, b)
        leaves = [
            self._leaf(symbol, x, y, pairs) for x, y in zip(flatten(a), flatten(b), strict=True)
        ]
        return pack(a, leaves)

    def _told(self, symbol: str, a: Any, b: Any, number: int) -> str:
        """The symbol at the end of a branch, for messages."""
        return told((a, b)[number], symbol, self._blocks[number])

    def _blank(self, number: int, leaf: Any) -> Any:
        """Return a placeholder of the same type, made in the branch that has no value."""
        if not isinstance(leaf, Tensor):
            return leaf
        with using(graph=self._bodies[number], tapes=()):
            return blank(leaf)

    def _check_structure(self, symbol: str, a: Any, b: Any) -> None:
        try:
            assert_same_structure(a, b)
        except (TypeError, ValueError):
            if a is None or b is None:
                self._none(symbol, a, b)
            raise TypeError(
                f"{spoken(symbol)} must have the same structure in both branches of the `if` on a "
                f"tensor [{where()}]: it is {self._told(symbol, a, b, 0)} in the main branch, and "
                f"{self._told(symbol, a, b, 1)} in the else branch. Give it the same keys, "
                "length and classes in both; what differs in "
                "length can be one tensor."
            ) from None

    def _as_lists(self, a: Any, b: Any, grows: bool) -> tuple[Any, Any]:
        """A list that grew in one branch is a list of the graph in both."""
        if grows and isinstance(a, list) and isinstance(b, list) and len(a) != len(b):
            a = self._as_list(0, a, TensorList.of((), [*a, *b]))
        if isinstance(a, TensorList) and isinstance(b, list):
            return a, self._as_list(1, b, a)
        if isinstance(b, TensorList) and isinstance(a, list):
            return self._as_list(0, a, b), b
        if isinstance(a, TensorList) and isinstance(b, TensorList) and a.shrinks != b.shrinks:
            return a.shrinking(), b.shrinking()
        return a, b

    def _as_list(self, number: int, elements: list[Any], like: TensorList) -> TensorList:
        with using(graph=self._bodies[number], tapes=()):
            return TensorList.of(elements, elements, like)

    def _none(self, symbol: str, a: Any, b: Any) -> None:
        name, other = _BRANCHES if a is None else _BRANCHES[::-1]
        if symbol == "ag_return_value":
            raise ValueError(
                f"the {name} branch must also have a return statement with a value: both branches "
                f"of an `if` on a tensor [{where()}] are part of the graph, and None is no tensor. "
                f"The {other} branch returns {self._told(symbol, a, b, _BRANCHES.index(other))}."
            )
        raise ValueError(
            f"{spoken(symbol)} is None at the end of the {name} branch of the `if` on a tensor "
            f"[{where()}], and {self._told(symbol, a, b, _BRANCHES.index(other))} at the end of "
            "the "
            f"{other} branch; it is {self._told(symbol, a, b, _BRANCHES.index(name))} in the "
            f"{name} "
            "branch. None is no tensor. Give it a tensor in both branches, such as a default value."
        )

    def _leaf(self, symbol: str, a: Any, b: Any, pairs: list[tuple[Any, Any]]) -> Any:
        if same_python(a, b) and not isinstance(a, Tensor):
            return a
        if a is None or b is None:
            self._none(symbol, a, b)
        for leaf in (a, b):
            if not is_tensor_like(leaf) and not isinstance(leaf, str | bytes):
                raise TypeError(
                    f"{spoken(symbol)} is {self._told(symbol, a, b, 0)} in the main branch, and "
                    f"{self._told(symbol, a, b, 1)} in the else branch [{where()}]: an `if` on a "
                    "tensor can choose between tensors, "
                    f"numbers, strings and structures of them, and {shown(leaf)} is none. Keep "
                    "one object, and let tensors in it differ."
                )
        tensors = []
        for body, leaf, like in zip(self._bodies, (a, b), (b, a), strict=True):
            with using(graph=body, tapes=()):
                tensors.append(own(body, as_tensor(leaf, like)))
        x, y = tensors
        if isinstance(x, TensorArray) != isinstance(y, TensorArray) or x.dtype is not y.dtype:
            raise TypeError(
                f"{spoken(symbol)} has dtype {_dtype(x)} in the main branch, but dtype {_dtype(y)} "
                f"in the else branch of the `if` on a tensor [{where()}]: it is "
                f"{self._told(symbol, a, b, 0)} in the main branch, and "
                f"{self._told(symbol, a, b, 1)} in the else branch. Make them agree with tfx.cast."
            )
        pairs.append((x, y))
        return _Slot()


def _is_cheap(node: Node) -> bool:
    """True if an operation cannot fail, and has only a few results."""
    if not traits(node.op).speculative or node.tag is not None or node.device is not None:
        return False
    shape = node.outputs[0].shape
    return is_static(shape) and math.prod(shape) <= _FEW


class _Slot:
    """Place of an output."""


def _filled(shape: Any, outputs: Any) -> Any:
    if shape is UNDEFINED:
        return shape
    return map_leaves(lambda x: next(outputs) if isinstance(x, _Slot) else x, shape)


def _dtype(x: Any) -> str:
    return "TensorArray" if isinstance(x, TensorArray) else str(x.dtype.name)
