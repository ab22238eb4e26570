"""Jacobians: one backward pass for all elements of a target.

The gradient is traced for one seed, a tensor of the target's shape, and converted for all unit
seeds at once. What does not depend on the seed is computed once. Operations of the conversion are
recorded like any others, so Jacobians can be differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tfx.autodiff.backprop import backpropagate
from tfx.autodiff.tape import GradientTape, UnconnectedGradients
from tfx.control_flow.control_nodes import ControlSite, notify_recorders
from tfx.control_flow.map_fn import map_fn
from tfx.core import nest
from tfx.core.dtypes import DType
from tfx.core.errors import InternalError
from tfx.framework.builder import ox
from tfx.framework.context import Recorder, current, using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import Assigned, FuncGraph
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable, variable_of
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.graph.ir import Graph, Value, bodies_below
from tfx.ops.array.creation import zeros_like
from tfx.ops.common.arguments import cast_to, static_ints
from tfx.ops.common.batching import concat_shapes
from tfx.vectorize.batched_value import BatchedValue
from tfx.vectorize.batcher import Batcher
from tfx.vectorize.element_graph import ElementGraph
from tfx.vectorize.loop_fallback import Fallback, used_by
from tfx.vectorize.run_batched import Elements, live_nodes

# Seeds of a target, along a new first axis -> the gradients of the sources.
Backward = Callable[[Tensor], "list[Tensor | None]"]


def jacobian(
    tape: GradientTape,
    target: Any,
    sources: Any,
    unconnected_gradients: UnconnectedGradients | str,
    parallel_iterations: int | None,
    experimental_use_pfor: bool,
) -> Any:
    """See ``GradientTape.jacobian``."""
    target, flat = variable_of(target), [variable_of(s) for s in nest.flatten(sources)]
    _check(target, flat)
    backward = _backward(tape, target, flat, experimental_use_pfor, "jacobian")
    shape = _shape_of(target)
    count = ox.ReduceProd(shape, keepdims=1)
    known = target.shape.num_elements()
    if known is not None:
        count = int64_constant([known])
    unit = _unit(count, target.dtype)
    rows = ox.Reshape(unit, concat_shapes(count, shape), allowzero=1)
    found = _in_parts(backward, rows, parallel_iterations)
    zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    results: list[Tensor | None] = []
    for g, s in zip(found, flat, strict=True):
        if g is None and not zero:
            results.append(None)
            continue
        whole = concat_shapes(shape, _shape_of(s))
        g = ox.Expand(zeros_like(s), whole) if g is None else ox.Reshape(g, whole, allowzero=1)
        results.append(_stated(g, target.shape.concatenate(s.shape)))
    return nest.pack_sequence_as(sources, results)


def batch_jacobian(
    tape: GradientTape,
    target: Any,
    source: Any,
    unconnected_gradients: UnconnectedGradients | str,
    parallel_iterations: int | None,
    experimental_use_pfor: bool,
) -> Tensor:
    """See ``GradientTape.batch_jacobian``."""
    target, source = variable_of(target), variable_of(source)
    _check(target, [source])
    UnconnectedGradients(unconnected_gradients)
    for what, x in (("target", target), ("source", source)):
        if x.shape.rank is not None and x.shape.rank < 2:
            raise ValueError(
                f"Shape {x.shape} must have rank at least 2: {what} of batch_jacobian needs a "
                "batch and something in it."
            )
    if target.shape.rank and source.shape.rank:
        a, b = target.shape[0], source.shape[0]
        if a is not None and b is not None and a != b:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape "
                f"({source.shape}) to match."
            )
    backward = _backward(tape, target, [source], experimental_use_pfor, "batch_jacobian")
    shape = _shape_of(target)
    batch, row = _cut(shape, 0, 1), _cut(shape, 1, 2**62)
    count = ox.ReduceProd(row, keepdims=1)
    dims = target.shape.as_list() if target.shape.rank else [None, None]
    if None not in dims[1:]:
        count = int64_constant([math.prod(d for d in dims[1:] if d is not None)])
    unit = _unit(count, target.dtype)
    one = int64_constant([1])
    rows = ox.Reshape(unit, concat_shapes(count, one, row), allowzero=1)
    rows = ox.Expand(rows, concat_shapes(count, batch, row))
    (found,) = _in_parts(backward, rows, parallel_iterations)
    inner = _cut(_shape_of(source), 1, 2**62)
    whole = concat_shapes(shape, inner)
    known = target.shape.concatenate(source.shape[1:] if source.shape.rank else None)
    if found is None:
        zero = ox.Cast(int64_constant(0), to=target.dtype.onnx)
        return _stated(ox.Expand(zero, whole), known)
    size = ox.ReduceProd(inner, keepdims=1)
    found = ox.Reshape(found, concat_shapes(count, batch, size), allowzero=1)
    found = ox.Transpose(found, perm=(1, 0, 2))
    return _stated(ox.Reshape(found, whole, allowzero=1), known)


def _check(target: Any, sources: Sequence[Any]) -> None:
    if not isinstance(target, Tensor | Variable):
        raise TypeError(
            f"The target of a Jacobian must be one Tensor or Variable; got {target!r} of type "
            f"{type(target).__name__!r}. Call jacobian once for each, on a persistent tape."
        )
    for s in sources:
        if not isinstance(s, Tensor | Variable):
            raise TypeError(
                f"Cannot compute a Jacobian with respect to {s!r} of type {type(s).__name__!r}: "
                "expected a Tensor or Variable."
            )


def _backward(
    tape: GradientTape, target: Any, sources: Sequence[Any], at_once: bool, method: str
) -> Backward:
    """The backward pass, traced once and ready for seeds.

    Raises:
        RuntimeError: the tape is used up, or not persistent where that is needed.
    """
    eager = current().graph is None
    watched = tape._watched
    if not at_once and eager and not tape._persistent and tape._records is not None:
        raise RuntimeError(
            f"GradientTape must be created with persistent=True to compute the {method} with eager "
            "execution enabled and with experimental_use_pfor set to False."
        )
    records = tape._take_records()
    wanted = [s for s in sources if id(s) in watched or s is target]
    if not target.dtype.has_gradients:
        wanted = []

    def gradients(seed: Tensor) -> list[Tensor | None]:
        seeds = {id(target): seed}
        found = {id(s): seeds.get(id(s)) for s in wanted}
        known = [s for s in wanted if id(s) in watched]
        found.update(zip(map(id, known), backpropagate(records, seeds, known), strict=True))
        return [found.get(id(s)) for s in sources]

    if not wanted:
        return lambda rows: [None] * len(sources)
    if not eager:
        part = _Part(target, gradients, records)
        return part.at_once if at_once else part.one_by_one
    if at_once or target.shape.num_elements() == 0:
        return _EagerPart(target, gradients)
    return lambda rows: _stacked([gradients(r) for r in _rows(rows)], len(sources))


def _rows(x: Tensor) -> list[Tensor]:
    (count, *_) = x.shape.as_list()
    return [ox.Gather(x, int64_constant(i), axis=0) for i in range(count or 0)]


def _stacked(rows: list[list[Tensor | None]], count: int) -> list[Tensor | None]:
    results: list[Tensor | None] = []
    for i in range(count):
        column = [row[i] for row in rows]
        given = [x for x in column if x is not None]
        if len(given) < len(column) or not given:
            results.append(None)
            continue
        axis = int64_constant([0])
        parts = [ox.Unsqueeze(x, axis) for x in given]
        results.append(ox.Concat(*parts, axis=0))
    return results


class _EagerPart:
    """The backward pass of a tape of eager tensors, traced by itself."""

    def __init__(self, target: Any, gradients: Callable[[Tensor], list[Tensor | None]]) -> None:
        self._element = ElementGraph("jacobian")
        with using(graph=self._element, tapes=(), scope=""):
            self._seed = self._element.placeholder("seed", target.dtype.onnx, target.shape.symbolic)
            found = gradients(self._seed)
            self._present = [g is not None for g in found]
            self._element.graph.outputs = [
                self._element.value_of(g) for g in found if g is not None
            ]

    def __call__(self, rows: Tensor) -> list[Tensor | None]:
        number = rows.shape[0]
        assert number is not None
        size = int64_constant(number)
        elements = Elements(self._element, size, number, Fallback(), same_draws=True)
        results = iter(elements.run([(self._seed._symbol, rows, True)]))
        return [next(results) if present else None for present in self._present]


class _Part:
    """The backward pass inside a trace: added to the graph as for one seed, and taken out again.

    The rules of branches and loops extend the nodes of the forward pass, so they must run in the
    graph that these are in.
    """

    def __init__(
        self,
        target: Any,
        gradients: Callable[[Tensor], list[Tensor | None]],
        records: Sequence[OpRecord],
    ) -> None:
        graph = current().graph
        assert graph is not None
        self._graph = graph
        nodes = graph.graph.nodes
        last = nodes[-1] if nodes else None
        name = graph.graph.unique_name("seed")
        self._seed = Value(name, target.dtype.onnx, target.shape.symbolic)
        later = _Additions(current().tapes)
        with using(tapes=(later,) if later.tapes else ()):
            found = gradients(SymbolicTensor(self._seed, graph))
        end = 0 if last is None else _index(nodes, last) + 1
        self._nodes = Graph("jacobian", graph.graph)
        self._nodes.nodes = nodes[end:]
        del nodes[end:]
        later.tell(self._nodes)
        self._present = [g is not None for g in found]
        self._nodes.outputs = [graph.value_of(g) for g in found if g is not None]
        self._nodes.nodes = live_nodes(self._nodes)
        self._known = _tensors_of(records, graph)

    def _tensor(self, value: Value) -> Tensor:
        """A value of the enclosing graph by the tensor that tapes know it by."""
        known = self._known.get(id(value))
        return SymbolicTensor(value, self._graph) if known is None else known

    def at_once(self, rows: Tensor) -> list[Tensor | None]:
        """Run the pass for all seeds at once."""
        number = rows.shape[0]
        if number is not None:
            size = int64_constant(number)
        else:
            size = ox.Gather(ox.Shape(rows), int64_constant(0), axis=0)
        batcher = Batcher(
            size,
            number,
            Fallback(),
            lambda v: BatchedValue(self._tensor(v), False),
            same_draws=True,
        )
        batcher.put(self._seed, rows, True)
        return self._full(
            [batcher.full(batched_value) for batched_value in batcher.run(self._nodes)]
        )

    def one_by_one(self, rows: Tensor) -> list[Tensor | None]:
        """Run the pass for one seed after another."""
        outputs = self._nodes.outputs
        free = {id(v): v for node in self._nodes.nodes for v in used_by(node)}
        free.update({id(v): v for v in outputs})
        made = {id(v) for node in self._nodes.nodes for v in node.outputs}
        around = [v for key, v in free.items() if key not in made and v is not self._seed]

        def one(seed: Tensor) -> list[Tensor]:
            target = current().graph
            assert target is not None
            mapping = {id(v): self._tensor(v) for v in around}
            mapping[id(self._seed)] = seed
            inline_nodes(self._nodes, mapping, target)
            return [mapping[id(v)] for v in outputs]

        kinds = [SymbolicTensor(v, self._graph).dtype for v in outputs]
        return self._full(map_fn(one, rows, fn_output_signature=kinds))

    def _full(self, found: Sequence[Tensor]) -> list[Tensor | None]:
        given = iter(found)
        return [next(given) if present else None for present in self._present]


class _Additions:
    """Notes the results that branches and loops of the forward pass get, for the tapes around.

    The nodes of the pass itself are none of their business: what is made of them for all seeds is.
    """

    def __init__(self, tapes: tuple[Recorder, ...]) -> None:
        self.tapes = tapes
        self._noted: list[tuple[str, dict[str, Any], Sequence[Any], Sequence[Any]]] = []

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        """Note a branch or loop."""
        if "control" in attrs:
            self._noted.append((op, attrs, inputs, outputs))

    def watch_variable(self, variable: Any) -> None:
        """Reads are of no interest."""

    def depends(self, x: Any) -> bool:
        """True if a tape around would record an operation on ``x``."""
        return any(tape.depends(x) for tape in self.tapes)

    def tell(self, taken_out: Graph) -> None:
        """Record on the tapes the nodes that are not of the pass itself."""
        if self._noted:
            own = {id(n) for g in (taken_out, *bodies_below(taken_out)) for n in g.nodes}
            for op, attrs, inputs, outputs in self._noted:
                if id(attrs["control"].node) not in own:
                    notify_recorders(op, attrs, inputs, outputs)


def _index(nodes: Sequence[Any], node: Any) -> int:
    for i in range(len(nodes) - 1, -1, -1):
        if nodes[i] is node:
            return i
    raise InternalError(f"{node!r} is no node of the graph any more.")


def _tensors_of(records: Sequence[OpRecord], graph: FuncGraph) -> dict[int, Tensor]:
    """The tensors that tapes know values of the graph by, by the ``id`` of the value."""
    known: dict[int, Tensor] = {}
    for record in records:
        control = record.attrs.get("control")
        node = control.node if isinstance(control, ControlSite) else None
        tag = None if node is None else node.tag
        # What is assigned is read as another tensor, which depends on the variable.
        assigned: set[int] = set()
        if node is not None and isinstance(tag, Assigned):
            assigned = {id(node.outputs[i]) for i in tag.outputs}
        given = [x for x in record.outputs if id(getattr(x, "_symbol", None)) not in assigned]
        for x in (*record.inputs, *given):
            if isinstance(x, SymbolicTensor):
                known.setdefault(id(x._symbol), x)
            elif isinstance(x, Tensor):
                known.setdefault(id(graph.value_of(x)), x)
        if isinstance(control, ControlSite):
            for key, tensor in control.kept.items():
                known.setdefault(key, tensor)
    return known


def _in_parts(backward: Backward, rows: Tensor, parallel: int | None) -> list[Tensor | None]:
    """The backward pass for at most ``parallel`` seeds at a time, where their number is known."""
    count = rows.shape[0]
    if parallel is None or count is None or count <= parallel:
        return backward(rows)
    if parallel < 1:
        raise ValueError(f"parallel_iterations must be positive; got {parallel}.")
    parts = []
    for start in range(0, count, parallel):
        ends = int64_constant([start]), int64_constant([min(start + parallel, count)])
        parts.append(backward(ox.Slice(rows, *ends, int64_constant([0]))))
    columns: list[Tensor | None] = []
    for column in zip(*parts, strict=True):
        given = [x for x in column if x is not None]
        columns.append(ox.Concat(*given, axis=0) if given else None)
    return columns


def _shape_of(x: Any) -> Tensor:
    shape = x.shape
    if shape.is_fully_defined():
        return int64_constant(shape.as_list())
    return ox.Shape(x if isinstance(x, Tensor) else x.stored_value())


def _cut(shape: Tensor, start: int, end: int) -> Tensor:
    known = static_ints(shape)
    if known is not None:
        return int64_constant(known[start:end])
    ends = int64_constant([start]), int64_constant([end])
    return ox.Slice(shape, *ends, int64_constant([0]))


def _unit(count: Tensor, dtype: DType) -> Tensor:
    """The unit matrix of so many rows."""
    square = ox.ConstantOfShape(concat_shapes(count, count))
    return cast_to(ox.EyeLike(square), dtype)


def _stated(x: Tensor, shape: Any) -> Tensor:
    if isinstance(x, SymbolicTensor):
        x.set_shape(shape)
    return x
