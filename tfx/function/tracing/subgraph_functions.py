"""Parts of a function's graph as graphs of functions: for ``prune`` and ``function_from_graph``.

A part goes from tensors that are fed to tensors that are fetched. Variables stay variables: what
the part reads it reads at each call, and an assignment that a fetched value follows is carried out,
since the value was read after it. Random operations go on drawing fresh numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tfx.core import nest
from tfx.core.dtypes import from_onnx
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.operation import Operation
from tfx.framework.tensor import EagerTensor, SymbolicTensor
from tfx.framework.variable import Variable
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.parameters import Parameters
from tfx.graph import ir
from tfx.graph.passes.dead_code import has_effects
from tfx.graph.passes.extract_subgraph import Emitter, Part
from tfx.graph.printer import name_of
from tfx.graph.verify import verify_if_enabled


class FunctionParts(NamedTuple):
    """What a concrete function is made of, see there."""

    func_graph: FuncGraph
    signature: CallSignature
    results: Any
    home: Any


def prune(
    source: FuncGraph,
    feeds: Any,
    fetches: Any,
    name: str | None = None,
    input_signature: Any = None,
    are_keyword_args_also_positional: bool = False,
    *,
    drop_stateful: bool = True,
) -> FunctionParts:
    """A function from some tensors of a graph to others; see ``ConcreteFunction.prune``."""
    flat = nest.flatten(feeds)
    values = [_fed(source, x) for x in flat]
    kept = [(x, v) for x, v in zip(flat, values, strict=True) if not _ignored(source, x, v)]
    _check_distinct(kept)
    wanted = _Fetches(source, fetches)
    required = {id(n) for n in wanted.nodes}
    if not drop_stateful:
        required |= stateful_nodes(source.graph)
    derivation = Derivation(
        source,
        source.graph,
        name or "pruned",
        [v for _, v in kept if v is not None],
        wanted.values,
        required,
        described=wanted.described,
    )
    names = _argument_names(feeds, kept)
    signature = _signature(
        derivation, names, input_signature, positional=are_keyword_args_also_positional
    )
    return derivation.finish(signature, wanted.template)


class Derivation:
    """A part of a graph on its way to become a function.

    Args:
        source: The function's graph.
        graph: Its nodes, or a rewritten copy with the same inputs.
        name: Name of the new function.
        fed: What the new function takes, in order.
        fetched: What it returns, in order.
        required: ``id`` of nodes that must run although no result needs them.
        described: What to call each result in messages.

    Raises:
        ValueError: a result depends on an argument that is not fed.
    """

    def __init__(
        self,
        source: FuncGraph,
        graph: ir.Graph,
        name: str,
        fed: Sequence[ir.Value],
        fetched: Sequence[ir.Value],
        required: Collection[int] = (),
        described: Sequence[str] = (),
    ) -> None:
        self._source = source
        part = Part(graph, fed, fetched, required)
        draws = _draws(graph, part)
        if draws:
            part = Part(graph, fed, fetched, {*required, *draws})
        target = FuncGraph(name, source.parent)
        target.home = source.home
        target.graph.fuses = graph.fuses
        self.func_graph = target
        emitter = Emitter(target.graph)
        given = {id(v) for v in graph.inputs}
        for value in fed:
            argument = target.add_argument(_input_name(value), value.dtype, value.shape)._symbol
            if id(value) not in given and value.shape is not None:
                # Of another size than what was computed, perhaps.
                argument.shape = tuple(
                    d if isinstance(d, int) else f"{argument.name}.d{i}"
                    for i, d in enumerate(value.shape)
                )
            emitter.give(value, argument, computed=id(value) not in given)
        self._bring_in(graph, part, emitter, fetched, described)
        for node in part.nodes:
            made = emitter.emit(node)
            if isinstance(node.tag, Assigned):
                made.tag = self._assign(node.tag, made)
        target.graph.outputs = [emitter.get(v) for v in fetched]
        for state in target.written_states():
            assert state.current is not None
            target.graph.outputs.append(state.current)
        for tensor, value in source.captured_eager.values():
            constant = emitter.values.get(id(value))
            if constant is not None and constant.const is not None:
                target.captured_eager[id(tensor)] = (tensor, constant)
        verify_if_enabled(target.graph)

    def _bring_in(
        self,
        graph: ir.Graph,
        part: Part,
        emitter: Emitter,
        fetched: Sequence[ir.Value],
        described: Sequence[str],
    ) -> None:
        """Captures and variables that the part uses; arguments that it lacks are an error."""
        source, target = self._source, self.func_graph
        outer = {id(inner): tensor for tensor, inner in source.captured.values()}
        states = {id(s.entry): s for s in source.read_states()}
        for value in graph.inputs:
            if id(value) not in part.used or id(value) in emitter.values:
                continue
            if id(value) in outer:
                emitter.give(value, target.value_of(outer[id(value)]), computed=False)
            elif id(value) in states:
                tensor = target.read(states[id(value)].variable())
                emitter.give(value, tensor._symbol, computed=False)
            else:
                raise _not_computable(source, part, value, fetched, described)

    def _assign(self, tag: Assigned, made: ir.Node) -> Assigned:
        """The same variables get new values in the new graph."""
        outputs: dict[int, TracedVariable] = {}
        for number, old in tag.outputs.items():
            state = self.func_graph.state_of(old.variable())
            if not tag.again:
                state.current = made.outputs[number]
                state.written = True
            outputs[number] = state
        return Assigned(outputs, tag.again)

    def finish(self, signature: CallSignature, template: Any) -> FunctionParts:
        """The function.

        Args:
            signature: How it is called.
            template: The structure of its results; None stays, everything else is a result.
        """
        target = self.func_graph
        outputs = iter(target.graph.outputs)
        leaves = [
            None if x is None else SymbolicTensor(next(outputs), target)
            for x in nest.flatten(template)
        ]
        results = nest.pack_sequence_as(template, leaves)
        return FunctionParts(target, signature, results, self._source.home)


def stateful_nodes(graph: ir.Graph) -> set[int]:
    """``id`` of the nodes that assign variables or do something besides computing."""
    found = set()
    alone = ir.Graph(graph.name)
    for node in graph.nodes:
        alone.nodes = [node]
        if isinstance(node.tag, Assigned) or has_effects(alone):
            found.add(id(node))
    return found


def _draws(graph: ir.Graph, part: Part) -> set[int]:
    """``id`` of the assignments by which random operations of a part advance their generators.

    They are half of the operation: without them each call would give the same numbers.
    """
    kept = {id(n) for n in part.nodes}
    return {
        id(node)
        for node in graph.nodes
        if isinstance(node.tag, Assigned) and id(node) not in kept
        for value in node.inputs
        if value is not None
        and value.node is not None
        and value.node.op == ir.CALL
        and value.node.attrs["graph"].library
        and id(value.node) in kept
    }


def _not_computable(
    source: FuncGraph,
    part: Part,
    value: ir.Value,
    fetched: Sequence[ir.Value],
    described: Sequence[str],
) -> ValueError:
    path = part.path(value, fetched)
    ends = [d for v, d in zip(fetched, described, strict=False) if v is path[-1]]
    what = f"fetch {ends[0]}" if ends else f"operation {name_of(path[-1])!r}"
    steps = " <- ".join(name_of(v) for v in reversed(path))
    kind = "an argument" if any(v is value for v in source.arguments) else "an input"
    return ValueError(
        f"The {what} of {source.name!r} cannot be computed from the feeds: it needs "
        f"'{value.name}:0', {kind} of the function ({steps}). Feed it, or a tensor on that path."
    )


# Feeds and fetches


def _fed(source: FuncGraph, x: Any) -> ir.Value | None:
    """The value that a feed stands for; None: of a variable that the graph never reads."""
    if isinstance(x, Variable):
        state = source.states.get(id(x))
        if state is None or state.ref() is not x:
            source.as_graph_element(x)  # says which variables there are
        return None if state is None else state.entry
    if isinstance(x, EagerTensor):
        known = source.captured_eager.get(id(x))
        if known is None:
            raise ValueError(
                f"All members of argument `feeds` must be tensors of {source.name!r}; got {x!r}, "
                "an eager tensor that the function does not use."
            )
        return known[1]
    found = _element(source, x)
    if isinstance(found, Operation):
        hint = f"; its first output is '{found.name}:0'" if found.outputs else ""
        raise ValueError(f"All members of argument `feeds` must be tensors. Got {found!r}{hint}.")
    return found._symbol


def _element(source: FuncGraph, x: Any) -> SymbolicTensor | Operation:
    if isinstance(x, SymbolicTensor | Operation) and x.graph is not source:
        raise ValueError(
            f"Can only prune function whose feeds and fetches are from its graph {source!r}; "
            f"{x!r} is from {x.graph!r}."
        )
    found: SymbolicTensor | Operation = source.as_graph_element(x)
    return found


def _ignored(source: FuncGraph, x: Any, value: ir.Value | None) -> bool:
    """True if a feed is the input of something captured, which stays captured.

    So ``prune(feeds=f.inputs, ...)`` works on a function that uses variables. A variable that is
    fed itself does become an argument.
    """
    if value is None:
        return True
    if isinstance(x, Variable | EagerTensor):
        return False
    inner = {id(v) for _, v in source.captured.values()}
    return id(value) in inner or source.state_entering_by(value) is not None


def _check_distinct(kept: Sequence[tuple[Any, ir.Value | None]]) -> None:
    seen: set[int] = set()
    for x, value in kept:
        if id(value) in seen:
            raise ValueError(f"{x!r} is fed twice; every feed is one argument.")
        seen.add(id(value))


class _Fetches:
    """The fetches of a call: values in order, nodes to run, and the structure around them."""

    def __init__(self, source: FuncGraph, fetches: Any) -> None:
        self.values: list[ir.Value] = []
        self.nodes: list[ir.Node] = []
        self.described: list[str] = []
        self._source = source
        self.template = nest.map_structure(self._leaf, fetches)

    def _leaf(self, x: Any) -> Any:
        if x is None:
            return None
        found = _element(self._source, x)
        if isinstance(found, Operation):
            if isinstance(found._item, ir.Node):
                self.nodes.append(found._item)
            return None
        self.values.append(found._symbol)
        self.described.append(repr(x.name if isinstance(x, Variable) else found.name))
        return True


# Signatures


def _input_name(value: ir.Value) -> str:
    return name_of(value).replace(":", "_")


def _identifier(text: str) -> str:
    """A name that a Python parameter can have."""
    plain = "".join(c if c.isalnum() or c == "_" else "_" for c in text).strip("_")
    return plain if plain and not plain[0].isdigit() else f"arg_{plain}".rstrip("_")


def _argument_names(feeds: Any, kept: Sequence[tuple[Any, ir.Value | None]]) -> list[str]:
    """A name for each argument: the key in a dict of feeds, or that of the tensor's operation."""
    keys: dict[int, str] = {}
    if isinstance(feeds, Mapping):
        keys = {id(x): k for k, x in feeds.items() if isinstance(k, str)}
    names: list[str] = []
    for x, value in kept:
        assert value is not None
        base = _identifier(keys.get(id(x)) or _input_name(value))
        name, number = base, 1
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names.append(name)
    return names


