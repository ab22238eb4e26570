"""The variables of a staged loop: tensors go from iteration to iteration, the rest must stay.

Some things show only when the body has run: a symbol that had no value before the loop, a number
that becomes a float, a list that grows. Then the loop is traced again with what was learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tfx.autograph.operators.assigned import told
from tfx.autograph.operators.leaves import (
    assert_same_structure,
    flatten,
    is_composite,
    map_leaves,
    pack,
)
from tfx.autograph.operators.staging import (
    as_tensor,
    blank,
    is_tensor_like,
    same_python,
    shown,
    where,
)
from tfx.autograph.operators.state import NotLentError, State, is_synthetic, spoken, tracing
from tfx.autograph.operators.symbols import UNDEFINED
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.control_flow.cond import truth
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import nest
from tfx.core.dtypes import string
from tfx.core.shapes import TensorShape
from tfx.core.source import raised_at
from tfx.core.specs import TensorSpec
from tfx.framework.body_graph import LoopGraph
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.composite.type_specs import type_spec_from_value
from tfx.framework.context import current, using
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.debugging.assertions import Assert


class _LearntError(Exception):
    """The body showed what an initial value must be: trace again.

    Args:
        number: Which one.
        make: Makes it, outside of the loop.
    """

    def __init__(self, number: int, make: Callable[[], Any]) -> None:
        super().__init__()
        self.number = number
        self.make = make


class _LooserError(Exception):
    """A shape changes in a loop whose shapes may: trace again with one that covers both.

    Args:
        place: The numbers of the symbol and of the leaf in its value.
        shape: The shape in all iterations.
    """

    def __init__(self, place: tuple[int, int], shape: TensorShape) -> None:
        super().__init__()
        self.place = place
        self.shape = shape


class _PeelError(TypeError):
    """The first iteration changes the kind of a value: it must be traced by itself."""

    def __init__(self, symbol: str, message: str) -> None:
        super().__init__(message)
        self.symbol = symbol


@dataclass(slots=True)
class Start:
    """The start of a loop: its condition, its step, and how to run the first iteration outside.

    Attributes:
        runs: Whether it is known to run at least once.
        going: Computes whether it does.
        step: Runs one iteration of the user's code.
        peel: Runs the first one outside of the loop; None: that is not possible.
    """

    runs: bool
    going: Callable[[], Any]
    step: Callable[[], None]
    peel: Callable[[], None] | None


class LoopVariables:
    """Symbols as loop variables.

    Args:
        state: The symbols.
        needed: Those that are used after the loop.
        invariants: Pairs of a symbol and the shape that it has in every iteration.
        block: The body.
        given: Values that symbols without one have if there is no iteration.
        loosens: Whether shapes that change are left open, as in a loop over a dataset.

    Attributes:
        needed: Symbols whose value after the loop must come from an iteration.
        initial: The leaves that are tensors, before the loop.
        invariants: Their shapes in all iterations; None: their own.
    """

    def __init__(
        self,
        state: State,
        needed: Sequence[str],
        invariants: Sequence[tuple[str, Any]] | None,
        block: Callable[..., None],
        given: Mapping[str, Any] | None = None,
        *,
        loosens: bool = False,
    ) -> None:
        self._state = state
        self._given = given or {}
        self._loosens = loosens
        self._loosened: dict[tuple[int, int], TensorShape] = {}
        self.needed = frozenset(needed)
        self._block = block
        self._shapes = dict(invariants or ())
        self._values = state.read()
        self._undefined: set[str] = set()
        self._find_undefined()
        self._leaves: list[list[Any]] = []
        self.initial: list[Any] = []
        self.invariants: list[Any] | None = None

    # Running

    def run(self, attempt: Callable[[], list[Any]], start: Start) -> None:
        """Trace the loop and set the symbols to their values after it.

        Args:
            attempt: Adds the loop to the graph with the variables as they are known now.
            start: How the loop begins.
        """
        state = self._state
        before = state.snapshot()
        try:
            while True:
                try:
                    results = self._peeled(attempt, start)
                    break
                except Exception:
                    leaking = state.leaking()
                    if not leaking:
                        raise
                    state.take_back(leaking)
                    self._values = state.read()
                    self._find_undefined()
            state.restore()
        except BaseException as e:
            state.reset(before)
            state.rewind()
            if isinstance(e, _PeelError):
                raise TypeError(str(e)) from None
            raise
        del before  # the state counts who refers to a list
        state.finish(self._packed(results))

    def _peeled(self, attempt: Callable[[], list[Any]], start: Start) -> list[Any]:
        """The results of the loop, its first iteration traced by itself if that must be."""
        try:
            return self._attempts(attempt, start)
        except _PeelError as e:
            self._state.rewind()
            self._peel(e, start)
            return self._attempts(attempt, start)

    def _attempts(self, attempt: Callable[[], list[Any]], start: Start) -> list[Any]:
        state = self._state
        try:
            if self._undefined:
                self._probe(start)
            while True:
                self._prepare()
                try:
                    return attempt()
                except _LearntError as e:
                    state.rewind()
                    self._values[e.number] = e.make()
                    self._loosened.clear()  # the places may be others
                except _LooserError as e:
                    state.rewind()
                    self._loosened[e.place] = e.shape
        except (TypeError, ValueError) as e:
            if isinstance(e, _PeelError) or state.leaking():
                raise
            state.rewind()
            if not self._numbers_are_floats(start.step):
                raise
            self._prepare()
            return attempt()

    def _peel(self, error: _PeelError, start: Start) -> None:
        """Run the first iteration by itself: the loop begins with what it leaves."""
        if start.peel is None or not (start.runs or error.symbol in self.needed):
            raise TypeError(str(error)) from None
        if not start.runs:
            self._assert_runs([error.symbol], start)
        start.runs = True
        start.peel()
        self._loosened.clear()
        state = self._state
        state.reset(state.snapshot())
        self._values = state.read()
        self._find_undefined()

    def _find_undefined(self) -> None:
        self._undefined = {
            s for s, v in zip(self._state.symbols, self._values, strict=True) if v is UNDEFINED
        }

    def _assert_runs(self, symbols: Sequence[str], start: Start) -> None:
        """Assert at run time that there is an iteration, which gives these symbols their values."""
        names = ", ".join(symbols)
        Assert(
            truth(start.going(), "The loop condition"),
            [f"loop must iterate at least once to initialize {names} [{where()}]"],
        )

    def _prepare(self) -> None:
        """Take the initial values apart."""
        self._leaves = [flatten(v) for v in self._values]
        self._loose = [_loose_shapes(v) for v in self._values]
        for (symbol, leaf), shape in self._loosened.items():
            self._loose[symbol][leaf] = shape
        self.initial = [as_tensor(x) for x in self._flat_tensors(self._leaves)]
        found = self._invariants()
        self.invariants = None if all(x is None for x in found) else found

    def _flat_tensors(self, leaves: list[list[Any]]) -> list[Any]:
        return [x for group in leaves for x in group if is_tensor_like(x)]

    def _packed(self, tensors: Sequence[Any]) -> list[Any]:
        """The symbols' values with these tensors in place of their own."""
        given = iter(tensors)
        return [
            pack(v, [next(given) if is_tensor_like(x) else x for x in group])
            for v, group in zip(self._values, self._leaves, strict=True)
        ]

    def enter(self, tensors: Sequence[Any]) -> None:
        """Set the symbols for an iteration."""
        self._state.write(self._packed(tensors))

    def leave(self) -> list[Any]:
        """Return the loop variables after an iteration."""
        found = self._state.read()
        result = []
        symbols = self._state.symbols
        for i, (symbol, old, new) in enumerate(zip(symbols, self._values, found, strict=True)):
            new = self._as_list(i, old, new)
            self._check_structure(symbol, old, new)
            for j, (x, y) in enumerate(zip(self._leaves[i], flatten(new), strict=True)):
                if is_tensor_like(x):
                    result.append(self._next(symbol, x, y, (i, j)))
                elif not same_python(x, y):
                    self._differs(i, symbol, x, y)
        return result

    def _differs(self, number: int, symbol: str, old: Any, new: Any) -> NoReturn:
        """A leaf that is no tensor is another one after an iteration."""
        text = isinstance(old, str | bytes)
        if text and (isinstance(new, str | bytes) or _is_text(new)):
            value = self._values[number]
            raise _LearntError(number, lambda: map_leaves(_text_as_tensor, value))
        message = (
            f"{spoken(symbol)} is {shown(old)} before the loop, but {self._told(symbol, new)} "
            "after one "
            f"iteration [{where()}]: a loop of the graph can change tensors, numbers, strings and "
            "structures of them. Give it a tensor before the loop, or keep it as it is."
        )
        if old is None and (is_tensor_like(new) or isinstance(new, str)):
            raise _PeelError(symbol, message)
        raise TypeError(message)

    # Checks

    def _told(self, symbol: str, new: Any) -> str:
        """Describe a symbol's value after an iteration, for messages."""
        return told(new, symbol, self._block)

    def _as_list(self, number: int, old: Any, new: Any) -> Any:
        """A Python list that grows or shrinks is a list of the graph from now on."""
        if isinstance(old, TensorList):
            if isinstance(new, list):
                new = TensorList.of(new, new, old)
            if isinstance(new, TensorList) and new.shrinks and not old.shrinks:
                raise _LearntError(number, old.shrinking)
        elif isinstance(old, list) and (
            isinstance(new, TensorList) or (isinstance(new, list) and len(new) != len(old))
        ):
            if isinstance(new, TensorList):
                raise _LearntError(number, lambda: TensorList.of(old, old, new))
            raise _LearntError(number, lambda: TensorList.of(old, new))
        return new

    def _check_structure(self, symbol: str, old: Any, new: Any) -> None:
        if new is UNDEFINED and old is not UNDEFINED:
            raise ValueError(
                f"{spoken(symbol)} is deleted in a loop of the graph [{where()}]: it is "
                f"{shown(old)} before the loop, and undefined after one iteration."
            )
        try:
            assert_same_structure(old, new)
        except (TypeError, ValueError):
            if new is None:
                self._says_none(symbol, old)
            message = (
                f"{spoken(symbol)} has the structure {shown(old)} before the loop, but "
                f"{self._told(symbol, new)} after one iteration [{where()}]: it must keep its "
                "structure. Give "
                "it all its keys before the loop; what grows can be a list that is appended to, "
                "or a tf.TensorArray."
            )
            if old is None or (isinstance(old, dict) and isinstance(new, dict)):
                raise _PeelError(symbol, message) from None
            raise TypeError(message) from None

    def _says_none(self, symbol: str, old: Any) -> NoReturn:
        raise ValueError(
            f"{spoken(symbol)} is None at the end of the iteration [{where()}], and {shown(old)} "
            f"before the loop; it becomes {self._told(symbol, None)}. None is no tensor. Give it "
            "a tensor in each iteration, and a flag "
            "beside it if it may be missing."
        )

    def _next(self, symbol: str, old: Any, new: Any, place: tuple[int, int]) -> Any:
        if new is None:
            self._says_none(symbol, old)
        if not is_tensor_like(new) and not isinstance(new, str | bytes):
            raise TypeError(
                f"{spoken(symbol)} is {shown(old)} before the loop, but "
                f"{self._told(symbol, new)} after one "
                f"iteration [{where()}]: it must stay a tensor."
            )
        before = as_tensor(old)
        after = as_tensor(new, before)
        if isinstance(before, TensorArray) != isinstance(after, TensorArray):
            raise TypeError(
                f"{spoken(symbol)} is {shown(old)} before the loop, but "
                f"{self._told(symbol, new)} after one "
                f"iteration [{where()}]: it must stay what it is."
            )
        if isinstance(before, TensorArray) and before.dtype is after.dtype:
            return after
        if before.dtype is not after.dtype:
            raise TypeError(
                f"{spoken(symbol)} has dtype {before.dtype.name} before the loop, but dtype "
                f"{after.dtype.name} after one iteration [{where()}]: it enters as "
                f"{shown(old)} and becomes {self._told(symbol, new)}. Make them agree with "
                "tfx.cast."
            )
        loose = self._loose[place[0]][place[1]]
        shape = before.shape if loose is None else loose
        if symbol not in self._shapes and _clashes(shape, after.shape):
            if self._loosens:
                raise _LooserError(place, shape.most_specific_compatible_shape(after.shape))
            raise ValueError(
                f"{spoken(symbol)} has shape {before.shape} before the loop, but shape "
                f"{after.shape} after one iteration [{where()}]: it enters as {shown(old)} and "
                f"becomes {self._told(symbol, new)}. Use "
                "tf.autograph.experimental.set_loop_options to set "
                f"shape invariants, such as shape_invariants=[({symbol}, tf.TensorShape("
                f"{_relaxed(before.shape, after.shape)}))]."
            )
        return after

    def _invariants(self) -> list[Any]:
        found: list[Any] = []
        symbols = self._state.symbols
        for i, (symbol, value) in enumerate(zip(symbols, self._values, strict=True)):
            given, group = self._shapes.get(symbol), self._leaves[i]
            specs: list[Any] = self._loose[i]
            if given is not None:
                plain = isinstance(given, TensorShape | TensorSpec) or not nest.is_nested(value)
                specs = (
                    [given] * len(group) if plain and not is_composite(given) else flatten(given)
                )
            for leaf, spec in zip(group, specs, strict=True):
                if is_tensor_like(leaf):
                    found.append(_shape_of(spec))
        return found

    # Learning

    def _probe(self, start: Start) -> None:
        """Run the body once outside of the loop, to see what it gives symbols without a value."""
        try:
            found = self._scratch(start.step)
        except NameError as e:
            if e.name not in self._undefined:
                raise
            raise ValueError(
                f"{spoken(str(e.name))} must be defined before the loop [{where()}]: it is read "
                f"[{raised_at(e).text()}] before it gets a value in the iteration, and a loop of "
                "the graph needs the one of the iteration before. Give it a value before the loop."
            ) from e
        absent = []
        for i, symbol in enumerate(self._state.symbols):
            if symbol in self._undefined and found[i] is not UNDEFINED:
                self._values[i] = map_leaves(
                    lambda x: blank(as_tensor(x)) if _has_type(x) else x, found[i]
                )
                self._loosen(symbol, found[i])
                first = self._given.get(symbol)
                if first is not None and getattr(found[i], "dtype", None) is first.dtype:
                    self._values[i] = first
                elif symbol in self.needed and not is_synthetic(symbol):
                    absent.append(symbol)
        if absent and not start.runs:
            self._assert_runs(absent, start)

    def _loosen(self, symbol: str, value: Any) -> None:
        """Let the shape vary where the placeholder's is not that of the real value."""
        if isinstance(value, Tensor) and not value.shape.is_fully_defined():
            known = value.shape
            loose = None if known.rank is None else known.as_list()
            self._shapes.setdefault(symbol, TensorShape(loose))

    def _numbers_are_floats(self, step: Callable[[], None]) -> bool:
        """True if a Python number became a tensor of another dtype: it enters as that then."""
        numbers = [i for i, v in enumerate(self._values) if type(v) in (int, float)]
        if not numbers:
            return False
        try:
            found = self._scratch(step)
        except NotLentError:
            raise
        except Exception:
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
        state.rewind()
        try:
            with using(graph=LoopGraph("probe", graph), tapes=()), tracing(state):
                step()
                return state.read()
        except Exception:
            if state.leaking():
                raise NotLentError from None
            raise
        finally:
            if not state.leaking():
                state.rewind()


