"""``group_by_reducer``: what elements of the same key come to, one result for each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfx.core.specs import TensorSpec
from tfx.data.elementwise import stateful_function
from tfx.data.functions import DataFunction, argument_structures
from tfx.data.leaves import Leaves, array_of, scalar
from tfx.data.nodes import UNKNOWN, Node, Run, Stage, Unary, open_stage, wrapped
from tfx.data.structure import Structure


class Reducer(NamedTuple):
    """How elements of the same key become one: ``tf.data.experimental.Reducer``.

    Attributes:
        init_func: Makes the first state of a key, int64.
        reduce_func: Makes the next state of a state and an element.
        finalize_func: Makes the result of the last state.
    """

    init_func: Callable[..., Any]
    reduce_func: Callable[..., Any]
    finalize_func: Callable[..., Any]


class GroupByReducer(Unary):
    """The results, in the order of the keys.

    Args:
        source: The elements.
        key_func: Gives the key of one, an int64 scalar.
        reducer: A ``Reducer``.

    Raises:
        ValueError: keys of another type.
        TypeError: a state of another structure than the first one.
    """

    def __init__(self, source: Node, key_func: Any, reducer: Any) -> None:
        what, arguments = "group_by_reducer", argument_structures(source.structure)
        self.key = DataFunction(key_func, arguments, what)
        spec = self.key.output.spec
        if not isinstance(spec, TensorSpec) or spec.dtype.name != "int64" or spec.shape.rank:
            raise ValueError(f"`key_func` must return a single tf.int64 tensor. Got {spec!r}.")
        self.first = DataFunction(reducer.init_func, [Structure(TensorSpec([], "int64"))], what)

        self.next, state = stateful_function(
            reducer.reduce_func, self.first.output, source.structure, what, pair=False
        )
        self.last = DataFunction(reducer.finalize_func, argument_structures(state), what)
        super().__init__(source, self.last.output)

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _Results(open_stage(self.source, run), self)


class _Results(Stage):
    __slots__ = ("_given", "_node", "_states")
    _position = ("_given", "_states")

    def __init__(self, source: Stage, node: GroupByReducer) -> None:
        super().__init__(source)
        self._node = node
        self._states: list[Any] | None = None
        self._given = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        if self._states is None:
            found = self._reduced()
            self._states = [found[key] for key in sorted(found)]
        if self._given == len(self._states):
            raise StopIteration
        self._given += 1
        return self._node.last(tuple(self._states[self._given - 1]))

    def _reduced(self) -> dict[int, Leaves]:
        node, found = self._node, dict[int, Leaves]()
        while True:
            try:
                element = self.inputs[0].next()
            except StopIteration:
                return found
            key = int(array_of(node.key(element)[0])[()])
            if key not in found:
                found[key] = node.first((scalar(key),))
            found[key] = node.next(found[key], element)


def group_by_reducer(key_func: Callable[..., Any], reducer: Any) -> Callable[[Any], Any]:
    """Reduce the elements of each key to one.

    Args:
        key_func: Gives the key of an element, an int64 scalar.
        reducer: A ``Reducer``.

    Returns:
        A function for ``Dataset.apply``, which gives the results in the order of the keys.

    Example:
        >>> import tfx as tf
        >>> total = tf.data.experimental.Reducer(
        ...     init_func=lambda key: tf.constant(0, tf.int64),
        ...     reduce_func=lambda state, x: state + x,
        ...     finalize_func=lambda state: state,
        ... )
        >>> sums = tf.data.experimental.group_by_reducer(lambda x: x % 2, total)
        >>> [int(x) for x in tf.data.Dataset.range(5).apply(sums)]
        [6, 4]
    """
    return lambda dataset: wrapped(GroupByReducer(dataset._node, key_func, reducer))