def _signature(
    derivation: Derivation, names: Sequence[str], given: Any, *, positional: bool
) -> CallSignature:
    arguments = derivation.func_graph.arguments
    if given is None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        specs = [_spec(v, n) for v, n in zip(arguments, names, strict=True)]
        parameters = [inspect.Parameter(n, kind) for n in names]
        return CallSignature(Parameters.from_signature(inspect.Signature(parameters)), specs)
    args, kwargs = given
    values = [*(args or ()), *(v for _, v in sorted((kwargs or {}).items()))]
    flat = nest.flatten(values)
    if len(flat) != len(arguments) or not all(isinstance(s, TensorSpec) for s in flat):
        raise ValueError(
            f"input_signature has {len(flat)} specs, and {len(arguments)} tensors are fed "
            f"({', '.join(names) or 'none'}); expected one TensorSpec for each."
        )
    narrowed = iter([_narrowed(v, s, n) for v, s, n in zip(arguments, flat, names, strict=True)])
    values = [nest.map_structure(lambda _: next(narrowed), v) for v in values]
    parameters = _parameters(args or (), sorted(kwargs or {}), names, positional=positional)
    return CallSignature(Parameters.from_signature(inspect.Signature(parameters)), values)


def _parameters(
    args: Sequence[Any], keywords: Sequence[str], names: Sequence[str], *, positional: bool
) -> list[inspect.Parameter]:
    found: list[inspect.Parameter] = []
    rest = list(names)
    for value in args:
        name = rest[0] if isinstance(value, TensorSpec) else f"arg_{len(found)}"
        if isinstance(value, TensorSpec) and value.name:
            name = _identifier(value.name)
        del rest[: len(nest.flatten(value))]
        found.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if positional else inspect.Parameter.KEYWORD_ONLY
    return found + [inspect.Parameter(k, kind) for k in keywords]


def _spec(value: ir.Value, name: str) -> TensorSpec:
    return TensorSpec(TensorShape(value.shape), from_onnx(value.dtype), name)


def _narrowed(value: ir.Value, spec: TensorSpec, name: str) -> TensorSpec:
    """Return the spec of an argument that satisfies both the graph and `spec`."""
    have = _spec(value, spec.name or name)
    if have.dtype is not spec.dtype or not have.shape.is_compatible_with(spec.shape):
        raise ValueError(
            f"input_signature: {spec!r} does not fit the tensor {name!r} that is fed, which is "
            f"{have.dtype.name} of shape {have.shape}."
        )
    shape = have.shape.merge_with(spec.shape)
    value.shape = shape.symbolic
    return TensorSpec(shape, have.dtype, have.name)
