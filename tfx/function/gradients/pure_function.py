"""``PureFunction``: a traced graph as a function of tensors alone, and its derivative.

Variables are ordinary arguments here and new values ordinary results; ``ConcreteFunction`` adds
the state. Under a tape a call runs a forward graph that also returns just those intermediate
values that the backward graph needs. Both come from one *joint* graph: the forward nodes are
emitted under a tape, the gradient nodes after them, and the cut between the two is what is saved.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from tfx.autodiff.forward_accumulator import ForwardAccumulator
from tfx.autodiff.record_placeholders import Unread
from tfx.autodiff.tape import GradientTape
from tfx.autodiff.where_masking import masked_seeds
from tfx.control_flow.control_nodes import assigned_states
from tfx.core.dtypes import SEQUENCE
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.execution.stepped_plan import PlannedGraph
from tfx.function.gradients import if_gradient as if_gradient
from tfx.function.gradients import if_tangents as if_tangents
from tfx.function.gradients import loop_gradient as loop_gradient
from tfx.function.gradients import loop_tangents as loop_tangents
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.gradients.joint_graph import Gradients, Joint, argument_like, placeholders_of
from tfx.function.gradients.residuals import (
    choose_residuals,
    repeated_nodes,
    size_key,
    with_saved_sizes,
)
from tfx.function.recompute.hoist_random import (
    draws_inside,
    expect_gradients,
    hoist_random,
    returning_draws,
)
from tfx.function.recompute.random_replay import active_logs, call_once
from tfx.graph.copy_body import snapshot
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.dead_code import remove_dead_nodes, used_values
from tfx.graph.traits import traits
from tfx.runtime.fork_safe_locks import fork_safe

FUNCTION_CALL = "FunctionCall"
# Elements of a tensor that records hold whatever their gradients read.
_SMALL = 4096

# A variable of the function and the position of the input that is its value.
Leaf: TypeAlias = tuple[TracedVariable, int]


class PureFunction(PlannedGraph):
    """A graph whose inputs are all arguments.

    Args:
        graph: The graph; its inputs are the arguments, its outputs the results.
        present: For a product with the Jacobian, which gradients or tangents are among the results;
            2 for a gradient that is ``IndexedSlices``: values and indices.
        leaves: Variables among the inputs, with their positions: what the graph reads after it
            assigned one of them depends on that input, not on what was assigned.
        device: Where it runs, canonical; its derivatives run there too.
    """

    def __init__(
        self,
        graph: Graph,
        present: tuple[int, ...] = (),
        leaves: Sequence[Leaf] = (),
        device: str = "CPU:0",
    ) -> None:
        self.graph = graph
        self.device = device
        self.present = present
        self.leaves = tuple(leaves)
        # Derivatives are traced when first asked for; a trace is one thread's.
        self._lock = fork_safe(threading.RLock())
        # Results that a second computation must be given: what the graph drew.
        self.drawn: tuple[int, ...] = ()
        self._returning: PureFunction | None = None
        self._taking: PureFunction | None = None
        self._pairs: dict[tuple[bool, ...], Pair] = {}
        self._vjps: dict[Any, PureFunction] = {}
        self._jvps: dict[tuple[bool, ...], PureFunction] = {}

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Run, recorded by active tapes; while tracing the nodes are added to the trace."""
        context = current()
        if context.graph is not None:
            return list(self._into_trace(context.graph, tensors))
        recorders = [t for t in context.tapes if isinstance(t, GradientTape | ForwardAccumulator)]
        logs = active_logs()
        if logs and any(map(draws_inside, self.graph.nodes)):
            return call_once(self, logs, tensors, recorders)
        return self._observed(tensors, recorders)

    def _observed(self, tensors: Sequence[Tensor], recorders: list[Any]) -> list[Tensor]:
        """Run under some recorders, outermost first: each sees what those inside it let run.

        Neighbouring tapes share a forward graph. An accumulator has a graph run that computes the
        tangents too.
        """
        while recorders and not any(recorders[-1].depends(x) for x in tensors):
            recorders = recorders[:-1]
        if not recorders:
            return list(self.plan.run_tensors(tensors))  # type: ignore[arg-type]
        if isinstance(recorders[-1], ForwardAccumulator):
            return self._pushed(tensors, recorders[:-1], recorders[-1])
        first = len(recorders)
        while first and isinstance(recorders[first - 1], GradientTape):
            first -= 1
        tapes = recorders[first:]
        needs = tuple(x.dtype.has_gradients and any(t.depends(x) for t in tapes) for x in tensors)
        if not any(needs):
            return self._observed(tensors, recorders[:first])
        pair = self.pair(needs)
        results = pair.forward._observed(tensors, recorders[:first])
        given, made, unread = tuple(tensors), tuple(results), pair.unread
        for tape in tapes:
            if unread is None:
                tape.record(FUNCTION_CALL, {"pair": pair}, given, made)
            else:
                once = tape is tapes[-1]
                tape.record_call(FUNCTION_CALL, {"pair": pair}, given, made, unread, once=once)
        return results[: len(self.graph.outputs)]

    def _pushed(
        self, tensors: Sequence[Tensor], around: list[Any], accumulator: ForwardAccumulator
    ) -> list[Tensor]:
        """Run with tangents for an accumulator."""
        tangents = [accumulator.tangent_of(x) for x in tensors]
        function = self.jvp(tuple(t is not None for t in tangents))
        given = [*tensors, *(t for t in tangents if t is not None)]
        found = function._observed(given, around)
        results, rest = found[: len(self.graph.outputs)], iter(found[len(self.graph.outputs) :])
        for y, present in zip(results, function.present, strict=True):
            if present:
                accumulator.set_tangent(y, next(rest))
        return results

    def _into_trace(self, graph: FuncGraph, tensors: Sequence[Tensor]) -> list[Tensor]:
        mapping: dict[int, Tensor] = {
            id(v): t for v, t in zip(self.graph.inputs, tensors, strict=True)
        }
        # Named like the nodes of a call that is expanded.
        below = graph.graph.unique_name(current().scope + self.graph.name) + "/"
        with using(scope=below):
            inline_nodes(self.graph, mapping, graph, self.leaf_tensors(tensors))
        # Tensors of their own, as eagerly: a gradient by a result is not one by an argument.
        results = [mapping[id(v)] for v in self.graph.outputs]
        uses = Counter(id(t) for t in (*tensors, *results))
        return [ox.Identity(t) if uses[id(t)] > 1 else t for t in results]

    def leaf_tensors(self, tensors: Sequence[Tensor]) -> dict[int, Tensor]:
        """The argument that stands for each variable, by the variable's id."""
        found = [(state.ref(), tensors[i]) for state, i in self.leaves]
        return {id(variable): tensor for variable, tensor in found if variable is not None}

    def pair(self, needs: tuple[bool, ...]) -> Pair:
        """Forward and backward graph for gradients of the arguments that ``needs`` marks."""
        with self._lock:
            pair = self._pairs.get(needs)
            if pair is None:
                pair = self._pairs[needs] = Pair(self, needs)
            return pair

    def jvp(self, needs: tuple[bool, ...]) -> PureFunction:
        """Arguments and tangents of the marked ones -> results and tangents of some of them.

        ``present`` of the function says which results have a tangent.
        """
        with self._lock:
            function = self._jvps.get(needs)
            if function is None:
                function = self._jvps[needs] = pushed_forward(self, needs)
            return function

    def returning_draws(self) -> tuple[PureFunction, tuple[int, ...]]:
        """The function with what it drew as further results, and the numbers of these."""
        with self._lock:
            found = returning_draws(self.graph)
            if self._returning is None:
                expect_gradients(found.graph)
                self._returning = PureFunction(found.graph, (), self.leaves, self.device)
            return self._returning, found.places

    def taking_draws(self) -> PureFunction:
        """The function with what it drew as further arguments."""
        with self._lock:
            if self._taking is None:
                self._taking = given_draws(self)
            return self._taking

    def vjp(self, mask: tuple[bool, ...], needs: tuple[bool, ...]) -> PureFunction:
        """Arguments, what was drawn and gradients of the marked results -> gradients of arguments.

        Everything is computed again; used where the saved values do not suffice. Results that
        ``drawn`` numbers are not: they are arguments.
        """
        key = (mask, needs)
        with self._lock:
            function = self._vjps.get(key)
            if function is None:
                joint = Joint(self, needs, [self.graph.outputs[i] for i in self.drawn])
                # Gradients of saved values come from rules, behind whatever was chosen.
                with masked_seeds():
                    grads = joint.gradients(mask)
                joint.func_graph.graph.outputs = list(grads.results)
                # What Python does happened in the forward call already.
                graph = remove_dead_nodes(joint.func_graph.graph, keep_effects=False)
                graph.inputs = [*joint.arguments, *grads.seeds]
                function = self._vjps[key] = PureFunction(
                    graph, grads.present, self.leaves, self.device
                )
            return function


