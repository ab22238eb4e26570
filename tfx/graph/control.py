"""Views of ``If`` and ``Loop`` nodes: their parts by name, and the ways in which they grow.

ONNX knows these things by their places: a loop's inputs are its limit, its condition and then the
initial values of what it carries; its body's outputs are the next condition, what is carried on,
and then what is collected. Only this file, and what reads and writes models, counts places.

A view is live: it shows the node as it is now, and a gradient that needs more of an earlier node
adds a carried value, a collected one or a result to it through the view.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from tfx.graph.ir import Graph, Node, RawDim, RawShape, Value
from tfx.graph.symbolic_shapes import elements

THEN, ELSE = "then_branch", "else_branch"
# A body's inputs before those that are carried: the iteration's number and the condition.
_HEAD = 2


class Carried(NamedTuple):
    """A value that a loop carries from one iteration to the next.

    Attributes:
        initial: Before the first iteration, in the graph of the loop; None in an imported model
            that leaves it out.
        before: At the beginning of an iteration: an input of the body.
        after: At its end: an output of the body.
        final: After the last iteration: a result of the loop.
    """

    initial: Value | None
    before: Value
    after: Value
    final: Value


class Scanned(NamedTuple):
    """A value that a loop collects.

    Attributes:
        each: In the body, the value of one iteration.
        rows: Those of all iterations along a new first axis: a result of the loop.
    """

    each: Value
    rows: Value


class Choice(NamedTuple):
    """A result of an ``If``, and what each branch gives for it."""

    then: Value
    otherwise: Value
    result: Value


class Loop:
    """A ``Loop`` node by the names of its parts.

    Args:
        node: The node.

    Attributes:
        node: The node.
        body: The graph of one iteration.
    """

    __slots__ = ("body", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.body: Graph = node.attrs["body"]

    @property
    def limit(self) -> Value | None:
        """The largest number of iterations, an int64 scalar; None: no limit."""
        return self.node.inputs[0]

    @property
    def condition(self) -> Value | None:
        """The condition for the first iteration; None means true."""
        return self.node.inputs[1]

    @property
    def iteration(self) -> Value:
        """The number of the iteration in the body, from 0."""
        return self.body.inputs[0]

    @property
    def entered(self) -> Value:
        """The condition of the iteration in the body, which is always true there."""
        return self.body.inputs[1]

    @property
    def goes_on(self) -> Value:
        """The condition in the body for another iteration."""
        return self.body.outputs[0]

    @property
    def carried_count(self) -> int:
        """The number of carried values."""
        return len(self.body.inputs) - _HEAD

    @property
    def initial(self) -> tuple[Value | None, ...]:
        """The carried values before the first iteration."""
        return self.node.inputs[_HEAD:]

    @property
    def before(self) -> list[Value]:
        """The carried values at the beginning of an iteration, as inputs of the body."""
        return self.body.inputs[_HEAD:]

    @property
    def after(self) -> list[Value]:
        """The carried values at the end of an iteration, as outputs of the body."""
        return self.body.outputs[1 : 1 + self.carried_count]

    @property
    def final(self) -> tuple[Value, ...]:
        """The carried values after the last iteration."""
        return self.node.outputs[: self.carried_count]

    @property
    def each(self) -> list[Value]:
        """The collected values of one iteration, as outputs of the body."""
        return self.body.outputs[1 + self.carried_count :]

    @property
    def rows(self) -> tuple[Value, ...]:
        """The collected values of all iterations, stacked along axis 0."""
        return self.node.outputs[self.carried_count :]

    @property
    def carried(self) -> list[Carried]:
        """The values that are carried."""
        parts = zip(self.initial, self.before, self.after, self.final, strict=True)
        return [Carried(*part) for part in parts]

    @property
    def scanned(self) -> list[Scanned]:
        """The values that are collected."""
        return [Scanned(*part) for part in zip(self.each, self.rows, strict=True)]

    @property
    def results(self) -> list[tuple[Value, Value]]:
        """Pairs of results in the body and outside: carried values, then collected ones."""
        return list(zip(self.body.outputs[1:], self.node.outputs, strict=True))

    def trip_count(self) -> RawDim:
        """Return the number of iterations if it is certain, else None."""
        limit = self.limit
        if limit is None or self.condition is not None:
            return None
        known = elements(limit)
        if known is None or len(known) != 1:
            return None
        return max(known[0], 0) if isinstance(known[0], int) else known[0]

    def carry(
        self, initial: Value, before: Value, after: Value, name: str, *, like: Value | None = None
    ) -> Value:
        """Carry one more value.

        Args:
            initial: Its value before the first iteration.
            before: A new value, which becomes an input of the body.
            after: What the body makes of it.
            name: Name of the result.
            like: What has its shape; None: ``before`` has.

        Returns:
            The value after the last iteration, a new result of the node.
        """
        place = self.carried_count
        self.body.inputs.append(before)
        self.body.outputs.insert(1 + place, after)
        self.node.inputs = (*self.node.inputs, initial)
        shape = before.shape if like is None else like.shape
        final = Value(self.body.unique_name(name), before.dtype, shape)
        return add_result(self.node, final, place)

    def collect(self, each: Value, name: str, *, like: Value | None = None) -> Value:
        """Collect a value of each iteration.

        Args:
            each: A value of the body.
            name: Name of the result.
            like: What has its shape; None: as many rows as there are iterations.

        Returns:
            The values of all iterations along a new first axis, a new result of the node.
        """
        self.body.outputs.append(each)
        if like is not None:
            shape = like.shape
        else:
            shape = None if each.shape is None else (self.trip_count(), *each.shape)
        return add_result(self.node, Value(self.body.unique_name(name), each.dtype, shape))

    def rows_of(self, each: Value) -> Value | None:
        """The result that collects a value already."""
        return next((found.rows for found in self.scanned if found.each is each), None)

    def state_needed(
        self, results: Iterable[int], needed: Callable[[Sequence[Value]], Collection[int]]
    ) -> set[int]:
        """Return the numbers of the carried values that some results depend on.

        Args:
            results: Numbers of the results.
            needed: By ``id``, the values that values of the body are computed from.
        """
        wanted = list(results)
        count = self.carried_count
        state = {i for i in wanted if i < count}
        while True:
            ends = [self.body.outputs[1 + i] for i in {*wanted, *state}]
            found = needed([self.goes_on, *ends])
            more = {i for i, v in enumerate(self.before) if id(v) in found} - state
            if not more:
                return state
            state |= more

    def keep(self, results: Sequence[int]) -> Node:
        """A node with some of the results only, with a copy of the body that keeps its nodes.

        Args:
            results: Their numbers, in order; with those of the carried values that they need.
        """
        count = self.carried_count
        state = [i for i in results if i < count]
        body = self.body.copy()
        body.inputs = [*body.inputs[:_HEAD], *(self.before[i] for i in state)]
        body.outputs = [self.goes_on, *(self.body.outputs[1 + i] for i in results)]
        inputs = (*self.node.inputs[:_HEAD], *(self.initial[i] for i in state))
        made = self.node.replaced(inputs, {**self.node.attrs, "body": body})
        return _with_results(made, results)


class If:
    """An ``If`` node by the names of its parts.

    Args:
        node: The node.

    Attributes:
        node: The node.
        then: The graph for a condition that holds.
        otherwise: The graph for one that does not.
    """

    __slots__ = ("node", "otherwise", "then")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.then: Graph = node.attrs[THEN]
        self.otherwise: Graph = node.attrs[ELSE]

    @property
    def condition(self) -> Value:
        """The condition that selects a branch, a boolean scalar."""
        value = self.node.inputs[0]
        assert value is not None
        return value

    @property
    def branches(self) -> tuple[Graph, Graph]:
        """The branch taken when the condition is true, then the one taken when it is false."""
        return self.then, self.otherwise

    @property
    def choices(self) -> list[Choice]:
        """The results with what the branches give for them."""
        parts = zip(self.then.outputs, self.otherwise.outputs, self.node.outputs, strict=True)
        return [Choice(*part) for part in parts]

    def add(self, then: Value, otherwise: Value, name: str, shape: RawShape) -> Value:
        """Return one more value; a new result of the node."""
        self.then.outputs.append(then)
        self.otherwise.outputs.append(otherwise)
        return add_result(self.node, Value(self.then.unique_name(name), then.dtype, shape))

    def add_of_branch(self, branch: Graph, value: Value, nothing: Value, name: str) -> Value:
        """Return a value that only one branch has; a new result of the node.

        Args:
            branch: The branch.
            value: Its value.
            nothing: What the other branch gives: an empty tensor or sequence of that dtype.
            name: Name of the result.
        """
        parts = (value, nothing) if branch is self.then else (nothing, value)
        shape = None if value.shape is None else (None,) * len(value.shape)
        return self.add(*parts, name, shape)

    def keep(self, results: Sequence[int]) -> Node:
        """A node with some of the results only, with copies of the branches that keep their nodes.

        Args:
            results: Their numbers, in order.
        """
        attrs = dict(self.node.attrs)
        for key, branch in zip((THEN, ELSE), self.branches, strict=True):
            attrs[key] = branch.copy()
            attrs[key].outputs = [branch.outputs[i] for i in results]
        return _with_results(self.node.replaced(attrs=attrs), results)


def add_result(node: Node, value: Value, place: int | None = None) -> Value:
    """Give a node one more output.

    Args:
        node: Changed in place.
        value: A new value.
        place: Its number among the outputs; None: the last.

    Returns:
        The value.
    """
    outputs = list(node.outputs)
    outputs.insert(len(outputs) if place is None else place, value)
    node.outputs = tuple(outputs)
    value.node = node
    return value


def loop_types(body: Graph) -> list[tuple[int, RawShape]]:
    """Types of the results of a ``Loop`` with a body: rows are as many as a run tells."""
    count = len(body.inputs) - _HEAD
    types: list[tuple[int, RawShape]] = [(v.dtype, v.shape) for v in body.inputs[_HEAD:]]
    rows = body.outputs[1 + count :]
    types += [(v.dtype, None if v.shape is None else (None, *v.shape)) for v in rows]
    return types


def _with_results(node: Node, which: Sequence[int]) -> Node:
    if len(which) < len(node.outputs):
        node.outputs = tuple(node.outputs[i] for i in which)
        node.tag = None  # it may refer to outputs by their numbers
    return node
