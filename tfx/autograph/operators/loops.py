"""``while`` and ``for``: Python's loops over values, a ``Loop`` where a tensor decides.

A loop that begins with Python values goes into the graph from the iteration on in which its
condition is a tensor. What the loop changes becomes loop variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from tfx.autograph.operators.conditionals import if_stmt
from tfx.autograph.operators.iteration import Counted, Elements, counted, elements_of
from tfx.autograph.operators.loop_variables import LoopVariables, Start
from tfx.autograph.operators.staging import is_staged, where
from tfx.autograph.operators.state import State, tracing
from tfx.autograph.operators.symbols import as_unbound_local
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.control_flow.cond import cond
from tfx.control_flow.while_loop import WhileLoop
from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.ops.math.comparison import logical_and

Getter: TypeAlias = Callable[[], tuple[Any, ...]]
Setter: TypeAlias = Callable[[Sequence[Any]], None]
Options: TypeAlias = Callable[[], dict[str, Any]] | None
# Branches of a Python iterator that a tensor ends, before it is considered infinite.
_MOST_BRANCHES = 1000


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    getter: Getter,
    setter: Setter,
    symbols: tuple[str, ...],
    needed: tuple[str, ...],
    changed: tuple[str, ...],
    hidden: tuple[str, ...],
    options: Options,
) -> None:
    """``while test: body``.

    Args:
        test: Computes the condition.
        body: Runs the body.
        getter: Reads the symbols that the loop changes.
        setter: Sets them.
        symbols: Their names.
        needed: Those that are used after the loop.
        changed: Those whose object the body only changes in place.
        hidden: Those that only nested functions assign.
        options: What ``set_loop_options`` was given.

    Raises:
        TypeError: a symbol changes its dtype or structure from one iteration to the next.
        ValueError: it changes its shape, or becomes None.
    """
    try:
        while True:
            going = _as_condition(test())
            if is_staged(going):
                break
            if not going:
                return
            del going  # which may be a list whose references count
            body()
    except NameError as e:
        raise as_unbound_local(e) from None
    state = State(getter, setter, symbols, changed, hidden, repeats=True)
    _StagedWhile(state, needed, options, test, body).run(going)


def _as_condition(value: Any) -> Any:
    """Return the value to test: of a list of the graph, whether it has elements."""
    return value.count > 0 if isinstance(value, TensorList) else value


class _StagedWhile:
    """A loop whose condition is a tensor."""

    def __init__(
        self,
        state: State,
        needed: Sequence[str],
        options: Options,
        test: Callable[[], Any],
        body: Callable[[], None],
        block: Callable[..., None] | None = None,
        given: Mapping[str, Any] | None = None,
        *,
        loosens: bool = False,
    ) -> None:
        self._options = dict(options()) if options is not None else {}
        self._test = test
        self._body = body
        self._state = state
        invariants = self._options.get("shape_invariants")
        self._variables = LoopVariables(
            state, needed, invariants, block or body, given, loosens=loosens
        )
        self._next: Any = None
        self._going: Any = None

    def run(self, going: Any) -> None:
        """Add the loop to the graph, and set the symbols to what they are after it.

        Args:
            going: The condition, computed for the first iteration.
        """
        self._going = going
        peel = None if "maximum_iterations" in self._options else self._peel
        self._variables.run(self._attempt, Start(False, lambda: self._going, self._step, peel))

    def _step(self) -> None:
        """One iteration, and the condition of the next."""
        self._run_body()
        self._next = _as_condition(self._test())

    def _run_body(self) -> None:
        self._body()

    def _peel(self) -> None:
        """The first iteration, by itself."""
        self._step()
        self._going = self._next

    def _attempt(self) -> list[Any]:
        self._next = self._going
        graph = current().graph
        assert graph is not None
        variables = self._variables

        def cond(*_: Any) -> Any:
            return self._next

        def body(*values: Any) -> list[Any]:
            variables.enter(values)
            with tracing(self._state):
                self._step()
            return variables.leave()

        loop = WhileLoop(graph, cond, body, variables.initial, variables.invariants, "while")
        result: list[Any] = loop.add(self._options.get("maximum_iterations"))
        return result


def for_stmt(
    items: Any,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    getter: Getter,
    setter: Setter,
    symbols: tuple[str, ...],
    needed: tuple[str, ...],
    changed: tuple[str, ...],
    hidden: tuple[str, ...],
    targets: tuple[str, ...],
    options: Options,
) -> None:
    """``for target in items: body``.

    Args:
        items: What to iterate over.
        test: Computes whether to go on, where the body can break; None: always.
        body: Runs the body with an item.
        getter: Reads the symbols that the loop changes.
        setter: Sets them.
        symbols: Their names.
        needed: Those that are used after the loop.
        changed: Those whose object the body only changes in place.
        hidden: Those that only nested functions assign.
        targets: Names that the item is assigned to.
        options: What ``set_loop_options`` was given.

    Raises:
        TypeError: a symbol changes its dtype or structure from one iteration to the next.
        ValueError: it changes its shape, or becomes None.
    """
    source = elements_of(items)
    if source is not None:
        state = State(getter, setter, symbols, changed, hidden, repeats=True)
        _over_elements(source, state, needed, options, test, body)
        return
    steps = counted(items)
    if steps is not None:
        state = State(getter, setter, symbols, changed, hidden, repeats=True)
        _StagedFor(state, needed, options, test, body, steps, targets).run()
        return
    try:
        _python_for(items, test, body, (getter, setter, symbols, symbols, changed, hidden))
    except NameError as e:
        raise as_unbound_local(e) from None


def _over_elements(
    source: Elements,
    state: State,
    needed: Sequence[str],
    options: Options,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
) -> None:
    """A loop over what tells only when it runs whether there is a next item, such as a dataset."""

    def advance() -> Any:
        going = True if test is None else test()
        if is_staged(going):  # whoever breaks leaves the next item there
            return cond(going, source.advance, lambda: convert_to_tensor(False))
        return source.advance() if going else convert_to_tensor(False)

    def one() -> None:
        body(source.item())

    loop = _StagedWhile(state, needed, options, advance, one, body, loosens=True)
    loop.run(source.advance())
    source.close()


def _python_for(
    items: Any,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    state: tuple[Any, ...],
) -> None:
    rest = iter(items)
    for item in rest:
        body(item)
        if test is None:
            continue
        going = test()
        if is_staged(going):
            break
        if not going:
            return
    else:
        return
    # Whether to go on is a tensor now: each further iteration is a branch.
    endless = not hasattr(items, "__len__")
    for number, item in enumerate(rest):
        if endless and number == _MOST_BRANCHES:
            raise OperatorNotAllowedInGraphError(
                f"A `for` over {items!r} that a tensor ends was unrolled {number:,} times "
                f"[{where()}]: the graph needs a branch for each item, and there may be no last "
                "one. Iterate over tf.range, or over a list or tensor, or use `while`."
            )
        if_stmt(test(), partial(body, item), _nothing, *state)


def _nothing() -> None:
    """The other branch."""


class _StagedFor(_StagedWhile):
    """A loop over a tensor."""

    def __init__(
        self,
        state: State,
        needed: Sequence[str],
        options: Options,
        test: Callable[[], Any] | None,
        body: Callable[[Any], None],
        steps: Counted,
        targets: Sequence[str],
    ) -> None:
        # The target of a range has a value even where there are no steps.
        given = {targets[0]: steps.start} if len(targets) == 1 and steps.start is not None else {}
        super().__init__(state, needed, options, test or (lambda: True), _nothing, body, given)
        self._for_body = body
        self._steps = steps
        self._number: Any = None
        self._breaks = test is not None
        self._first = 0

    def _run_body(self) -> None:
        self._for_body(self._steps.item(self._number))

    def run(self, going: Any = None) -> None:
        """See ``_StagedWhile``."""
        known = self._steps.known
        peel = None if "maximum_iterations" in self._options else self._peel
        start = Start(known is not None and known > 0, self._runs, self._first_step, peel)
        self._variables.run(self._attempt, start)

    def _runs(self) -> Any:
        """Return whether there is a next item."""
        return self._steps.length > self._first

    def _first_step(self) -> None:
        """An iteration by itself, to see what it does to the variables."""
        self._number = int64_constant(self._first)
        self._step()

    def _peel(self) -> None:
        self._first_step()
        self._first, self._going = 1, self._next

    def _attempt(self) -> list[Any]:
        graph = current().graph
        assert graph is not None
        variables, length = self._variables, self._steps.length

        def cond(number: Any, *_: Any) -> Any:
            more = number < length
            if not self._breaks or self._next is None:
                return more
            going = self._next
            return logical_and(more, going) if is_staged(going) else more if going else going

        def body(number: Any, *values: Any) -> list[Any]:
            self._number = number
            variables.enter(values)
            with tracing(self._state):
                self._step()
            following = ox.Add(number, int64_constant(1))
            return [following, *variables.leave()]

        self._next = self._going
        initial = [int64_constant(self._first), *variables.initial]
        invariants = variables.invariants
        if invariants is not None:
            invariants = [None, *invariants]
        loop = WhileLoop(graph, cond, body, initial, invariants, "for")
        limit = self._options.get("maximum_iterations")
        if self._breaks or limit is not None:
            result = loop.add(limit)
        else:
            result = loop.add(exact=length - self._first if self._first else length)
        return list(result[1:])
