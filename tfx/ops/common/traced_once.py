"""``Composite``: work of many operators as one session or one call node.

A random generator is some 150 operators. Run one by one they cost 6 us each, and every use in a
trace would repeat them. A composite is traced once per combination of dtypes and options: eagerly
it is one ONNX Runtime session, in a trace one call of an ONNX local function. Tapes ignore one
without slopes, so that is only for computations that no gradient goes through.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import OpError
from tfx.framework.builder import ox
from tfx.framework.compiled_graphs import alike, compiled, plainly_compiled
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.context import current, using
from tfx.framework.device import DEFAULT_DEVICE, placed
from tfx.framework.func_graph import FuncGraph
from tfx.framework.node_names import name_node
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, from_array, label, raw_of
from tfx.graph import ir
from tfx.graph.complex_pairs import joined_array, parts_of_array
from tfx.graph.fusion.failures import is_in_program
from tfx.graph.passes.join_pairs import join_pairs
from tfx.kernels.programs import MatrixOperation
from tfx.ops.common.arguments import unbroadcast
from tfx.runtime.session import Session
from tfx.runtime.values import to_numpy

Body = Callable[..., Sequence[Tensor]]
# Takes an array for each input, returns one for each result; None: it is not for such inputs.
HostRoutine = Callable[..., Sequence[np.ndarray[Any, Any]] | None]
Slope = Callable[..., Tensor] | None


class Composite:
    """A function of tensors that runs as a unit.

    Args:
        body: Takes tensors (and hashable options by keyword), returns a sequence of tensors. It is
            always called under a trace.
        name: Name of the local function; None takes the body's.
        slopes: Where it computes element by element: the derivative by each input, given all
            inputs as tensors (None: no gradient flows to it). Without slopes no gradient flows
            through it eagerly.
        routine: The same on the CPU by a library of Python's: used eagerly, and in plans outside of
            branches and loops. What is saved never has it.
        routine_from: Elements from which plans use it; see ``Graph.routine_from``.
        kernel: Given the options, which routine of the fused kernels computes the first result;
            those behind it have the following ones.
    """

    def __init__(
        self,
        body: Body,
        name: str | None = None,
        slopes: Sequence[Slope] = (),
        routine: HostRoutine | None = None,
        routine_from: int | None = None,
        kernel: Callable[..., MatrixOperation] | None = None,
    ) -> None:
        self._body = body
        self._slopes = slopes
        self._routine = routine
        self._routine_from = routine_from
        self._kernel = kernel
        self._name = name or body.__name__.strip("_")
        self._graphs: dict[Any, ir.Graph] = {}
        self._sessions: dict[Any, Session] = {}

    def __call__(
        self, *inputs: Tensor, shapes: Sequence[ir.RawShape] | None = None, **options: Any
    ) -> tuple[Tensor, ...]:
        """Run, or add a call node while tracing.

        Args:
            inputs: Arguments of the body.
            shapes: Static shapes of the results where they are known better than from ranks.
            options: Options of the body.
        """
        kinds = tuple([x.dtype.onnx for x in inputs])
        key = (kinds, self._sizes(inputs), tuple(sorted(options.items())))
        graph = self._graphs.get(key)
        if graph is None:
            # One graph for all, whichever thread comes first: a graph is known by its identity.
            graph = self._graphs.setdefault(key, self._trace(inputs, options))
        context = current()
        if context.graph is not None:
            results = _call(context.graph, graph, inputs, shapes)
        else:
            device = placed(context.device, self._name, self._name, inputs) or DEFAULT_DEVICE
            results = self._run(graph, key, inputs, device, options)
        if self._slopes:
            for tape in context.tapes:
                tape.record(ir.CALL, {"graph": graph}, inputs, results)
        return results

    @functools.cached_property
    def on_pairs(self) -> Composite:
        """The same of complex numbers, which are given and returned as pairs along a last axis."""
        name = f"{self._name}_of_complex"
        routine = self._routine

        def body(*pairs: Tensor, **options: Any) -> Sequence[Tensor]:
            found = self._body(*[joined(x) for x in pairs], **options)
            return [parts(y) if y.dtype.is_complex else y for y in found]

        def by_library(*pairs: Any, **options: Any) -> Sequence[np.ndarray[Any, Any]] | None:
            assert routine is not None
            found = routine(*[joined_array(x) for x in pairs], **options)
            if found is None:
                return None
            return [parts_of_array(y) if np.iscomplexobj(y) else y for y in found]

        return Composite(body, name, routine=None if routine is None else by_library)

    def _sizes(self, inputs: Sequence[Tensor]) -> tuple[ir.RawShape, ...]:
        """What a graph knows of the shapes of inputs: it serves all that are alike."""
        return tuple([_of_rank(x.shape.rank) for x in inputs])

    def _trace(self, inputs: Sequence[Tensor], options: dict[str, Any]) -> ir.Graph:
        traced = FuncGraph(self._name)
        traced.named_after_calls, traced.graph.library = False, True
        traced.graph.slopes = self._slopes
        if self._routine is not None:
            traced.graph.routine = lambda given: self(*given, **options)
            traced.graph.routine_from = self._routine_from
        if self._kernel is not None:
            traced.graph.kernel = self._kernel(**options)
        with using(graph=traced, tapes=(), scope="", device=None):
            pairs = zip(inputs, self._sizes(inputs), strict=True)
            arguments = [
                traced.add_argument(f"x{i}", x.dtype.onnx, sizes)
                for i, (x, sizes) in enumerate(pairs)
            ]
            results = self._body(*arguments, **options)
            traced.graph.outputs = [traced.value_of(r) for r in results]
        return join_pairs(traced.graph)

    def _run(
        self,
        graph: ir.Graph,
        key: Any,
        inputs: Sequence[Tensor],
        device: str,
        options: dict[str, Any],
    ) -> tuple[Tensor, ...]:
        if self._routine is not None and device.startswith("CPU"):
            found = self._routine(*[to_numpy(raw_of(x)) for x in inputs], **options)
            if found is not None:
                arrays = [np.asarray(y, order="C") for y in found]  # scalars stay scalars
                return tuple([label(from_array(y, owned=True), device) for y in arrays])
        session = self._sessions.get((key, device))
        if session is None:
            session = self._sessions[key, device] = compiled(graph, device)
        feeds = {name: raw_of(x) for name, x in zip(session.input_names, inputs, strict=True)}
        try:
            raw = session.run(feeds)
        except OpError as e:
            if not is_in_program(e):
                raise
            plain = plainly_compiled(graph, device)
            raw = plain.run(feeds)  # its result or error counts
            self._sessions[key, device] = plain
        kinds = [dtypes.from_onnx(v.dtype) for v in graph.outputs]
        # By number: an iterator over ONNX Runtime's vector costs 35 us.
        return tuple([label(EagerTensor(raw[i], kind), device) for i, kind in enumerate(kinds)])


class _EagerUnit(Composite):
    """Knows which sizes of its inputs are the same, so that they are one loop of a program."""

    def _sizes(self, inputs: Sequence[Tensor]) -> tuple[ir.RawShape, ...]:
        return alike([raw_of(x).shape() for x in inputs])


def eagerly_at_once(body: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of several operators, which runs as one session while nothing records it.

    In a trace, and under a tape, its operators are what they are.

    Args:
        body: Takes tensors alone, and returns one. Whatever depends on their contents, or refuses
            them, is not its business.
    """
    unit = _EagerUnit(lambda *inputs: [body(*inputs)], body.__name__.strip("_"))

    @functools.wraps(body)
    def function(*inputs: Tensor) -> Tensor:
        context = current()
        if context.graph is not None or context.tapes or any(x.dtype.is_complex for x in inputs):
            return body(*inputs)
        return unit(*inputs)[0]

    return function


