"""The variables of a staged loop: tensors go from iteration to iteration, the rest must stay.

Some things show only when the body has run: a symbol that had no value before the loop, a number
that becomes a float, a list that grows. Then the loop is traced again with what was learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.autograph.operators.staging import as_tensor, blank, is_tensor_like, same_python, where
from tfx.autograph.operators.state import State, spoken
from tfx.autograph.operators.symbols import UNDEFINED
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.control_flow.results import spelled
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import nest
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.body_graph import LoopGraph
from tfx.framework.context import current, using
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable


class _LearntError(Exception):
    """The body showed what the initial values must be: trace again."""


class LoopVariables:
    """Symbols as loop variables.

    Args:
        state: The symbols.
        needed: Those that are used after the loop.
        invariants: Pairs of a symbol and the shape that it has in every iteration.

    Attributes:
        needed: Symbols whose value after the loop must come from an iteration.
        initial: The leaves that are tensors, before the loop.
        invariants: Their shapes in all iterations; None: their own.
    """

    def __init__(
        self, state: State, needed: Sequence[str], invariants: Sequence[tuple[str, Any]] | None
    ) -> None:
        self._state = state
        self.needed = frozenset(needed)
        self._shapes = dict(invariants or ())
        self._values = state.read()
        self._undefined = {
            s for s, v in zip(state.symbols, self._values, strict=True) if v is UNDEFINED
        }
        self._leaves: list[list[Any]] = []
        self.initial: list[Any] = []
        self.invariants: list[Any] | None = None

    # Running

    def run(self, attempt: Callable[[], list[Any]], step: Callable[[], None]) -> None:
        """Trace the loop and set the symbols to their values after it.

        Args:
            attempt: Adds the loop to the graph with the variables as they are known now.
            step: Runs one iteration of the user's code.
        """
        state = self._state
        try:
            if self._undefined:
                self._probe(step)
            while True:
                self._prepare()
                try:
                    results = attempt()
                    break
                except _LearntError:
                    state.restore()
        except (TypeError, ValueError):
            state.restore()
            if not self._numbers_are_floats(step):
                raise
            self._prepare()
            results = attempt()
        except BaseException:
            state.restore()
            raise
        state.restore()
        state.write(self._packed(results))

    def _prepare(self) -> None:
        """Take the initial values apart."""
        self._leaves = [nest.flatten(v) for v in self._values]
        self.initial = [as_tensor(x) for x in self._flat_tensors(self._leaves)]
        self.invariants = self._invariants() if self._shapes else None

    def _flat_tensors(self, leaves: list[list[Any]]) -> list[Any]:
        return [x for group in leaves for x in group if is_tensor_like(x)]

    def _packed(self, tensors: Sequence[Any]) -> list[Any]:
        """The symbols' values with these tensors in place of their own."""
        given = iter(tensors)
        return [
            nest.pack_sequence_as(v, [next(given) if is_tensor_like(x) else x for x in group])
            for v, group in zip(self._values, self._leaves, strict=True)
        ]

    def enter(self, tensors: Sequence[Any]) -> None:
        """Set the symbols for an iteration."""
        self._state.write(self._packed(tensors))

    def leave(self) -> list[Any]:
        """What the iteration made of the loop variables."""
        found = self._state.read()
        result = []
        symbols = self._state.symbols
        for i, (symbol, old, new) in enumerate(zip(symbols, self._values, found, strict=True)):
            self._check_structure(i, symbol, old, new)
            for x, y in zip(self._leaves[i], nest.flatten(new), strict=True):
                if is_tensor_like(x):
                    result.append(self._next(symbol, x, y))
                elif not same_python(x, y):
                    raise TypeError(
                        f"{spoken(symbol)} is {_shown(x)} before the loop, but {_shown(y)} after "
                        f"one iteration [{where()}]: a loop of the graph can change tensors, "
                        "numbers and structures of them. Give it a tensor before the loop."
                    )
        return result

    # Checks

    def _check_structure(self, number: int, symbol: str, old: Any, new: Any) -> None:
        if new is UNDEFINED and old is not UNDEFINED:
            raise ValueError(f"{spoken(symbol)} is deleted in a loop of the graph [{where()}].")
        if isinstance(old, list) and isinstance(new, list) and len(new) != len(old):
            # It grows: from now on it is a list of the graph.
            self._values[number] = TensorList.of(old, new)
            raise _LearntError
        try:
            nest.assert_same_structure(old, new)
        except (TypeError, ValueError):
            raise TypeError(
                f"{spoken(symbol)} has the structure {_shown(old)} before the loop, but "
                f"{_shown(new)} after one iteration [{where()}]: it must keep its structure. Use a "
                "tf.TensorArray for what grows, and fixed keys."
            ) from None

    def _next(self, symbol: str, old: Any, new: Any) -> Any:
        if new is None:
            raise ValueError(
                f"{spoken(symbol)} is None after one iteration [{where()}], and was "
                f"{_shown(old)} before: give it a tensor."
            )
        if not is_tensor_like(new):
            raise TypeError(
                f"{spoken(symbol)} is {_shown(old)} before the loop, but {_shown(new)} after one "
                f"iteration [{where()}]: it must stay a tensor."
            )
        before = as_tensor(old)
        after = as_tensor(new, before)
        if isinstance(before, TensorArray) or isinstance(after, TensorArray):
            return after
        if before.dtype is not after.dtype:
            raise TypeError(
                f"{spoken(symbol)} has dtype {before.dtype.name} before the loop, but dtype "
                f"{after.dtype.name} after one iteration [{where()}]: it enters as "
                f"{_shown(old)} and becomes {_shown(new)}. Make them agree with tfx.cast."
            )
        if symbol not in self._shapes and _clashes(before.shape, after.shape):
            raise ValueError(
                f"{spoken(symbol)} has shape {before.shape} before the loop, but shape "
                f"{after.shape} after one iteration [{where()}]. Use "
                "tf.autograph.experimental.set_loop_options to set shape invariants."
            )
        return after

    def _invariants(self) -> list[Any]:
        found: list[Any] = []
        symbols = self._state.symbols
        for symbol, value, group in zip(symbols, self._values, self._leaves, strict=True):
            given = self._shapes.get(symbol)
            specs = [None] * len(group)
            if given is not None:
                plain = isinstance(given, TensorShape | TensorSpec) or not nest.is_nested(value)
                specs = [given] * len(group) if plain else nest.flatten(given)
            for leaf, spec in zip(group, specs, strict=True):
                if is_tensor_like(leaf):
                    found.append(_shape_of(spec))
        return found

    # Learning

    def _probe(self, step: Callable[[], None]) -> None:
        """Run the body once outside of the loop, to see what it gives symbols without a value."""
        found = self._scratch(step)
        for i, symbol in enumerate(self._state.symbols):
            if symbol in self._undefined and found[i] is not UNDEFINED:
                self._values[i] = nest.map_structure(
                    lambda x: blank(as_tensor(x)) if _has_type(x) else x, found[i]
                )
                self._loosen(symbol, found[i])

    def _loosen(self, symbol: str, value: Any) -> None:
        """Let the shape vary where the placeholder's is not that of the real value."""
        if isinstance(value, Tensor) and not value.shape.is_fully_defined():
            known = value.shape
            loose = None if known.rank is None else known.as_list()
            self._shapes.setdefault(symbol, TensorShape(loose))

    def _numbers_are_floats(self, step: Callable[[], None]) -> bool:
        """Whether a Python number became a tensor of another dtype: it enters as that then."""
        numbers = [i for i, v in enumerate(self._values) if type(v) in (int, float)]
        if not numbers:
            return False
        try:
            found = self._scratch(step)
        except (TypeError, ValueError):
            return False
        changed = False
        for i in numbers:
            new = found[i]
            if isinstance(new, SymbolicTensor) and not new.shape.rank:
                dtype = as_tensor(self._values[i]).dtype
                if new.dtype is not dtype and (new.dtype.is_floating or new.dtype.is_integer):
                    self._values[i] = as_tensor(self._values[i], new)
                    changed = changed or isinstance(self._values[i], Tensor)
        return changed

    def _scratch(self, step: Callable[[], None]) -> list[Any]:
        """The symbols after one iteration whose nodes are thrown away."""
        state = self._state
        graph = current().graph
        assert graph is not None
        state.restore()
        try:
            with using(graph=LoopGraph("probe", graph), tapes=()):
                step()
                return state.read()
        finally:
            state.restore()


def _has_type(leaf: Any) -> bool:
    return is_tensor_like(leaf) and not isinstance(leaf, TensorArray)


def _clashes(before: TensorShape, after: TensorShape) -> bool:
    """Whether a shape after an iteration cannot be the one before."""
    if before.rank is None:
        return False
    if after.rank != before.rank:
        return True
    return any(
        b is not None and a != b for b, a in zip(before.as_list(), after.as_list(), strict=True)
    )


def _shape_of(spec: Any) -> TensorShape | None:
    if spec is None or isinstance(spec, TensorShape):
        return spec
    return spec.shape if isinstance(spec, TensorSpec) else TensorShape(spec)


def _shown(value: Any) -> str:
    if nest.is_nested(value):
        return repr(value)
    if value is None or isinstance(value, Tensor | Variable):
        return spelled(value)
    return f"{value!r} of type {type(value).__name__}"