def _has_type(leaf: Any) -> bool:
    return is_tensor_like(leaf) and not isinstance(leaf, TensorArray)


def _clashes(before: TensorShape, after: TensorShape) -> bool:
    """True if a shape after an iteration cannot be the one before."""
    if before.rank is None:
        return False
    if after.rank != before.rank:
        return True
    return any(
        b is not None and a != b for b, a in zip(before.as_list(), after.as_list(), strict=True)
    )


def _loose_shapes(value: Any) -> list[TensorShape | None]:
    """The shapes of leaves that may vary: how many values a ragged or sparse tensor has."""
    found: list[TensorShape | None] = []
    for leaf in nest.flatten(value):
        if not is_composite(leaf) or isinstance(leaf, IndexedSlices):
            found += [None] * len(flatten(leaf))
            continue
        specs = flatten(type_spec_from_value(leaf))
        found += [
            spec.shape if isinstance(spec, TensorSpec) and spec.shape != part.shape else None
            for spec, part in zip(specs, flatten(leaf), strict=True)
        ]
    return found


def _shape_of(spec: Any) -> TensorShape | None:
    if spec is None or isinstance(spec, TensorShape):
        return spec
    return spec.shape if isinstance(spec, TensorSpec) else TensorShape(spec)


def _relaxed(before: TensorShape, after: TensorShape) -> str:
    """Return the most specific shape that is compatible with both, as source text."""
    common = before.most_specific_compatible_shape(after)
    return "None" if common.rank is None else repr(common.as_list())


def _text_as_tensor(leaf: Any) -> Any:
    return as_tensor(leaf) if isinstance(leaf, str | bytes) else leaf


def _is_text(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype is string
