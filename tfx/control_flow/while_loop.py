"""``while_loop``: eagerly a Python loop, in a graph a ``Loop``.

The body is traced once, with the condition on the body's results after it: an ONNX ``Loop`` is told
by its body whether to go on. Whether to begin is decided by the condition on the initial values,
outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow.cond import truth
from tfx.control_flow.control_nodes import add_control_node
from tfx.control_flow.induction_variables import InductionVariables
from tfx.control_flow.loop_invariants import hoist_products
from tfx.control_flow.loop_variables import LoopVariable, ShapeVariesError, slot_of
from tfx.control_flow.structured_results import own_all, place_of, trace
from tfx.control_flow.tensor_array_state import ArrayState
from tfx.control_flow.trip_counts import Counting
from tfx.core import dtypes, nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.body_graph import LoopGraph
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.copy_body import replace_values
from tfx.graph.ir import Value
from tfx.ops.common.arguments import static_int
from tfx.ops.math.cast import stop_gradient

_INT64, _BOOL = dtypes.int64.onnx, dtypes.bool.onnx


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Repeat ``body`` while ``cond`` is true.

    Args:
        cond: Called with the loop variables, returns a scalar.
        body: Called with the loop variables, returns their next values.
        loop_vars: List or tuple of the initial values: tensors, tensor arrays, structures of them.
        shape_invariants: A structure like ``loop_vars`` (or its front part) of the shapes that hold
            of what the body returns, for variables whose shape changes; one may enter with another
            shape, and then nothing is known of it inside. None: their initial shapes.
        parallel_iterations: Accepted for compatibility.
        back_prop: False: no gradient flows through the loop.
        swap_memory: Accepted for compatibility.
        maximum_iterations: An integer scalar: stop after so many iterations in any case.
        name: Prefix of the node's name.

    Returns:
        The loop variables' last values in the structure of ``loop_vars``.

    Raises:
        TypeError: ``cond`` or ``body`` is not callable, ``loop_vars`` no list or tuple,
            ``parallel_iterations`` not positive, or a variable changes its dtype.
        ValueError: no loop variables; or the body returns another structure, or (in a graph) a
            shape that does not fit.

    Example:
        >>> import tfx as tf
        >>> i, total = tf.while_loop(
        ...     lambda i, total: i < 4, lambda i, total: (i + 1, total + i), (0, tf.constant(0))
        ... )
        >>> int(total)
        6
    """
    if not callable(cond):
        raise TypeError(f"'cond' must be callable; got {cond!r}.")
    if not callable(body):
        raise TypeError(f"'body' must be callable; got {body!r}.")
    if not isinstance(loop_vars, list | tuple):
        raise TypeError(f"'loop_vars' must be a list or tuple; got {loop_vars!r}.")
    if not loop_vars:
        raise ValueError("'loop_vars' must not be empty: a while loop without variables is idle.")
    if isinstance(parallel_iterations, int) and parallel_iterations < 1:
        raise TypeError(
            f"'parallel_iterations' must be a positive integer; got {parallel_iterations!r}."
        )
    graph = current().graph
    if graph is None:
        result = _run(cond, body, loop_vars, maximum_iterations)
    else:
        loop = WhileLoop(
            graph, cond, body, loop_vars, shape_invariants, name or "while", strict=False
        )
        result = loop.add(maximum_iterations)
    return result if back_prop else _stopped(result)


def _stopped(results: Any) -> Any:
    return nest.map_structure(
        lambda x: stop_gradient(x) if isinstance(x, Tensor) and x.dtype.has_gradients else x,
        results,
    )


def _run(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum: Any) -> Any:
    """The loop in eager mode."""
    values = loop_vars
    count = _count(maximum)
    limit = None if count is None else static_int(count)
    single = len(values) == 1
    done = 0
    while (limit is None or done < limit) and cond(*values):
        found = body(*values)
        if single and not isinstance(found, list | tuple):
            found = (found,)
        _check_structure(loop_vars, found, body)
        values, done = found, done + 1
    flat = [_converted(x) for x in nest.flatten(list(values), True)]
    return nest.pack_sequence_as(loop_vars, flat, True)


def _converted(x: Any) -> Any:
    return x if isinstance(x, ArrayState) or x is None else convert_to_tensor(x)


def _check_structure(given: Any, found: Any, body: Callable[..., Any]) -> None:
    found = list(found) if isinstance(found, list | tuple) else [found]
    try:
        nest.assert_same_structure(list(given), found, expand_composites=True)
    except (TypeError, ValueError) as e:
        raise type(e)(
            f"The body of a while loop ({place_of(body)}) must return the structure of its loop "
            f"variables: {e}"
        ) from e


