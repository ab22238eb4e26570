"""Plans of several steps: sessions on several devices, and what Python does between them.

A graph that prints, checks, calls Python or names devices is cut into *stages*. A stage has one
session for each device, then its host calls in program order. A node is put into the earliest stage
that its inputs allow, so a host call that returns nothing never splits a session; one that returns
something starts a stage for those who use it. A branch or loop with such nodes inside is driven
from Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import OpError
from tfx.framework.context import current, using
from tfx.framework.tensor import EagerTensor, from_array
from tfx.function.execution.feeds import feeds_from_tensors
from tfx.function.execution.host_routines import with_host_routines
from tfx.function.execution.host_state import STATE, HostState, with_state
from tfx.function.execution.plan import Plan, RunsTensors
from tfx.function.execution.run_errors import outermost_node
from tfx.graph.complex_pairs import is_complex
from tfx.graph.ir import CALL, HOST, Graph, HostCall, Node, Value, free_values
from tfx.graph.passes.dead_code import remove_dead_nodes, used_values
from tfx.graph.passes.inline_calls import expand_calls
from tfx.graph.passes.join_pairs import join_pairs
from tfx.graph.passes.remove_copies import remove_copies
from tfx.runtime import interrupts, run_hooks
from tfx.runtime import values as raw_values
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.values import RawValue, from_numpy, to_numpy

# The lane of what Python does.
_HOST_LANE = "host"


def make_plan(
    graph: Graph, device: str = "CPU:0", frozen: dict[Value, RawValue] | None = None
) -> Plan | SteppedPlan:
    """Compile a graph: to one session, or to several steps if it needs more.

    Args:
        graph: What to run; inputs are fed in order, or frozen.
        device: Canonical name of the device of nodes that name none.
        frozen: Values of inputs that never change while the plan is used.
    """
    graph = with_host_routines(join_pairs(graph), device)
    # A session takes no complex number, not even one that nothing uses: a step takes what it uses.
    if any(map(is_complex, graph.inputs)) or _needs_steps(graph, device, {}):
        return SteppedPlan(graph, device, frozen)
    return Plan(graph, device, frozen)


class PlannedGraph:
    """A graph that is compiled when it first runs.

    Attributes:
        graph: What is run.
        device: Canonical name of the device of nodes that name none.
    """

    graph: Graph
    device: str
    _plan: Plan | SteppedPlan | None = None

    @property
    def plan(self) -> Plan | SteppedPlan:
        """The live plan: variables are inputs."""
        plan = self._plan
        if plan is None:
            plan = self._plan = make_plan(self.graph, self.device)
        return plan


def _needs_steps(graph: Graph, device: str, known: dict[int, bool]) -> bool:
    """True if one session cannot run the graph."""
    return any(_is_foreign(node, device, known) for node in graph.nodes)


def _is_foreign(node: Node, device: str, known: dict[int, bool]) -> bool:
    """True if a node, or one in its bodies or callee, is Python's or on another device."""
    if node.op == HOST or (node.device is not None and node.device != device):
        return True
    return _holds_steps(node, device, known)


def _holds_steps(node: Node, device: str, known: dict[int, bool]) -> bool:
    for body in node.bodies():
        found = known.get(id(body))
        if found is None:
            found = known[id(body)] = _needs_steps(body, node.device or device, known)
        if found:
            return True
    return False