def given_draws(function: PureFunction) -> PureFunction:
    """A function that is given what it drew; see ``PureFunction.taking_draws``."""
    returning, places = function.returning_draws()
    source = returning.graph
    target = FuncGraph(source.name)
    target.graph.fuses = source.fuses
    target.named_after_calls = False
    target.home = function.device
    with using(graph=target, tapes=(), scope="", device=function.device):
        placeholders = placeholders_of(source, target)
        drawn = [source.outputs[i] for i in places]
        given = [target.add_argument(v.name, v.dtype, v.shape) for v in drawn]
        mapping: dict[int, Tensor] = {
            id(v): p for v, p in zip((*source.inputs, *drawn), (*placeholders, *given), strict=True)
        }
        inline_nodes(source, mapping, target, function.leaf_tensors(placeholders))
        results = source.outputs[: len(function.graph.outputs)]
        target.graph.outputs = [target.value_of(mapping[id(v)]) for v in results]
    # What Python does happened the first time.
    graph = remove_dead_nodes(target.graph, keep_effects=False)
    graph.inputs = [x._symbol for x in (*placeholders, *given)]
    return PureFunction(graph, (), function.leaves, function.device)


def pushed_forward(function: PureFunction, needs: tuple[bool, ...]) -> PureFunction:
    """A function that also computes tangents; see ``PureFunction.jvp``."""
    source = function.graph
    target = FuncGraph(source.name)
    target.graph.fuses = source.fuses
    target.named_after_calls = False
    target.home = function.device
    with using(graph=target, tapes=(), scope="", device=function.device):
        placeholders = placeholders_of(source, target)
        marked = [p for p, n in zip(placeholders, needs, strict=True) if n]
        tangents = [argument_like(target, "t_", p) for p in marked]
        mapping: dict[int, Tensor] = {
            id(v): p for v, p in zip(source.inputs, placeholders, strict=True)
        }
        accumulator = ForwardAccumulator.over(zip(marked, tangents, strict=True))
        with accumulator:
            inline_nodes(source, mapping, target, function.leaf_tensors(placeholders))
        results = [mapping[id(v)] for v in source.outputs]
        found = [accumulator.tangent_of(y) for y in results]
        values = [target.value_of(x) for x in (*results, *found) if x is not None]
    target.graph.outputs = values
    graph = remove_dead_nodes(target.graph)
    graph.inputs = [x._symbol for x in (*placeholders, *tangents)]
    present = tuple(t is not None for t in found)
    return PureFunction(graph, present, function.leaves, function.device)


