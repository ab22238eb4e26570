"""``Batcher``: carries out the graph of one element for all elements, node by node.

Each value becomes a ``BatchedValue``: a tensor and whether it has the batch as axis 0. A node none
of whose inputs has is applied once; another one goes through its rule. Everything is done with
ordinary operations, so it runs at once or becomes nodes of the trace around, and tapes record it
either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from tfx.control_flow import recurrent_gradients as recurrent_gradients
from tfx.control_flow import sequence_gradients as sequence_gradients
from tfx.core import dtypes
from tfx.core.dims import sizes_alone
from tfx.core.errors import InternalError
from tfx.core.refusals import Refusal
from tfx.framework.apply import apply, apply_n
from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.func_graph import Assigned, FuncGraph
from tfx.framework.guards import guard_of, refused_unless
from tfx.framework.rules import exact_formula_of
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.function.gradients.gradient_marker import CustomGradient
from tfx.function.recompute.barrier import barrier
from tfx.graph.complex_pairs import PairCall
from tfx.graph.ir import CALL, HOST, Graph, Node, Value, free_values
from tfx.graph.passes.dead_code import used_values

# Importing these fills the table of batching rules.
from tfx.graph.tags import Mark
from tfx.graph.traits import traits
from tfx.ops.common import registration as registration
from tfx.ops.common.batching import BatchedOp, CannotBatchError, rule_of, tiled
from tfx.ops.math.cast import stop_gradient
from tfx.vectorize import loop_fallback
from tfx.vectorize.batched_value import BatchedValue
from tfx.vectorize.custom_gradient_batching import convert_custom
from tfx.vectorize.dependence import draws
from tfx.vectorize.if_batching import assign, convert_if
from tfx.vectorize.loop_batching import convert_loop
from tfx.vectorize.loop_fallback import Fallback
from tfx.vectorize.random_batching import draw
from tfx.vectorize.sequence_map_batching import convert_map


class Batcher:
    """Converts graphs for a number of elements.

    Args:
        size: The number of elements, an int64 scalar.
        static_size: The same where it is known.
        loops: What to do where a rule is missing.
        around: The batched_value of a value of a graph around; None: there is none.
        inside: Whether what is converted is the body of an ``If`` or ``Loop``.
        fixed: Lanes of constants that stand for tensors from outside, by ``id`` of the value.
        same_draws: It is a backward pass: random numbers are those of one run for all elements, not
            new ones for each, and nothing is assigned.
    """

    def __init__(
        self,
        size: Tensor,
        static_size: int | None,
        loops: Fallback,
        around: Callable[[Value], BatchedValue] | None = None,
        *,
        inside: bool = False,
        fixed: dict[int, BatchedValue] | None = None,
        same_draws: bool = False,
    ) -> None:
        self.size = size
        self.same_draws = same_draws
        self.static_size = static_size
        self.loops = loops
        self._around = around
        self.inside = inside
        # Whether what is converted is done a second time, as backward passes are: see ``Assigned``.
        self.again = same_draws
        self._graph: Graph | None = None
        self._batched_values: dict[int, BatchedValue] = {}
        self._fixed: dict[int, BatchedValue] = {} if fixed is None else fixed

    # Lanes

    def put(self, value: Value, tensor: Tensor, batched: bool) -> None:
        """State what a value is."""
        batched_values = self._batched_values if value.const is None else self._fixed
        batched_values[id(value)] = BatchedValue(tensor, batched)

    def batched_value(self, value: Value) -> BatchedValue:
        """Return the batched value of a value."""
        known = self._batched_values.get(id(value))
        if known is not None:
            return known
        if value.const is not None:
            return self._fixed.get(id(value)) or BatchedValue(_constant(value), False)
        if self._around is None:
            raise InternalError(f"The value {value!r} of a function of one element is never made.")
        return self._around(value)

    def full(self, batched_value: BatchedValue) -> Tensor:
        """A batched_value with the batch in front, repeated if it is the same for all."""
        return (
            batched_value.tensor
            if batched_value.batched
            else tiled(batched_value.tensor, self.size)
        )

    def within(
        self,
        body: Graph,
        size: Tensor,
        static_size: int | None,
        view: Callable[[BatchedValue], BatchedValue],
    ) -> Batcher:
        """A batcher for a body, which sees the values around it through ``view``.

        Called where the body is built: what ``view`` computes belongs to it.
        """
        seen = {id(v): view(self.batched_value(v)) for v in free_values(body) if v.const is None}

        def seen_at(value: Value) -> BatchedValue:
            return seen[id(value)]

        return Batcher(
            size,
            static_size,
            self.loops,
            seen_at,
            inside=True,
            fixed=self._fixed,
            same_draws=self.same_draws,
        )

    def for_body(self, *, inside: bool = False) -> Batcher:
        """A batcher for a body, or for another graph, that sees values as they are."""
        return Batcher(
            self.size,
            self.static_size,
            self.loops,
            self.batched_value,
            inside=inside or self.inside,
            fixed=self._fixed,
            same_draws=self.same_draws,
        )

    def in_other_graph(self, size: Tensor) -> Batcher:
        """A batcher for a graph that uses nothing from around it.

        Args:
            size: The number of elements, in the graph that the conversion goes to.
        """
        return Batcher(size, self.static_size, self.loops, same_draws=self.same_draws)

    def uses(self, node: Node) -> list[Value]:
        """Return the values that a node and its bodies use; constants only where replaced."""
        used = {id(v): v for v in node.inputs if v is not None}
        for body in [] if node.op == CALL else node.bodies():
            for v in free_values(body):
                if v.const is None or id(v) in self._fixed:
                    used[id(v)] = v
        return list(used.values())

    # Nodes

    def run(self, graph: Graph) -> list[BatchedValue]:
        """Carry out a graph whose inputs have batched_values; the batched_values of its outputs."""
        around, self._graph = self._graph, graph
        for node in graph.nodes:
            with nullcontext() if node.device is None else using(device=node.device):
                self._node(node)
        self._graph = around
        return [self.batched_value(v) for v in graph.outputs]

    def _node(self, node: Node) -> None:
        if isinstance(node.tag, CustomGradient):
            self._set(node, convert_custom(self, node))
        elif node.op == "If":
            self._set(node, convert_if(self, node))
        elif node.op == "Loop":
            self._set(node, convert_loop(self, node))
        elif node.op == "SequenceMap":
            self._set(node, convert_map(self, node))
        elif draws(node) and not self._draws_once(node):
            self._set(node, draw(self, node))
        elif node.op == CALL:
            self._call(node)
        elif node.op == HOST:
            self._set(node, self._host(node))
        elif isinstance(node.tag, Assigned):
            self._assign(node, node.tag)
        else:
            self._set(node, self._operator(node))

    def _draws_once(self, node: Node) -> bool:
        given = [self.batched_value(v) for v in node.inputs if v is not None]
        return self.same_draws and not any(x.batched for x in given)

    def _set(self, node: Node, batched_values: Sequence[BatchedValue]) -> None:
        for value, batched_value in zip(node.outputs, batched_values, strict=True):
            self._narrow(batched_value, value)
            self._batched_values[id(value)] = batched_value

    def _narrow(self, batched_value: BatchedValue, value: Value) -> None:
        """Set the static shape of a tensor of a trace from that of one element."""
        tensor = batched_value.tensor
        if not isinstance(tensor, SymbolicTensor) or tensor._symbol.node is None:
            return
        element = value.shape
        if element is None:
            return
        known = sizes_alone(element) or ()
        if batched_value.batched:
            known = (self.static_size, *known)
        have = tensor._symbol.shape
        if have is None:
            have = (None,) * len(known)
        if len(have) == len(known):
            merged = tuple(k if h is None else h for h, k in zip(have, known, strict=True))
            tensor._symbol.shape, tensor._shape = merged, None

    def _call(self, node: Node) -> None:
        callee: Graph = node.attrs["graph"]
        for formal, actual in zip(callee.inputs, node.inputs, strict=True):
            assert actual is not None
            self._batched_values[id(formal)] = self.batched_value(actual)
        whole = callee.library and current().graph is not None
        if whole and not any(self.batched_value(v).batched for v in node.inputs if v is not None):
            self._set(node, loop_fallback.repeated(self, node))
            return
        below = f"{current().scope}{node.name}/"
        again = self.again
        # A call whose node assigns nothing, or did already: nor does what it calls.
        self.again = again or not isinstance(node.tag, Assigned) or node.tag.again
        with using(scope=below):
            results = self.run(callee)
        self.again = again
        self._set(node, results)

    def _host(self, node: Node) -> list[BatchedValue]:
        """Batch a host call: once if no input is batched, else for one element after another."""
        if isinstance(node.attrs["call"], PairCall):
            (value,) = node.inputs
            assert value is not None
            given = self.batched_value(value)
            see = joined if node.attrs["call"].joins else parts
            return [BatchedValue(see(given.tensor), given.batched)]
        if any(self.batched_value(v).batched for v in node.inputs if v is not None):
            return loop_fallback.host_loop(self, node)
        return loop_fallback.repeated(self, node)

    def _assign(self, node: Node, tag: Assigned) -> None:
        (state,) = tag.outputs.values()
        assert node.inputs[0] is not None
        again = tag.again or self.again
        batched_value = assign(state, self.batched_value(node.inputs[0]), self.inside, again)
        self._batched_values[id(node.outputs[0])] = batched_value

    # Operators

    def _operator(self, node: Node) -> list[BatchedValue]:
        given = [None if v is None else self.batched_value(v) for v in node.inputs]
        inputs = [None if x is None else x.tensor for x in given]
        batched = [x is not None and x.batched for x in given]
        count = len(node.outputs)
        if traits(node.op).shape_only and any(batched):
            return [BatchedValue(self._of_shape(node, inputs[0]), False)]
        if node.tag is Mark.BARRIER:
            return [BatchedValue(_later(inputs, batched), False)]
        guard = guard_of(node)
        if guard is not None:
            return [self._guarded(node, *guard)]
        bodies = any(True for _ in node.bodies())
        once = self.same_draws or not traits(node.op).random
        if bodies or (once and not any(batched)):
            if bodies:
                return loop_fallback.with_bodies(self, node)
            if count == 1:
                result: Sequence[Tensor] = (apply(node.op, inputs, node.attrs),)
            else:
                result = apply_n(node.op, inputs, node.attrs, count)
            batched_values = [BatchedValue(t, False) for t in result]
        else:
            op = BatchedOp(
                node.op,
                node.attrs,
                inputs,
                batched,
                self.size,
                self.static_size,
                count,
                [sizes_alone(v.shape) for v in node.outputs],
            )
            batched_values = [BatchedValue(t, True) for t in self.apply_batched(op, node)]
        if node.tag is Mark.STOP_GRADIENT:
            batched_values = [
                BatchedValue(stop_gradient(x.tensor), x.batched) for x in batched_values
            ]
        return batched_values

    def _guarded(self, node: Node, condition: Value, reason: Refusal) -> BatchedValue:
        """Batch a guard: an element that is refused makes the whole batch fail."""
        (data, _) = node.inputs
        assert data is not None
        x = self.batched_value(data)
        given = x.tensor
        if data.shape == ():  # which the node makes a vector of
            given = ox.Unsqueeze(given, int64_constant([int(x.batched)]))
        return BatchedValue(
            refused_unless(self.batched_value(condition).tensor, given, reason), x.batched
        )

    def apply_batched(self, op: BatchedOp, node: Node) -> Sequence[Tensor]:
        """The results for all elements, by the operator's rule or the way around a missing one."""
        rule, reason = rule_of(op.op), None
        if rule is not None:
            try:
                result = rule(op)
            except CannotBatchError as e:
                reason = str(e)
            else:
                return (result,) if isinstance(result, Tensor) else result[: op.outputs]
        formula = exact_formula_of(op.op)
        if formula is not None:
            found = loop_fallback.by_formula(self, op, node, formula)
            if found is not None:
                return found
        return self.loops.run(op, node, reason, self._wanted(node))

    def _wanted(self, node: Node) -> list[bool]:
        """Return for each result of a node whether anything uses it."""
        graph = self._graph
        if graph is None or len(node.outputs) == 1:
            return [True] * len(node.outputs)
        used = {id(v) for v in graph.outputs}
        used.update(id(v) for other in graph.nodes for v in used_values(other))
        return [id(v) in used for v in node.outputs]

    def _of_shape(self, node: Node, x: Tensor | None) -> Tensor:
        """Return the result of an operator on shapes for one element."""
        assert x is not None
        if node.op in ("SequenceLength", "OptionalHasElement"):
            return apply(node.op, (x,))
        shape = ox.Shape(x, start=1)
        if node.op == "Size":
            return ox.ReduceProd(shape, keepdims=0)
        if "start" not in node.attrs and "end" not in node.attrs:
            return shape
        start, end = (
            int64_constant([node.attrs.get(k, d)]) for k, d in (("start", 0), ("end", 2**62))
        )
        return ox.Slice(shape, start, end, int64_constant([0]))


def _later(inputs: Sequence[Tensor | None], batched: Sequence[bool]) -> Tensor:
    """The zero of all elements, not before all of their inputs are there."""
    axis = int64_constant([0])
    given = [
        ox.ReduceSum(x, axis, keepdims=0) if each and x is not None else x
        for x, each in zip(inputs, batched, strict=True)
    ]
    return barrier(ox.Min(*given))


def _constant(value: Value) -> Tensor:
    graph: FuncGraph | None = current().graph
    assert value.const is not None
    if graph is None:
        kind = dtypes.from_onnx(value.dtype)
        constant = convert_to_tensor(value.const, kind)
        assert isinstance(constant, EagerTensor)
        return constant
    return SymbolicTensor(graph.constant(value.const, value.dtype), graph)
