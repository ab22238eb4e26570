"""A graph compiled to a session, and how its inputs and outputs are bound.

A *live* plan takes variables as inputs. A *frozen* one holds them as initializers, which ONNX
Runtime can fold and prepack (1.15 to 1.6 times faster).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.dtypes import DType
from tfx.core.errors import OpError, UnimplementedError
from tfx.framework.tensor import EagerTensor
from tfx.function.execution.cuda_graph_check import can_capture
from tfx.function.execution.feeds import by_values, feeds_from_tensors
from tfx.function.execution.rewrite_options import half_dtype
from tfx.function.execution.run_errors import Run, translate_failure
from tfx.function.execution.sized_plans import SizedRunner, has_open_sizes
from tfx.graph.fusion.elementwise import fused_operators, fused_plan
from tfx.graph.fusion.failures import is_in_program
from tfx.graph.fusion.made_of import Fusion, fusion_of
from tfx.graph.ir import Graph, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.passes.fold_branches import has_branches
from tfx.graph.passes.hoist_constants import hoist_constants
from tfx.graph.passes.pipeline import prepare, tune_for_cpu, tune_for_gpu
from tfx.graph.passes.unroll_scans import unroll_scans
from tfx.graph.serialization.serialize import ExternalData, to_model
from tfx.kernels.library import Library, give_up, usable_library, why_not
from tfx.runtime import interrupts, run_hooks
from tfx.runtime.kept_binding import serves
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.session import Registration, Runner, Session
from tfx.runtime.threads import thread_count
from tfx.runtime.values import RawValue, from_numpy

# Constants above this size are shared with the session instead of copied into the model.
_INLINE_LIMIT = 1 << 16
# Programs that refused so many runs, one soon after the other, are not tried any more: soon is
# within so many times what the operators took instead. A batch now and then costs little.
_MOST_REFUSALS, _SHARE = 8, 4


class RunsTensors:
    """A plan: what it runs on values, it runs on tensors.

    Attributes:
        dtypes: Of the results.
    """

    __slots__ = ()
    dtypes: list[DType]

    def run(self, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """Run with one value for each input that is not frozen."""
        raise NotImplementedError

    def run_tensors(self, inputs: Sequence[EagerTensor]) -> list[EagerTensor]:
        """``run`` on tensors."""
        raw = self.run([t._raw for t in inputs])
        # By number: an iterator over ONNX Runtime's vector costs 35 us.
        return [EagerTensor(raw[i], d) for i, d in enumerate(self.dtypes)]


class Plan(RunsTensors):
    """One session for a graph.

    Args:
        graph: What to run; inputs are fed in order, or frozen.
        device: Canonical device name.
        frozen: Values of inputs that never change while the plan is used.
        fuse: Let the fused kernels run element-wise operators, where there are such kernels.
    """

    __slots__ = (
        "__weakref__",
        "_refusals",
        "_rescued_at",
        "_unfused",
        "dtypes",
        "feed_tensors",
        "feed_values",
        "frozen",
        "fused",
        "fusion",
        "graph",
        "input_names",
        "output_names",
        "preparation_seconds",
        "run_raw",
        "session",
    )

    def __init__(
        self,
        graph: Graph,
        device: str = "CPU:0",
        frozen: dict[Value, RawValue] | None = None,
        *,
        fuse: bool = True,
    ) -> None:
        began = perf_counter()
        frozen = frozen or {}
        self.graph = graph
        self.frozen = frozen
        self.fused = False
        # What programs of the fused kernels were made of, and what runs beside them.
        self.fusion = Fusion()
        self._unfused: Plan | None = None
        self._refusals = 0
        self._rescued_at = 0.0
        on_cpu = device.startswith("CPU")
        library = self._library() if fuse and on_cpu else None
        ready = self._prepared(device, own_kernels=library is not None)
        self.run_raw: Runner = _run_nothing
        if graph.outputs:  # ONNX Runtime takes no model without outputs
            try:
                self.session = self._compiled(ready, device, library)
            except OpError as e:
                raise translate_failure(e, graph, None, _compiled) from e
            if library is not None:
                self._library()  # that ONNX Runtime did not take them, it has said just now
            self.run_raw = self.session.run_raw
            if not on_cpu and has_open_sizes(graph):
                self.run_raw = self._by_sizes(device)
            run_hooks.register(self)
        # Names that no value of a graph has: constants keep theirs.
        names = _input_names(graph)
        self.input_names = [n for n, v in zip(names, graph.inputs, strict=True) if v not in frozen]
        self.feed_tensors = feeds_from_tensors(self.input_names)
        self.feed_values = by_values(self.input_names)
        self.output_names = [f"%out{i}" for i in range(len(graph.outputs))]
        self.dtypes = [dtypes.from_onnx(v.dtype) for v in graph.outputs]
        self.preparation_seconds = perf_counter() - began

    def _library(self) -> Library | None:
        library = usable_library(self.graph.fuses)
        if library is None and self.graph.fuses:
            raise UnimplementedError(
                f"jit_compile=True needs the fused kernels, and {why_not()}. Without it the "
                "function runs, with the same results."
            )
        return library

    def _prepared(self, device: str, *, own_kernels: bool) -> Graph:
        on_cpu = device.startswith("CPU")
        ready = prepare(
            self.graph,
            device=device,
            known=self.frozen,
            runs_here=on_cpu,
            own_kernels=own_kernels,
            half=half_dtype(device),
        )
        if on_cpu:
            return tune_for_cpu(ready, thread_count())
        scanned = tune_for_gpu(ready)
        # Only what becomes a CUDA graph gains from steps one by one.
        unrolled = unroll_scans(scanned)
        return unrolled if can_capture(unrolled, device) else scanned

    def _by_sizes(self, device: str) -> SizedRunner:
        def made(graph: Graph, frozen: dict[Value, RawValue]) -> Plan:
            return Plan(graph, device, frozen)

        names = _input_names(self.graph)
        plain = run_hooks.plain(self.session.run_raw)
        return SizedRunner(self.graph, names, self.frozen, plain, made)

    def _compiled(self, ready: Graph, device: str, library: Library | None) -> Session:
        """The session of a prepared graph."""
        if library is not None:
            constant = frozenset(map(id, self.frozen))
            together = fused_plan(ready, library.instructions, constant)
            operators = fused_operators(together)
            if operators:
                register = library.registration(operators)
                try:
                    session = self._session(together, device, register)
                except OpError as e:
                    # Or what is wrong is the graph.
                    plain = self._session(self._prepared(device, own_kernels=False), device, None)
                    give_up(e)
                    return plain
                self.fused = True
                self.fusion = fusion_of(together)
                return session
        return self._session(ready, device, None)

    def _session(self, ready: Graph, device: str, operators: Registration | None) -> Session:
        ready = hoist_constants(ready, _INLINE_LIMIT + 1)
        shared = {
            v: from_numpy(v.const, owned=True)
            for v in ready.constants
            if v.const is not None
            and v.const.nbytes > _INLINE_LIMIT
            and not v.const.dtype.hasobject
        }
        values = {**self.frozen, **shared}
        stand_ins = {v: _external(raw, i) for i, (v, raw) in enumerate(values.items())}
        model = to_model(
            ready,
            input_names=_input_names(self.graph),
            output_names=[f"%out{i}" for i in range(len(self.graph.outputs))],
            initializers=stand_ins,
        )
        given = _given(model, values, ready)
        serialized = model.SerializeToString()
        return Session(
            serialized,
            device=device,
            initializers=given,
            capture=can_capture(ready, device),
            folds=not has_branches(ready),
            keeps_binding=not values and _is_small(self.graph, device, len(serialized)),
            operators=operators,
        )

    def run(self, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """Run with one value for each input that is not frozen."""
        try:
            return self.run_raw(self.feed_values(*inputs), self.output_names, RUN_OPTIONS)
        except Exception as e:
            return self.rescued(e, inputs)

    def rescued(self, error: Exception, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """The results of a run that was only ended on behalf of another thread.

        Args:
            error: What the run raised.
            inputs: A value for each input that is not frozen.

        Raises:
            OpError: the run failed by itself.
        """
        try:
            feeds = self.feed_values(*inputs)
            return interrupts.repeated(error, self, feeds, self.output_names)
        except Exception as e:
            try:
                return self.without_programs(e, inputs)
            except Exception as last:
                raise self.failure(last, inputs) from None

    def without_programs(self, error: Exception, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """The results of the operators one by one, for a run that failed in a fused program.

        Args:
            error: What the run raised.
            inputs: A value for each input that is not frozen.

        Raises:
            Exception: what the operators raise; ``error``, if no program raised it.
        """
        if not (self.fused and is_in_program(error)):
            raise error
        began = perf_counter()
        if self._unfused is None:
            self._unfused = Plan(self.graph, frozen=self.frozen, fuse=False)
        found = self._unfused.run_raw_values(inputs)
        self._remember_refusal(self._unfused, began)
        return found

    def _remember_refusal(self, unfused: Plan, began: float) -> None:
        """Leave the programs alone from now on, if runs take most of their time to be repeated."""
        now = perf_counter()
        follows = began - self._rescued_at < _SHARE * (now - began)
        self._refusals = self._refusals + 1 if follows else 1
        self._rescued_at = now
        if self._refusals < _MOST_REFUSALS:
            return
        self.session, self.fused, self.fusion = unfused.session, False, unfused.fusion
        self.run_raw = self.session.run_raw
        run_hooks.register(self)

    def failure(self, error: Exception, inputs: Sequence[RawValue]) -> OpError:
        """The exception for a failed run: operator, reason, the shapes it met, the user's line."""
        fed = iter(inputs)
        every = [self.frozen[v] if v in self.frozen else next(fed) for v in self.graph.inputs]
        return translate_failure(error, self.graph, every, _compiled)

    def run_raw_values(self, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """``run`` without translation of errors."""
        return self.run_raw(self.feed_values(*inputs), self.output_names, RUN_OPTIONS)


def _input_names(graph: Graph) -> list[str]:
    """Names for the inputs of a model that no value of the graph has."""
    return [f"%in{i}" for i in range(len(graph.inputs))]


def _run_nothing(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> list[RawValue]:
    """Run a graph that returns nothing."""
    return []


def _compiled(graph: Graph) -> Run:
    """Return a function that runs a part of a failed graph."""
    plan, count = Plan(graph), len(graph.outputs)

    def run(inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        values = plan.run_raw_values(inputs)
        return [values[i] for i in range(count)]

    return run


def _is_small(graph: Graph, device: str, model_bytes: int) -> bool:
    """True if calls gain from a binding that is kept."""
    sizes = [_size(value) for value in graph.inputs]
    return device.startswith("CPU") and serves(sizes, len(graph.outputs), model_bytes)


def _size(value: Value) -> int | None:
    """Bytes of an input, None where only a call tells."""
    shape = value.shape
    if shape is None or value.dtype == dtypes.string.onnx:
        return None
    if not is_static(shape):
        return None
    return math.prod(shape) * dtypes.from_onnx(value.dtype).size


def _given(model: Any, values: Mapping[Value, RawValue], ready: Graph) -> dict[str, RawValue]:
    """The values of a model's stand-ins by name; a stand-in that nothing uses leaves the model.

    Such are weights that a pass has brought into another order. Constants of called graphs can have
    equal names, which the model made unique.
    """
    used = {id(v) for node in ready.nodes for v in used_values(node)} if values else set()
    used.update(map(id, ready.outputs))
    stands_for = list(values.items())
    given: dict[str, RawValue] = {}
    kept = []
    for tensor in model.graph.initializer:
        if tensor.external_data:
            value, raw = stands_for[int(tensor.external_data[0].value)]
            if id(value) not in used:
                continue
            given[tensor.name] = raw
        kept.append(tensor)
    if len(kept) < len(model.graph.initializer):
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)
    return given


def _external(raw: RawValue, number: int) -> ExternalData:
    """A numbered stand-in for contents that are given to the session directly."""
    return ExternalData(str(number), 0, 0, tuple(raw.shape()))