class WhileLoop:
    """A ``Loop`` under construction.

    Args:
        graph: The graph that gets it.
        cond: Whether to go on, of the loop variables.
        body: The next loop variables.
        loop_vars: The initial values.
        invariants: See ``while_loop``.
        name: Prefix of the names.
        strict: Whether initial values must have the shapes that are stated, too.
    """

    def __init__(
        self,
        graph: FuncGraph,
        cond: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        invariants: Any,
        name: str,
        *,
        strict: bool = True,
    ) -> None:
        self._graph = graph
        self._strict = strict
        self._cond = cond
        self._body = body
        self._given = loop_vars
        self._name = name
        self._initial = [self._entering(x) for x in nest.flatten(list(loop_vars), True)]
        self._invariants = _flat_invariants(loop_vars, invariants, len(self._initial))
        # Dimensions (number of the leaf, axis) that turned out to change.
        self._varying: set[tuple[int, int]] = set()

    def _entering(self, x: Any) -> Any:
        if x is None or isinstance(x, ArrayState):
            return x
        if isinstance(x, Variable):
            return x.value()
        return convert_to_tensor(x)

    def add(self, maximum: Any = None, *, exact: Tensor | None = None) -> Any:
        """Trace, add the node, return the results.

        Args:
            maximum: The largest number of iterations, or None.
            exact: The number of iterations where it is known to be exactly that; then ``cond`` is
                not called.
        """
        going = None
        if exact is None:
            with using(tapes=()):
                going = truth(self._cond(*self._packed(self._initial)), "The loop condition")
        while True:
            try:
                return self._attempt(going, maximum, exact)
            except ShapeVariesError as e:
                # A dimension whose size is unknown is not the same in each iteration.
                self._varying.add(e.where)

    def _packed(self, leaves: Sequence[Any]) -> list[Any]:
        packed: list[Any] = nest.pack_sequence_as(list(self._given), list(leaves), True)
        return packed

    def _attempt(self, going: Tensor | None, maximum: Any, exact: Tensor | None) -> Any:
        loop = LoopGraph(f"{self._name}_body", self._graph)
        iteration = Value(loop.graph.unique_name("iteration"), _INT64, ())
        keep_going = Value(loop.graph.unique_name("keep_going"), _BOOL, ())
        slots = [
            slot_of(i, leaf, shape, self._varying, strict=self._strict)
            for i, (leaf, shape) in enumerate(zip(self._initial, self._invariants, strict=True))
        ]
        given = self._packed([loop_variable.enter(loop) for loop_variable in slots])
        found = trace(loop, self._body, *given)
        if len(given) == 1 and not isinstance(found, list | tuple):
            found = (found,)
        _check_structure(given, found, self._body)
        leaves = own_all(loop, list(found))
        for loop_variable, leaf in zip(slots, leaves, strict=True):
            loop_variable.leave(loop, leaf, self._body)
        last = keep_going
        if exact is None:
            after = trace(
                loop, self._cond, *self._packed([loop_variable.result for loop_variable in slots])
            )
            with using(graph=loop, tapes=()):
                last = loop.value_of(truth(after, "The loop condition"))
        numbers = InductionVariables(loop, iteration, slots)
        numbers.trust(loop.graph)
        counting = Counting(loop, iteration, slots, numbers)
        tested = last
        if exact is None and maximum is None and isinstance(going, SymbolicTensor):
            count, rest = counting.trip_count(last, going._symbol)
            if count is not None and rest is None:
                exact, last = count, keep_going
            elif count is not None and rest is not None:
                maximum, last = count, rest
        if exact is not None:
            going = None
            counting.choose_form(exact)
        for loop_variable in slots:
            loop_variable.choose_form(loop, numbers, exact)
        control = (iteration, keep_going, last)
        result = self._emit(loop, slots, control, going, maximum, exact, numbers)
        counting.drop(tested)
        return result

    def _emit(
        self,
        loop: LoopGraph,
        slots: list[LoopVariable],
        control: tuple[Value, Value, Value],
        going: Tensor | None,
        maximum: Any,
        exact: Tensor | None,
        numbers: InductionVariables,
    ) -> Any:
        graph, body = self._graph, loop.graph
        carried = [c for loop_variable in slots for c in loop_variable.carried()]
        states, unchanged = self._states(loop)
        scans = [s for loop_variable in slots for s in loop_variable.scans()]
        body.inputs = [control[0], control[1], *(c.inside for c in carried)]
        body.inputs += [inside for _, inside, _ in states]
        outputs = [control[2], *(c.after for c in carried), *(after for _, _, after in states)]
        body.outputs = [unchanged.get(id(v), v) for v in (*outputs, *scans)]
        inputs: list[Tensor | None] = [_count(exact if exact is not None else maximum), going]
        inputs += [c.before for c in carried]
        types = [(c.inside.dtype, c.shape) for c in carried]
        assigned = {}
        for i, (state, inside, _) in enumerate(states):
            assigned[len(carried) + i] = state
            inputs.append(graph.read(state.variable()))
            types.append((inside.dtype, inside.shape))
        known = None if exact is None else static_int(exact)
        if known is not None:
            hoist_products(graph, loop, numbers, known)
        types += [(v.dtype, None if v.shape is None else (known, *v.shape)) for v in scans]
        results = add_control_node(
            graph, "Loop", inputs, {"body": body}, types, [loop], assigned=assigned, name=self._name
        )
        tensors = iter([*results[: len(carried)], *results[len(carried) + len(states) :]])
        ends = [next(tensors) for _ in carried]
        rows = [next(tensors) for _ in scans]
        return nest.pack_sequence_as(self._given, self._finished(slots, ends, rows), True)

    @staticmethod
    def _finished(
        slots: list[LoopVariable], ends: list[SymbolicTensor], rows: list[SymbolicTensor]
    ) -> list[Any]:
        last, stacked = iter(ends), iter(rows)
        return [
            loop_variable.finish(
                [next(last) for _ in loop_variable.carried()],
                [next(stacked) for _ in loop_variable.scans()],
            )
            for loop_variable in slots
        ]

    def _states(self, loop: LoopGraph) -> tuple[list[tuple[Any, Value, Value]], dict[int, Value]]:
        """Return the variables that the body assigns, and those that it only reads.

        Returns:
            For those that it assigns the graph's record, the value before and after; and by the
            ``id`` of the input of each other one, the value outside that takes its place.
        """
        found = []
        same: dict[int, Value] = {}
        written = {id(s.variable()): s for s in loop.written_states()}
        for key in written:
            loop.enter(written[key].variable())
        for key, (inside, variable) in loop.entries.items():
            state = written.get(key)
            if state is None:
                value = self._graph.value_of(self._graph.read(variable))
                same[id(inside)] = value
                loop.outer_variables[id(value)] = (value, variable)
            else:
                assert state.current is not None
                found.append((self._graph.state_of(variable), inside, state.current))
        replace_values(loop.graph, same)
        return found, same