class SteppedPlan(RunsTensors):
    """A graph as a list of steps over numbered slots. Has the face of ``Plan``.

    Attributes:
        graph: What was compiled.
        steps: In the order in which they run.
    """

    __slots__ = (
        "_constants",
        "_feeds",
        "_frozen",
        "_outputs",
        "_size",
        "dtypes",
        "feed_tensors",
        "graph",
        "input_names",
        "output_names",
        "steps",
    )

    # A frozen one saves little: what holds its steps up is Python.
    preparation_seconds = math.inf

    def __init__(
        self, graph: Graph, device: str = "CPU:0", frozen: dict[Value, RawValue] | None = None
    ) -> None:
        frozen = frozen or {}
        self.graph = graph
        known: dict[int, bool] = {}

        def expanded(call: Node) -> bool:
            return _holds_steps(call, device, known)

        flat = with_state(expand_calls(graph, expanded), expanded)
        flat = remove_dead_nodes(remove_copies(flat))
        builder = _Builder(flat, device, frozen)
        self.steps = builder.steps
        self._constants = builder.contents
        self._frozen = frozen
        self._feeds = [builder.slot(v) for v in graph.inputs if v not in frozen]
        self._outputs = [builder.slot(v) for v in flat.outputs]
        self._size = len(builder.slots)
        self.input_names = [f"%in{i}" for i, v in enumerate(graph.inputs) if v not in frozen]
        self.feed_tensors = feeds_from_tensors(self.input_names)
        self.output_names = [f"%out{i}" for i in range(len(graph.outputs))]
        self.dtypes = [dtypes.from_onnx(v.dtype) for v in graph.outputs]

    def run(self, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """Run with one value for each input that is not frozen."""
        slots: list[Any] = [None] * self._size
        for i, value in self._constants:
            slots[i] = value
        for i, value in zip(self._feeds, inputs, strict=True):
            slots[i] = value
        for step in self.steps:
            step.run(slots)
        return [slots[i] for i in self._outputs]

    run_raw_values = run

    def run_raw(self, feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Any:
        """``run`` with the arguments of a session's call."""
        return self.run([feeds[name] for name in self.input_names])

    def rescued(self, error: Exception, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """Raise what a step raised: steps explain their errors."""
        raise error


class Step:
    """One of the steps of a plan. Subclasses say what it does."""

    __slots__ = ("_released",)

    def __init__(self) -> None:
        self._released: list[int] = []

    def release(self, slots: list[int]) -> None:
        """Tell which slots nobody needs after this step."""
        self._released = slots

    def run(self, slots: list[Any]) -> None:
        """Do it, from slots into slots."""
        self._do(slots)
        for i in self._released:
            slots[i] = None

    def _do(self, slots: list[Any]) -> None:
        raise NotImplementedError


class SessionStep(Step):
    """A part of the graph that one session runs."""

    __slots__ = ("_copies", "_inputs", "_order", "_outputs", "_rivals", "plan")

    def __init__(
        self,
        plan: Plan,
        inputs: list[int],
        outputs: list[int],
        order: dict[int, int],
        copies: str | None,
    ) -> None:
        super().__init__()
        self.plan = plan
        self._inputs = inputs
        self._outputs = outputs
        # Number of each node in the program, by id.
        self._order = order
        # The device that inputs are copied to; None: all devices share the host's memory.
        self._copies = copies
        # Host calls of the same stage, with the values that they take.
        self._rivals: list[tuple[int, HostStep, list[Value]]] = []

    def _do(self, slots: list[Any]) -> None:
        """Run the session from slots into slots."""
        given = [slots[i] for i in self._inputs]
        if self._copies is not None:
            given = [raw_values.copy_to_device(v, self._copies) for v in given]
        plan = self.plan
        feeds = dict(zip(plan.input_names, given, strict=True))
        try:
            raw = plan.run_raw(feeds, plan.output_names, RUN_OPTIONS)
        except Exception as e:
            raw = self._rescued(e, feeds, given, slots)
        for number, i in enumerate(self._outputs):
            slots[i] = raw[number]

    def _rescued(
        self,
        error: Exception,
        feeds: dict[str, RawValue],
        given: list[RawValue],
        slots: list[Any],
    ) -> Sequence[RawValue]:
        """The results of a run that was only ended on behalf of another thread."""
        plan = self.plan
        try:
            return interrupts.repeated(error, plan, feeds, plan.output_names)
        except Exception as e:
            try:
                return plan.without_programs(e, given)
            except Exception as last:
                self._act_before(last, given, slots)
                raise plan.failure(last, given) from None

    def _act_before(self, error: Exception, given: list[RawValue], slots: list[Any]) -> None:
        """Carry out the host calls before the node that failed: an assertion speaks first."""
        node = outermost_node(str(error), self.plan.graph)
        if node is None:
            return
        place = self._order.get(id(node), -1)
        for number, step, values in self._rivals:
            if number > place:
                return
            part = self.plan.graph.copy()
            made = {id(v) for n in part.nodes for v in n.outputs}
            part.outputs = [v for v in values if id(v) in made]
            try:
                found = iter(Plan(part).run_raw_values(given) if part.outputs else ())
                contents = [
                    next(found) if id(v) in made else slots[i]
                    for v, i in zip(values, step.inputs, strict=True)
                ]
            except OpError:
                return
            step.act(contents)

    def against(self, rivals: list[tuple[int, HostStep, list[Value]]]) -> None:
        """Tell of the host calls of the stage, in program order."""
        self._rivals = rivals


class HostStep(Step):
    """Something that Python does with the contents of some slots."""

    __slots__ = ("_dtypes", "_outputs", "_state", "call", "inputs", "node")

    def __init__(self, node: Node, inputs: list[int], outputs: list[int]) -> None:
        super().__init__()
        self.node = node
        self.call: HostCall = node.attrs["call"]
        self._state: HostState | None = node.attrs.get(STATE)
        self.inputs = inputs
        self._outputs = outputs
        self._dtypes = [dtypes.from_onnx(v.dtype) for v in node.inputs if v is not None]

    def _do(self, slots: list[Any]) -> None:
        """Act, and put what Python returned into slots."""
        found = self.act([slots[i] for i in self.inputs])
        for i, tensor in zip(self._outputs, found or (), strict=True):
            slots[i] = tensor._raw

    def act(self, contents: Sequence[RawValue]) -> Sequence[Any] | None:
        """Act on these contents."""
        around = run_hooks.run_hook.get()
        if around is None:
            return self._act(contents)
        where = self.node.source.text() if self.node.source else ""
        result: Sequence[Any] | None = around.host(
            self.call.description, where, lambda: self._act(contents)
        )
        return result

    def _act(self, contents: Sequence[RawValue]) -> Sequence[Any] | None:
        state = self._state
        if state is None:
            return self._call_with(contents)
        count = len(contents) - len(state.pending)
        with state.shown(contents[count:], str(self.call), self.node.source):
            return self._call_with(contents[:count])

    def _call_with(self, contents: Sequence[RawValue]) -> Sequence[Any] | None:
        tensors = [EagerTensor(v, d) for v, d in zip(contents, self._dtypes, strict=False)]
        context = current()
        if not context.tapes and context.graph is None:
            return self.call.run(tensors)
        with using(graph=None, tapes=()):
            return self.call.run(tensors)


class BranchStep(Step):
    """An ``If`` whose branches have several steps."""

    __slots__ = ("_condition", "_outputs", "branches", "node")

    def __init__(self, node: Node, builder: _Builder) -> None:
        super().__init__()
        self.node = node
        assert node.inputs[0] is not None
        self._condition = builder.slot(node.inputs[0])
        self._outputs = [builder.slot(v) for v in node.outputs]
        device = node.device or builder.device
        self.branches = [
            _Body(node.attrs[name], device, builder) for name in ("else_branch", "then_branch")
        ]

    def _do(self, slots: list[Any]) -> None:
        """Run the branch that the condition chooses."""
        chosen = self.branches[bool(to_numpy(slots[self._condition]))]
        for i, raw in zip(self._outputs, chosen.run((), slots), strict=True):
            slots[i] = raw


class LoopStep(Step):
    """A ``Loop`` whose body has several steps."""

    __slots__ = ("_carried", "_condition", "_limit", "_outputs", "body", "node")

    def __init__(self, node: Node, builder: _Builder) -> None:
        super().__init__()
        limit, condition, *carried = node.inputs
        self.node = node
        self._limit = None if limit is None else builder.slot(limit)
        self._condition = None if condition is None else builder.slot(condition)
        self._carried = [builder.slot(v) for v in carried if v is not None]
        self._outputs = [builder.slot(v) for v in node.outputs]
        self.body = _Body(node.attrs["body"], node.device or builder.device, builder)

    def _do(self, slots: list[Any]) -> None:
        """Iterate."""
        limit = None if self._limit is None else int(to_numpy(slots[self._limit]).item())
        going = self._condition is None or bool(to_numpy(slots[self._condition]))
        carried = [slots[i] for i in self._carried]
        count = len(carried)
        collected: list[list[Any]] = [[] for _ in self._outputs[count:]]
        number = 0
        while going and (limit is None or number < limit):
            given = [from_numpy(np.array(number, np.int64)), from_numpy(np.array(going)), *carried]
            found = self.body.run(given, slots)
            going = bool(to_numpy(found[0]))
            carried = [found[i] for i in range(1, count + 1)]
            for i, values in enumerate(collected, count + 1):
                values.append(found[i])
            number += 1
        for i, raw in zip(self._outputs, carried, strict=False):
            slots[i] = raw
        scans = zip(self.node.outputs[count:], self._outputs[count:], collected, strict=True)
        for value, i, values in scans:
            slots[i] = _stacked(value, values)


def _stacked(value: Value, parts: Sequence[RawValue]) -> RawValue:
    """Return a loop's collected values, stacked along a new first dimension."""
    dtype = dtypes.from_onnx(value.dtype)
    if parts:
        return from_array(np.stack([EagerTensor(p, dtype).view() for p in parts]))._raw
    rest = [d if isinstance(d, int) else 0 for d in (value.shape or (0,))[1:]]
    return from_array(np.zeros([0, *rest], dtype.as_numpy_dtype))._raw


class _Body:
    """A branch or loop body as a plan of its own; values of the enclosing graph are inputs too."""

    def __init__(self, body: Graph, device: str, builder: _Builder) -> None:
        free = free_values(body)
        graph = body.copy()
        graph.parent = None
        graph.fuses = builder.graph.fuses
        graph.inputs = [*body.inputs, *free]
        self._free = [builder.slot(v) for v in free]
        self.plan = make_plan(graph, device)

    def run(self, given: Sequence[RawValue], slots: list[Any]) -> Sequence[RawValue]:
        return self.plan.run([*given, *[slots[i] for i in self._free]])


class _Builder:
    """Cuts a graph into steps.

    Attributes:
        slots: Number of each value, by id.
        contents: Slots that are filled from the start, with what is in them.
        steps: The result.
    """

    def __init__(self, graph: Graph, device: str, frozen: dict[Value, RawValue]) -> None:
        self.graph = graph
        self.device = device
        self.frozen = frozen
        self.slots: dict[int, int] = {}
        self.contents: list[tuple[int, RawValue]] = []
        self.steps: list[Any] = []
        self._constants = {id(v): v for v in graph.constants}
        self._order = {id(n): i for i, n in enumerate(graph.nodes)}
        # Of each value that a node makes: stage, and the lane that it is made in.
        self._made: dict[int, tuple[int, str]] = {}
        self._stages: list[dict[str, list[Node]]] = []
        self._several = any((n.device or device).split(":")[0] != "CPU" for n in graph.nodes)
        self._assign()
        self._build()
        self._release()

    def slot(self, value: Value) -> int:
        """The number of a value's slot, made when first asked for; constants are put into it."""
        number = self.slots.get(id(value))
        if number is None:
            number = self.slots[id(value)] = len(self.slots)
            if id(value) in self._constants:
                assert value.const is not None
                self.contents.append((number, from_numpy(value.const)))
            elif value in self.frozen:
                self.contents.append((number, self.frozen[value]))
        return number

    def _lane(self, node: Node, known: dict[int, bool]) -> str:
        if node.op == HOST or (node.op != CALL and _holds_steps(node, self.device, known)):
            return _HOST_LANE
        return node.device or self.device

    def _assign(self) -> None:
        """A stage and a lane for each node."""
        known: dict[int, bool] = {}
        last_effect = 0
        for node in self.graph.nodes:
            lane = self._lane(node, known)
            stage = 0
            for value in used_values(node):
                place = self._made.get(id(value))
                if place is None:
                    continue
                same = place[1] == lane or (lane == _HOST_LANE and place[1] != _HOST_LANE)
                stage = max(stage, place[0] if same else place[0] + 1)
            if lane == _HOST_LANE:
                stage = last_effect = max(stage, last_effect)
            while len(self._stages) <= stage:
                self._stages.append({})
            self._stages[stage].setdefault(lane, []).append(node)
            for value in node.outputs:
                self._made[id(value)] = (stage, lane)

    def _build(self) -> None:
        wanted = self._wanted()
        for stage in self._stages:
            acts = stage.pop(_HOST_LANE, [])
            first, acts = self._at_the_start(acts, stage)
            self.steps += [self._act(node) for node in first]
            sessions = []
            for lane, nodes in stage.items():
                step = self._session(lane, nodes, wanted)
                sessions.append(step)
                self.steps.append(step)
            rivals = []
            for node in acts:
                act = self._act(node)
                self.steps.append(act)
                if isinstance(act, HostStep):
                    values = [v for v in node.inputs if v is not None]
                    rivals.append((self._order[id(node)], act, values))
            for step in sessions:
                step.against(rivals)

    def _at_the_start(
        self, acts: list[Node], stage: dict[str, list[Node]]
    ) -> tuple[list[Node], list[Node]]:
        """Host calls that come before all else of their stage in the program, and the others.

        They need not wait for the sessions: who prints at the start of a long step wants to see it.
        """
        begins = min((self._order[id(nodes[0])] for nodes in stage.values()), default=0)
        count = sum(self._order[id(node)] < begins for node in acts)
        return acts[:count], acts[count:]

    def _wanted(self) -> set[int]:
        """Ids of values that are used by another step than the one that makes them."""
        wanted = {id(v) for v in self.graph.outputs}
        for stage in self._stages:
            for lane, nodes in stage.items():
                own = {id(v) for n in nodes for v in n.outputs} if lane != _HOST_LANE else set()
                for node in nodes:
                    wanted.update(id(v) for v in used_values(node) if id(v) not in own)
        return wanted

    def _session(self, lane: str, nodes: list[Node], wanted: set[int]) -> SessionStep:
        graph = Graph(self.graph.name)
        graph.fuses = self.graph.fuses
        graph._names = dict(self.graph._names)
        graph.nodes = nodes
        made = {id(v) for n in nodes for v in n.outputs}
        used = {id(v): v for n in nodes for v in used_values(n) if id(v) not in made}
        graph.constants = [v for i, v in used.items() if i in self._constants]
        graph.inputs = [v for i, v in used.items() if i not in self._constants]
        graph.outputs = [v for n in nodes for v in n.outputs if id(v) in wanted]
        frozen = {v: self.frozen[v] for v in graph.inputs if v in self.frozen}
        inputs = [self.slot(v) for v in graph.inputs if v not in frozen]
        outputs = [self.slot(v) for v in graph.outputs]
        copies = lane if self._several else None
        return SessionStep(Plan(graph, lane, frozen), inputs, outputs, self._order, copies)

    def _act(self, node: Node) -> Any:
        if node.op == HOST:
            given = [self.slot(v) for v in node.inputs if v is not None]
            return HostStep(node, given, [self.slot(v) for v in node.outputs])
        step: Callable[[Node, _Builder], Any] = _DRIVEN[node.op]
        return step(node, self)

    def _release(self) -> None:
        """Empty each slot after the last step that reads it, so that memory is free early."""
        kept = {self.slot(v) for v in self.graph.outputs}
        kept.update(i for i, _ in self.contents)
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for i in self._touched(step):
                last[i] = number
        for number, step in enumerate(self.steps):
            step.release([i for i, n in last.items() if n == number and i not in kept])

    def _touched(self, step: Any) -> list[int]:
        if isinstance(step, SessionStep):
            return [*step._inputs, *step._outputs]
        used = [*used_values(step.node), *step.node.outputs]
        return [self.slot(v) for v in used]


_DRIVEN: dict[str, Callable[[Node, _Builder], Any]] = {"If": BranchStep, "Loop": LoopStep}