def _of_rank(rank: int | None) -> ir.RawShape:
    """Rank only: one graph serves every shape. Vectors keep their length open, too."""
    return None if rank is None else (None,) * rank


def _call(
    trace: FuncGraph,
    callee: ir.Graph,
    inputs: Sequence[Tensor],
    shapes: Sequence[ir.RawShape] | None,
) -> tuple[Tensor, ...]:
    values = [trace.value_of(x) for x in inputs]
    known = shapes or [v.shape for v in callee.outputs]
    types = [(v.dtype, shape) for v, shape in zip(callee.outputs, known, strict=True)]
    name = name_node(trace, callee.name)
    node = trace.graph.add_node(
        ir.CALL, values, {"graph": callee}, types, name=name.text, source=name.source
    )
    name.given_to(node)
    return tuple(SymbolicTensor(v, trace) for v in node.outputs)


def slope_gradients(op: OpRecord, dy: Tensor | None) -> list[Tensor | None]:
    """The gradient rule of a call of a graph with slopes."""
    if dy is None:
        return [None] * len(op.inputs)
    slopes = op.attrs["graph"].slopes
    return [
        unbroadcast(ox.Mul(dy, slope(*op.inputs)), x) if needed and slope is not None else None
        for slope, x, needed in zip(slopes, op.inputs, op.needs, strict=True)
    ]


def slope_tangents(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """The forward rule of a call of a graph with slopes."""
    total: Tensor | None = None
    for slope, tangent in zip(op.attrs["graph"].slopes, tangents, strict=True):
        if tangent is not None and slope is not None:
            part = ox.Mul(tangent, slope(*op.inputs))
            total = part if total is None else ox.Add(total, part)
    return total
