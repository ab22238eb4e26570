"""``PureFunction``: a traced graph as a function of tensors alone, and its derivative.

Variables are ordinary arguments here and new values ordinary results; ``ConcreteFunction`` adds
the state. Under a tape a call runs a forward graph that also returns just those intermediate
values that the backward graph needs. Both come from one *joint* graph: the forward nodes are
emitted under a tape, the gradient nodes after them, and the cut between the two is what is saved.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from tfx.autodiff.tape import GradientTape
from tfx.control_flow.sequence_gradients import is_write, write_gradient
from tfx.framework.apply import apply
from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph, VariableState
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function import if_gradient as if_gradient
from tfx.function import loop_gradient as loop_gradient
from tfx.function.inline import inline_nodes
from tfx.function.plan import Plan
from tfx.function.steps import SteppedPlan, make_plan
from tfx.graph.bodies import snapshot
from tfx.graph.ir import CALL, Graph, Value
from tfx.graph.passes.dead_code import acts, remove_dead_nodes, used_values
from tfx.runtime.surviving import survives

FUNCTION_CALL = "FunctionCall"

# A variable of the function and the position of the input that is its value.
Leaf: TypeAlias = tuple[VariableState, int]


class PureFunction:
    """A graph whose inputs are all arguments.

    Args:
        graph: The graph; its inputs are the arguments, its outputs the results.
        present: For a vector-Jacobian product, which gradients are among the results.
        leaves: Variables among the inputs, with their positions: what the graph reads after it
            assigned one of them depends on that input, not on what was assigned.
        device: Where it runs, canonical; its derivatives run there too.
    """

    def __init__(
        self,
        graph: Graph,
        present: tuple[bool, ...] = (),
        leaves: Sequence[Leaf] = (),
        device: str = "CPU:0",
    ) -> None:
        self.graph = graph
        self.device = device
        self.present = present
        self.leaves = tuple(leaves)
        # Derivatives are traced when first asked for; a trace is one thread's.
        self._lock = survives(threading.RLock())
        self._plan: Plan | SteppedPlan | None = None
        self._pairs: dict[tuple[bool, ...], Pair] = {}
        self._vjps: dict[Any, PureFunction] = {}

    def plan(self) -> Plan | SteppedPlan:
        """The compiled graph, made at first use."""
        plan = self._plan
        if plan is None:
            plan = self._plan = make_plan(self.graph, self.device)
        return plan

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Run, recorded by active tapes; while tracing the nodes are added to the trace."""
        context = current()
        if context.graph is not None:
            return list(self._into_trace(context.graph, tensors))
        tapes = [t for t in context.tapes if isinstance(t, GradientTape)]
        needs = tuple(x.dtype.is_floating and any(t.depends(x) for t in tapes) for x in tensors)
        if not any(needs):
            return list(self.plan().run_tensors(tensors))  # type: ignore[arg-type]
        pair = self.pair(needs)
        results: list[Tensor] = list(pair.forward.plan().run_tensors(tensors))  # type: ignore[arg-type]
        for tape in tapes:
            tape.record(FUNCTION_CALL, {"pair": pair}, tuple(tensors), tuple(results))
        return results[: len(self.graph.outputs)]

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
        return [apply("Identity", (t,)) if uses[id(t)] > 1 else t for t in results]

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

    def vjp(self, mask: tuple[bool, ...], needs: tuple[bool, ...]) -> PureFunction:
        """Arguments and gradients of the marked results -> gradients of the marked arguments.

        Everything is computed again; used where the saved values do not suffice.
        """
        key = (mask, needs)
        with self._lock:
            function = self._vjps.get(key)
            if function is None:
                joint = Joint(self, needs)
                grads = joint.gradients(mask)
                joint.func_graph.graph.outputs = [g for g in grads.results if g is not None]
                # What Python does happened in the forward call already.
                graph = remove_dead_nodes(joint.func_graph.graph, keep_effects=False)
                graph.inputs = [*joint.arguments, *grads.seeds]
                function = self._vjps[key] = PureFunction(
                    graph, grads.present, self.leaves, self.device
                )
            return function


