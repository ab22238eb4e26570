"""``tap``: a function that also returns values from its middle, chosen by name.

The graph is cut out again with the chosen values among its results; what is inside called functions
is brought up where a pattern names it. Assignments and host calls stay as they are.
"""

from __future__ import annotations

import difflib
import weakref
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tfx.core import nest
from tfx.framework.func_graph import FuncGraph
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.gradients.gradient_marker import CustomGradient
from tfx.function.tracing.function import Function
from tfx.function.tracing.subgraph_functions import Derivation, stateful_nodes
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.graph.passes.inline_calls import expand_calls
from tfx.graph.printer import name_of
from tfx.graph.tags import Mark


class Tap:
    """A function that returns its results and values from its middle; made by ``tap``.

    Args:
        function: The function.
        patterns: Which values.
    """

    def __init__(self, function: Function | ConcreteFunction, patterns: Sequence[str]) -> None:
        self._function = function
        self._patterns = tuple(patterns)
        self._tapped: weakref.WeakKeyDictionary[ConcreteFunction, ConcreteFunction] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def function(self) -> Function | ConcreteFunction:
        """The function that is tapped."""
        return self._function

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns that names are compared with."""
        return self._patterns

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Call the function.

        Returns:
            What it returns, and a dict of the tapped tensors by name.

        Raises:
            ValueError: no value has a name that fits a pattern.
        """
        function = self._function
        if isinstance(function, ConcreteFunction):
            result: tuple[Any, dict[str, Any]] = self._tap(function)(*args, **kwargs)
            return result
        concrete, tensors = function._concrete_for(args, kwargs)
        result = self._tap(concrete).call_flat(tensors)
        return result

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The tapped trace for the given arguments, which can be saved.

        Args:
            *args: Arguments as for ``get_concrete_function`` of the function; none where it is a
                concrete function already.
            **kwargs: The same by name.
        """
        function = self._function
        if isinstance(function, ConcreteFunction):
            return self._tap(function)
        return self._tap(function.get_concrete_function(*args, **kwargs))

    def _tap(self, concrete: ConcreteFunction) -> ConcreteFunction:
        known = self._tapped.get(concrete)
        if known is None:
            known = self._tapped[concrete] = tapped(concrete, self._patterns)
        return known

    def __repr__(self) -> str:
        return f"<tap of {self._function!r}: {', '.join(self._patterns)}>"


def tap(fn: Any, *patterns: str) -> Tap:
    """A function that returns what ``fn`` returns, and values from its middle.

    Every operation has a name (``fn.get_concrete_function(...).graph`` lists them): that of the
    public function that made it, such as ``"Square"`` or ``"MatMul_1"``, or the one that was given,
    below the scopes around it. ``tf.identity(x, name="hidden")`` names any value. What a called
    function computes is below the name of the call: ``"block/hidden"``, ``"block_1/hidden"``.

    Args:
        fn: A ``tfx.function``, a method of one, or a concrete function.
        *patterns: Names, in which ``*`` stands for any text (slashes too), ``?`` for one letter and
            ``[ab]`` for one of several. A value is tapped if its name fits one of them.

    Returns:
        A callable with the arguments of ``fn``. It returns a pair: what ``fn`` returns, and a dict
        of tensors by name. Of an operation with several outputs all are tapped, as ``"split:0"``,
        ``"split:1"``... Calls are differentiable, may stand in other functions, and have the
        effects of ``fn``.

    Raises:
        TypeError: ``fn`` is not a traced function, or no pattern is given.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def model(x):
        ...     with tf.name_scope("layer"):
        ...         hidden = tf.nn.relu(x, name="hidden")
        ...     return tf.reduce_sum(hidden)
        >>> y, values = tf.tap(model, "layer/*")(tf.constant([-1.0, 2.0]))
        >>> y.numpy(), {name: value.numpy() for name, value in values.items()}
        (np.float32(2.0), {'layer/hidden': array([0., 2.], dtype=float32)})
    """
    if not isinstance(fn, Function | ConcreteFunction):
        raise TypeError(
            f"tap takes a tfx.function or a concrete function; got {fn!r} of type "
            f"{type(fn).__name__}. Decorate it with tfx.function."
        )
    if not patterns or not all(isinstance(p, str) and p for p in patterns):
        raise TypeError(f"tap takes patterns of names, such as 'layer/*'; got {patterns!r}.")
    return Tap(fn, patterns)


def tapped(concrete: ConcreteFunction, patterns: Sequence[str]) -> ConcreteFunction:
    """A concrete function with the same arguments that also returns what fits the patterns.

    Raises:
        ValueError: nothing does.
    """
    source = concrete.graph
    graph, found = _find(source, patterns)
    results = source.structured_outputs
    count = sum(x is not None for x in nest.flatten(results))
    derivation = Derivation(
        source,
        graph,
        f"{source.name}_tapped",
        source.arguments,
        [*graph.outputs[:count], *found.values()],
        stateful_nodes(graph),
    )
    # The order of a dict of results is that of its sorted keys.
    template = (results, dict.fromkeys(found, True))
    return ConcreteFunction(*derivation.finish(concrete.signature, template))


def _find(source: FuncGraph, patterns: Sequence[str]) -> tuple[Graph, dict[str, Value]]:
    """Return the matching values, sorted by name, and the graph that they are in."""
    graph = source.graph
    top = dict(_named(graph.nodes))
    found = {name: v for name, v in top.items() if _fits(name, v, patterns)}
    expanded = expand_calls(graph, _can_be_expanded)
    own = {id(v) for node in graph.nodes for v in node.outputs}
    inner = dict(_named([n for n in expanded.nodes if not any(id(v) in own for v in n.outputs)]))
    deeper = {name: v for name, v in inner.items() if _fits(name, v, patterns)}
    if not found and not deeper:
        raise _nothing(source, patterns, [*top, *inner])
    found.update((name, value) for name, value in deeper.items() if name not in found)
    return expanded if deeper else graph, dict(sorted(found.items()))


def _named(nodes: Sequence[Node]) -> Iterator[tuple[str, Value]]:
    for node in nodes:
        for value in node.outputs:
            yield name_of(value), value


def _fits(name: str, value: Value, patterns: Sequence[str]) -> bool:
    node = value.node
    spellings = {name, name if ":" in name else f"{name}:0", name if node is None else node.name}
    return any(fnmatchcase(s, p) for s in spellings for p in patterns)


def _can_be_expanded(call: Node) -> bool:
    if isinstance(call.tag, CustomGradient) or call.tag is Mark.STOP_GRADIENT:
        return False
    library: bool = call.attrs["graph"].library
    return not library


def _nothing(source: FuncGraph, patterns: Sequence[str], names: Sequence[str]) -> ValueError:
    wanted = ", ".join(map(repr, patterns))
    bodies = {
        name: node.name
        for node in source.graph.nodes
        if node.op != CALL
        for body in node.bodies()
        for name, value in _named(body.nodes)
        if _fits(name, value, patterns)
    }
    if bodies:
        name, owner = next(iter(bodies.items()))
        return ValueError(
            f"tap: {name!r} of {source.name!r} is inside of {owner!r}, a branch or loop, which "
            "makes it not at all or many times. Return it from there, and tap that."
        )
    short = {n.rpartition("/")[2]: n for n in names}
    near = [n for p in patterns for n in difflib.get_close_matches(p, [*names, *short], 3)]
    close = list(dict.fromkeys(short.get(n, n) for n in near))
    shown = close or list(names)[:10]
    more = ", ..." if not close and len(names) > len(shown) else ""
    return ValueError(
        f"tap: nothing in {source.name!r} has a name that fits {wanted}; there is "
        f"{', '.join(map(repr, shown)) or 'no operation'}{more}."
    )