def _count(number: Any) -> Tensor | None:
    if number is None:
        return None
    tensor = convert_to_tensor(number)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"maximum_iterations must be an integer scalar; got {number!r} of dtype "
            f"{tensor.dtype.name}."
        )
    if tensor.shape.rank != 0:  # see ``truth``
        if tensor.shape.num_elements() not in (None, 1):
            raise InvalidArgumentError(
                f"maximum_iterations must be an integer scalar; got {number!r} of shape "
                f"{tensor.shape}."
            )
        tensor = ox.Reshape(tensor, int64_constant([]))
    if tensor.dtype is dtypes.int64:
        return tensor
    return ox.Cast(tensor, to=_INT64)


def _flat_invariants(loop_vars: Any, invariants: Any, count: int) -> list[Any]:
    """The invariant of each leaf, None where none was given.

    Raises:
        ValueError: the structures do not fit.
    """
    if invariants is None:
        return [None] * count

    def shape_of(x: Any) -> Any:
        return x.shape if isinstance(x, TensorSpec) else x if x is None else TensorShape(x)

    flat: list[Any] = []
    given = list(invariants) if isinstance(invariants, list | tuple) else [invariants]
    if len(given) != len(loop_vars):
        raise ValueError(
            f"shape_invariants must have the structure of loop_vars: got {len(given)} for "
            f"{len(loop_vars)} variables."
        )
    for variable, shape in zip(loop_vars, given, strict=True):
        if not nest.is_nested(variable) and not hasattr(shape, "_tfx_expanded_kind"):
            flat.append(shape_of(shape))
            continue
        if hasattr(shape, "_tfx_expanded_kind"):  # the spec of a composite
            flat += [part.shape for part in nest.flatten(shape, True)]
            continue
        if isinstance(shape, TensorShape | TensorSpec) or not nest.is_nested(shape):
            raise ValueError(
                f"shape_invariants must have the structure of loop_vars: got {shape!r} for the "
                f"structure {variable!r}."
            )
        inner = list(shape.values()) if isinstance(shape, dict) else list(shape)
        names = list(variable) if isinstance(variable, dict) else None
        if isinstance(shape, dict) and names is not None:
            inner = [shape[k] for k in sorted(names)]
            variable = [variable[k] for k in sorted(names)]
        flat += _flat_invariants(list(variable), inner, len(nest.flatten(variable, True)))
    return flat