class Joint:
    """Forward nodes of a function emitted under a tape, ready for gradient nodes after them."""

    def __init__(self, function: PureFunction, needs: tuple[bool, ...]) -> None:
        source = function.graph
        self.func_graph = FuncGraph(source.name)
        self.func_graph.named_after_calls = False
        self.func_graph.home = self._device = function.device
        self.tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self.needs = needs
        with using(graph=self.func_graph, tapes=(), scope="", device=self._device):
            placeholders = [
                self.func_graph.add_argument(v.name, v.dtype, v.shape) for v in source.inputs
            ]
            for placeholder, value in zip(placeholders, source.inputs, strict=True):
                placeholder._value.dims = value.dims
            self.placeholders = placeholders
            self.arguments = [p._value for p in placeholders]
            with self.tape:
                for placeholder, needed in zip(placeholders, needs, strict=True):
                    if needed:
                        self.tape._watch(placeholder)
                mapping: dict[int, Tensor] = {
                    id(v): p for v, p in zip(source.inputs, placeholders, strict=True)
                }
                leaves = function.leaf_tensors(placeholders)
                inline_nodes(source, mapping, self.func_graph, leaves)
        self.results = [mapping[id(v)] for v in source.outputs]
        self.last_node = self._last_node()

    def _last_node(self) -> Any:
        nodes = self.func_graph.graph.nodes
        return nodes[-1] if nodes else None

    def end_of(self, node: Any) -> int:
        """The place behind a node; the gradients of loops also add nodes before others."""
        nodes = self.func_graph.graph.nodes
        return 0 if node is None else next(i for i, n in enumerate(nodes) if n is node) + 1

    def gradients(self, mask: tuple[bool, ...]) -> Gradients:
        """Append the nodes that compute gradients from those of the marked results."""
        last = self._last_node()
        marked = [r for r, m in zip(self.results, mask, strict=True) if m]
        sources = [p for p, n in zip(self.placeholders, self.needs, strict=True) if n]
        with using(graph=self.func_graph, tapes=(), scope="gradient/", device=self._device):
            seeds = [
                self.func_graph.add_argument(f"d_{_name(r)}", _code(r), _raw(r)) for r in marked
            ]
            found = self.tape.gradient(marked, sources, output_gradients=seeds)
            values = [None if g is None else self.func_graph.value_of(g) for g in found]
        nodes = self.func_graph.graph.nodes[self.end_of(last) :]
        return Gradients([s._value for s in seeds], nodes, values)


class Gradients:
    """Gradient nodes: from seeds to results (None where nothing depends on the argument)."""

    def __init__(self, seeds: list[Value], nodes: list[Any], results: list[Value | None]) -> None:
        self.seeds = seeds
        self.nodes = nodes
        self.results = results
        self.present = tuple(r is not None for r in results)


def _name(tensor: Tensor) -> str:
    return tensor._value.name  # type: ignore[attr-defined,no-any-return]


def _code(tensor: Tensor) -> int:
    return tensor._value.dtype  # type: ignore[attr-defined,no-any-return]


def _raw(tensor: Tensor) -> Any:
    return tensor._value.shape  # type: ignore[attr-defined]


class Pair:
    """A forward function with saved intermediate values, and the backward functions that use them.

    Attributes:
        forward: Same arguments; results and then the saved values.
        base: The function itself.
        needs: Which arguments have gradients.
    """

    def __init__(self, base: PureFunction, needs: tuple[bool, ...]) -> None:
        self.base = base
        self.needs = needs
        self._joint = Joint(base, needs)
        mask = tuple(
            isinstance(r, SymbolicTensor) and r.dtype.is_floating for r in self._joint.results
        )
        gradients = self._joint.gradients(mask)
        graph = self._joint.func_graph.graph
        forward = graph.copy()
        forward.nodes = snapshot(graph.nodes[: self._joint.end_of(self._joint.last_node)])
        forward.inputs = list(self._joint.arguments)
        results = [
            r._value if isinstance(r, SymbolicTensor) else self._joint.func_graph.value_of(r)
            for r in self._joint.results
        ]
        self._arguments = {id(v): i for i, v in enumerate(self._joint.arguments)}
        self._results: dict[int, int] = {}
        for i, v in enumerate(results):
            self._results.setdefault(id(v), i)
        constants = {id(v) for v in graph.constants}
        made = {id(v) for n in gradients.nodes for v in n.outputs} | {
            id(s) for s in gradients.seeds
        }
        live = _live(gradients)
        saved: dict[int, Value] = {}
        for node in live:
            for v in used_values(node):
                known = (self._arguments, self._results, constants, made, saved)
                if not any(id(v) in place for place in known):
                    saved[id(v)] = v
        for i, v in enumerate(saved.values()):
            self._results[id(v)] = len(results) + i
        forward.outputs = [*results, *saved.values()]
        self.forward = PureFunction(
            remove_dead_nodes(forward), leaves=base.leaves, device=base.device
        )
        self._backward: dict[tuple[bool, ...], Backward | None] = {}
        self._backward[mask] = self._build(gradients)

    def backward(self, mask: tuple[bool, ...]) -> Backward | None:
        """The backward function for gradients of the marked results; None: something is missing."""
        with self.base._lock:
            if mask not in self._backward:
                self._backward[mask] = self._build(self._joint.gradients(mask))
            return self._backward[mask]

    def _build(self, gradients: Gradients) -> Backward | None:
        graph = self._joint.func_graph.graph
        constants = {id(v) for v in graph.constants}
        live = _live(gradients)
        made = {id(v) for n in live for v in n.outputs} | {id(s) for s in gradients.seeds}
        outside: dict[int, Value] = {}
        outputs = [r for r in gradients.results if r is not None]
        for v in [v for node in live for v in used_values(node)] + outputs:
            if id(v) not in made and id(v) not in constants:
                outside[id(v)] = v
        if not all(i in self._arguments or i in self._results for i in outside):
            return None
        backward = Graph(f"{graph.name}_backward")
        backward._names = dict(graph._names)
        backward.inputs = [*outside.values(), *gradients.seeds]
        backward.constants = list(graph.constants)
        backward.nodes = live
        backward.outputs = outputs
        origins = [
            ("argument", self._arguments[i])
            if i in self._arguments
            else ("result", self._results[i])
            for i in outside
        ]
        function = PureFunction(remove_dead_nodes(backward), device=self.base.device)
        return Backward(function, origins, gradients.present)