class Pair:
    """A forward function with saved intermediate values, and the backward functions that use them.

    Attributes:
        forward: Same arguments; results and then the saved values.
        base: The function itself.
        needs: Which arguments have gradients.
        mask: The results that can have a gradient, all of them.
        unread: What the gradient by ``mask`` does not read; None: nothing worth a stand-in.
    """

    def __init__(self, base: PureFunction, needs: tuple[bool, ...]) -> None:
        self.base = base
        self.needs = needs
        self._joint = Joint(base, needs)
        self.mask = mask = tuple(
            isinstance(r, SymbolicTensor) and r.dtype.has_gradients for r in self._joint.results
        )
        gradients = self._joint.gradients(mask).folded()
        graph = self._joint.func_graph.graph
        forward = graph.copy()
        forward.nodes = snapshot(graph.nodes[: self._joint.end_of(self._joint.last_node)])
        forward.inputs = list(self._joint.arguments)
        results = [
            r._symbol if isinstance(r, SymbolicTensor) else self._joint.func_graph.value_of(r)
            for r in self._joint.results
        ]
        self._arguments = {id(v): i for i, v in enumerate(self._joint.arguments)}
        self._results: dict[int, int] = {}
        for i, v in enumerate(results):
            self._results.setdefault(id(v), i)
        constants = {id(v) for v in (*graph.constants, *gradients.constants)}
        given = {*self._arguments, *self._results, *constants}
        outside = gradients.outside()
        saved, sizes = choose_residuals(gradients.nodes, outside, given)
        forward.nodes += sizes
        self._sizes = {size_key(node): node.outputs[0] for node in sizes}
        for i, v in enumerate(saved):
            self._results[id(v)] = len(results) + i
        forward.outputs = [*results, *saved]
        forward = remove_dead_nodes(forward)
        drawn = hoist_random(forward)
        for v in drawn:
            if id(v) not in self._results:
                self._results[id(v)] = len(forward.outputs)
                forward.outputs.append(v)
        self.forward = PureFunction(forward, leaves=base.leaves, device=base.device)
        self.forward.drawn = tuple(self._results[id(v)] for v in drawn)
        self._backward: dict[tuple[bool, ...], Backward | None] = {}
        self._backward[mask] = self._build(gradients, None if sizes else outside)
        self.unread = self._unread()

    def _unread(self) -> Unread | None:
        count = len(self.base.graph.outputs)
        backward = self._backward[self.mask]
        if backward is None:
            return None
        read = set(backward.origins)
        # Values of variables: the record of the reading has them.
        variables = {i for _, i in self.base.leaves}
        inputs = [
            i
            for i, v in enumerate(self._joint.arguments)
            if ("argument", i) not in read and i not in variables and _is_large(v)
        ]
        outputs = [
            i
            for i, v in enumerate(self.forward.graph.outputs[:count])
            if ("result", i) not in read and i not in self.forward.drawn and _is_large(v)
        ]
        return Unread(tuple(inputs), tuple(outputs), count) if inputs or outputs else None

    def backward(self, mask: tuple[bool, ...]) -> Backward | None:
        """The backward function for gradients of the marked results; None: something is missing."""
        with self.base._lock:
            if mask not in self._backward:
                self._backward[mask] = self._build(self._joint.gradients(mask).folded())
            return self._backward[mask]

    def _leaves_in(self, nodes: list[Node]) -> list[tuple[TracedVariable, Value]]:
        """Variables that backward nodes assign, where they do a part again, with their arguments.

        What is read afterwards depends on the argument: a second derivative needs to know.
        """
        if not self.base.leaves:
            return []
        part = Graph("backward")
        part.nodes = nodes
        written = {id(state.ref()) for state in assigned_states([part])}
        return [
            (state, self._joint.arguments[i])
            for state, i in self.base.leaves
            if id(state.ref()) in written
        ]

    def _build(self, gradients: Gradients, outside: list[Value] | None = None) -> Backward | None:
        """The backward function; ``outside`` is that of the gradients where it is known."""
        graph = self._joint.func_graph.graph
        every = [*graph.constants, *gradients.constants]
        constants = {id(v) for v in every}
        if self._sizes:
            gradients.nodes = list(with_saved_sizes(gradients.nodes, self._sizes))
        there = {*self._arguments, *self._results}
        taken = gradients.outside() if outside is None else outside
        repeated = repeated_nodes(taken, {*there, *constants})
        if repeated is None:
            return None
        used = [v for node in repeated for v in used_values(node)] + taken
        needed = {id(v): v for v in used}
        given = {key: v for key, v in needed.items() if key in there}
        live, outputs = [*repeated, *gradients.nodes], gradients.results
        leaves = self._leaves_in(live)
        given.update((id(v), v) for _, v in leaves)
        backward = Graph(f"{graph.name}_backward")
        backward._names = dict(graph._names)
        backward.fuses = self.base.graph.fuses
        backward.inputs = [*given.values(), *gradients.seeds]
        backward.constants = [v for v in every if id(v) in needed]
        backward.nodes = live
        backward.outputs = outputs
        origins = [
            ("argument", self._arguments[i])
            if i in self._arguments
            else ("result", self._results[i])
            for i in given
        ]
        places = {key: i for i, key in enumerate(given)}
        if any(traits(node.op).bodies for node in live):
            backward = remove_dead_nodes(backward)
        function = PureFunction(
            backward,
            leaves=[(state, places[id(v)]) for state, v in leaves],
            device=self.base.device,
        )
        return Backward(function, origins, gradients.present)


def _is_large(value: Value) -> bool:
    """True if a tensor is worth a stand-in, which takes some memory itself."""
    if value.dtype >= SEQUENCE:
        return False
    shape = value.shape
    if shape is None:
        return True
    known = [d for d in shape if isinstance(d, int)]
    return len(known) < len(shape) or math.prod(known) > _SMALL


class Backward:
    """A backward function, where its inputs come from, and which gradients it returns."""

    def __init__(
        self, function: PureFunction, origins: list[tuple[str, int]], present: tuple[int, ...]
    ) -> None:
        self.function = function
        self.origins = origins
        self.present = present