class Backward:
    """A backward function, where its inputs come from, and which gradients it returns."""

    def __init__(
        self, function: PureFunction, origins: list[tuple[str, int]], present: tuple[bool, ...]
    ) -> None:
        self.function = function
        self.origins = origins
        self.present = present


def _live(gradients: Gradients) -> list[Any]:
    """The gradient nodes that some result needs, and what custom gradients have Python do."""
    wanted = {id(r) for r in gradients.results if r is not None}
    kept = []
    for node in reversed(gradients.nodes):
        if any(id(v) in wanted for v in node.outputs) or acts(node):
            kept.append(node)
            wanted.update(id(v) for v in used_values(node))
    return kept[::-1]


@gradient(FUNCTION_CALL)
def _function_call_grad(op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
    """Gradient of a call: the backward graph over saved values, or everything anew."""
    pair: Pair = op.attrs["pair"]
    count = len(pair.base.graph.outputs)
    inputs, outputs = op.inputs, op.outputs
    seeds = [dy for dy in dys if dy is not None]
    backward = None
    if all(dy is None for dy in dys[count:]):
        backward = pair.backward(tuple(dy is not None for dy in dys[:count]))
    if backward is not None:
        given = [inputs[i] if kind == "argument" else outputs[i] for kind, i in backward.origins]
        found = backward.function([*given, *seeds])
        present = backward.present
    else:
        vjp = pair.forward.vjp(tuple(dy is not None for dy in dys), pair.needs)
        found = vjp([*inputs, *seeds])
        present = vjp.present
    remaining = iter(found)
    marked = [next(remaining) if p else None for p in present]
    values = iter(marked)
    return [next(values) if n else None for n in pair.needs]


@gradient(CALL)
def _call_grad(op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
    """The derivative of the called graph, which computes the graph again."""
    if is_write(op.attrs["graph"]):
        return write_gradient(op, *dys)  # type: ignore[arg-type]
    called = _with_leaves(op.attrs["graph"], op.attrs.get("states", ()))
    product = called.vjp(tuple(dy is not None for dy in dys), op.needs)
    given = [x if isinstance(x, Tensor) else x.value() for x in op.inputs]
    found = iter(product([*given, *(dy for dy in dys if dy is not None)]))
    marked = iter([next(found) if present else None for present in product.present])
    return [next(marked) if needed else None for needed in op.needs]


def _with_leaves(graph: Graph, states: Sequence[VariableState]) -> PureFunction:
    """A called graph with one more input for each variable that it assigns: see ``leaves``."""
    if not states:
        return PureFunction(graph)
    graph = graph.copy()
    leaves = []
    for state in states:
        variable = state.variable()
        leaves.append((state, len(graph.inputs)))
        graph.add_input(state.name, variable.dtype.onnx, variable.shape.symbolic)
    return PureFunction(graph, leaves=leaves)
