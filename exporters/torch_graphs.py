"""An exported program as an ONNX graph whose weights are inputs, by torch's own exporter.

Owns the way around habits of that exporter: equal initializers become one, weights that are folded
lose their names, and updates of buffers are dropped. So the program that it gets has no parameters:
each is an argument, and the new value of each buffer is a result.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tfx.core.errors import InvalidArgumentError, OpError, UnimplementedError
from tfx.exporters.names import unique_name
from tfx.exporters.torch_programs import TracedMethod, fixed_text, place_in, quiet
from tfx.exporters.torch_structures import leaf_paths, path_name, plain_structure
from tfx.importing.method_graphs import MethodGraph, Port


@dataclasses.dataclass(frozen=True)
class Converted:
    """A method's graph, and what is needed to compare it with the source.

    Attributes:
        graph: The graph.
        program: The program that torch made the graph from: weights and arguments in, results out.
        inputs: The graph's name of each argument of ``program`` that is a tensor.
        outputs: The graph's name of each result of ``program``.
        values: The graph's name of values inside, by the name of the program's node.
    """

    graph: MethodGraph
    program: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, str]


def convert(traced: TracedMethod, tied: Mapping[str, str]) -> Converted:
    """Make a graph of a traced method.

    Args:
        traced: The method.
        tied: First names of tied weights by their further names.

    Raises:
        UnimplementedError: torch's exporter has no conversion for an operator.
        InvalidArgumentError: the method changes an argument in place.
    """
    functional, made = _to_onnx(traced)
    plan = _Plan(traced, functional.graph_signature, tied)
    arguments = _arguments(traced, plan)
    results = plain_structure(traced.program.call_spec.out_spec, iter(plan.results))
    names = plan.names(arguments, results)
    symbols = _symbols(traced, functional, plan, arguments)
    inside = _rename(made.model.graph, names, symbols)
    return Converted(
        MethodGraph(
            made.model_proto,
            arguments=_with_names(arguments, names),
            results=_with_names(results, names),
            parameters=traced.parameters,
            weights={names[k]: v for k, v in plan.weights.items()},
            updates={names[k]: v for k, v in plan.updates.items()},
        ),
        made.exported_program,
        tuple(names[f"in_{i}"] for i in range(len(plan.inputs))),
        tuple(names[f"out_{i}"] for i in range(len(plan.outputs))),
        inside,
    )


def _to_onnx(traced: TracedMethod) -> tuple[Any, Any]:
    """The program without effects, and what torch's exporter makes of it.

    Operators are kept as they are if they can be. Where that fails (a view of what is not laid out
    for it, say), all are taken apart first.
    """
    import torch

    refused: Exception | None = None
    for tables in (_decompositions, _all_decompositions):
        functional = traced.program
        try:
            with _readable(traced, functional), quiet():
                functional = _with_plain_results(traced.program).run_decompositions(tables())
                _refuse_effects(traced.label, functional.graph_signature)
                made = torch.onnx.export(
                    _without_parameters(functional), dynamo=True, optimize=False, verbose=False
                )
        except UnimplementedError as e:
            refused = refused or e
        else:
            return functional, made
    assert refused is not None
    raise refused


def _with_plain_results(program: Any) -> Any:
    """The same program, whose results are a tuple.

    Taking operators apart runs the program again, to its results in their structure: making one of
    transformers' caches makes tensors, which torch then does not find.
    """
    from torch.export import ExportedProgram
    from torch.utils import _pytree as pytree

    first, *others = program.module_call_graph
    _, plain = pytree.tree_flatten((0,) * first.signature.out_spec.num_leaves)
    signature = dataclasses.replace(first.signature, out_spec=plain)
    return ExportedProgram(
        program.graph_module,
        program.graph_module.graph,
        program.graph_signature,
        program.state_dict,
        program.range_constraints,
        [dataclasses.replace(first, signature=signature), *others],
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=program.verifiers,  # it may still change tensors in place
    )


def _decompositions() -> dict[Any, Any]:
    """What torch's exporter would convert wrongly: batch statistics of training.

    It makes the inference form of it, whatever the mode.
    """
    import torch
    from torch._decomp import get_decompositions

    found: dict[Any, Any] = get_decompositions([torch.ops.aten._native_batch_norm_legit_functional])
    return found


def _all_decompositions() -> dict[Any, Any]:
    """The same, and everything that torch has a decomposition for."""
    import torch

    return {**torch.export.default_decompositions(), **_decompositions()}


def _refuse_effects(label: str, signature: Any) -> None:
    """Refuse what a graph cannot do to its arguments."""
    from torch.export.graph_signature import OutputKind

    for spec in signature.output_specs:
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            raise InvalidArgumentError(
                f"{label} changes its argument {spec.target!r} in place, which a graph cannot: "
                "return the new value, or register the tensor as a buffer of the module."
            )


class _Plan:
    """What the inputs and outputs of a functional program are.

    They are called ``in_0``, ``in_1``, ``out_0`` and so on here.

    Attributes:
        inputs: The program's name of each input that is a tensor.
        outputs: The program's name of each output that is a tensor.
        weights: The variable's name of each input that is one.
        updates: The variable's name of each output that becomes one.
        given: What stands for each leaf of the arguments: a ``Port`` or a value.
        results: The same of the results.
    """

    def __init__(self, traced: TracedMethod, signature: Any, tied: Mapping[str, str]) -> None:
        self._traced, self._tied = traced, tied
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.weights: dict[str, str] = {}
        self.updates: dict[str, str] = {}
        self.given: list[Any] = []
        self.results: list[Any] = []
        for spec in signature.input_specs:
            self._add_input(spec)
        for spec in signature.output_specs:
            self._add_output(spec)

    def _variable(self, target: str) -> str:
        name = target.removeprefix(self._traced.prefix)
        return self._tied.get(name, name)

    def _add_input(self, spec: Any) -> None:
        from torch.export.graph_signature import ConstantArgument, InputKind, TensorArgument

        key = f"in_{len(self.inputs)}"
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            self.weights[key] = self._variable(spec.target)
            self.inputs.append(spec.arg.name)
        elif spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
            self.given.append(spec.arg.value)
        elif spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument):
            self.given.append(Port(key))
            self.inputs.append(spec.arg.name)
        elif spec.kind is not InputKind.CONSTANT_TENSOR:
            raise UnimplementedError(
                f"{self._traced.label} takes {spec.arg} ({spec.kind.name}), expected tensors and "
                "plain Python values."
            )

    def _add_output(self, spec: Any) -> None:
        from torch.export.graph_signature import ConstantArgument, OutputKind, TensorArgument

        key, label = f"out_{len(self.outputs)}", self._traced.label
        if isinstance(spec.arg, ConstantArgument):
            self.results.append(spec.arg.value)
            return
        if spec.kind is OutputKind.BUFFER_MUTATION:
            self.updates[key] = self._variable(spec.target)
        elif spec.kind is OutputKind.USER_OUTPUT and isinstance(spec.arg, TensorArgument):
            self.results.append(Port(key))
        else:
            raise UnimplementedError(
                f"{label} returns {spec.arg} ({spec.kind.name}), expected tensors; return "
                "torch.tensor(...) of it."
            )
        self.outputs.append(spec.arg.name)

    def names(self, arguments: Any, results: Any) -> dict[str, str]:
        """Readable names: of the argument, of the result's place, of the variable."""
        wanted: dict[str, str] = {}
        for path, leaf in leaf_paths(arguments):
            if isinstance(leaf, Port):
                wanted[leaf.name] = path_name(path)
        for path, leaf in leaf_paths(results):
            if isinstance(leaf, Port):
                named = bool(path) and isinstance(path[0], str)
                wanted[leaf.name] = path_name(path if named else ("output", *path))
        wanted |= self.weights | {k: f"{v}.new" for k, v in self.updates.items()}
        names: dict[str, str] = {}
        for key, name in wanted.items():
            names[key] = unique_name(name, {*names.values()})
        return names


def _arguments(traced: TracedMethod, plan: _Plan) -> dict[str, Any]:
    """The structure of each parameter's argument."""
    positional, named = plain_structure(traced.program.call_spec.in_spec, iter(plan.given))
    if traced.parameters is not None:
        return dict(traced.parameters.bind(*positional, **named).arguments)
    entry = traced.program.module_call_graph[0].signature
    names = list(entry.forward_arg_names or ())
    names += [f"arg_{i}" for i in range(len(names), len(positional))]
    return {**dict(zip(names, positional, strict=False)), **named}


def _with_names(structure: Any, names: Mapping[str, str]) -> Any:
    """A structure whose ports have other names."""
    if isinstance(structure, Port):
        return Port(names[structure.name])
    if isinstance(structure, Mapping):
        return {k: _with_names(v, names) for k, v in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(_with_names(v, names) for v in structure)
    return structure


def _without_parameters(program: Any) -> Any:
    """The same program with parameters as arguments and new values of buffers as results."""
    from torch.export import ExportedProgram, ModuleCallEntry, ModuleCallSignature
    from torch.export import graph_signature as kinds
    from torch.utils import _pytree as pytree

    signature = program.graph_signature
    taken = (kinds.InputKind.PARAMETER, kinds.InputKind.BUFFER)
    user = kinds.InputKind.USER_INPUT
    inputs = [
        dataclasses.replace(s, kind=user, target=None, persistent=None) if s.kind in taken else s
        for s in signature.input_specs
    ]
    outputs = [
        kinds.OutputSpec(kinds.OutputKind.USER_OUTPUT, s.arg, None)
        for s in signature.output_specs
        if not isinstance(s.arg, kinds.ConstantArgument)
    ]
    for node in program.graph.nodes:
        if node.op == "output":  # without constants, which are none of the graph's
            node.args = (tuple(a for a in node.args[0] if isinstance(a, type(node))),)
    program.graph_module.recompile()
    count = sum(s.kind is user for s in inputs)
    _, in_spec = pytree.tree_flatten((tuple(range(count)), {}))
    _, out_spec = pytree.tree_flatten(tuple(range(len(outputs))))
    whole = ModuleCallSignature([], [], in_spec, out_spec)
    return ExportedProgram(
        program.graph_module,
        program.graph_module.graph,
        kinds.ExportGraphSignature(inputs, outputs),
        {},
        program.range_constraints,
        [ModuleCallEntry("", whole)],
        example_inputs=None,  # else torch adds checks of sizes by names that are no more
        constants=program.constants,
    )


@contextmanager
def _readable(traced: TracedMethod, program: Any) -> Iterator[None]:
    """Let errors of torch's exporter come out as ours, which name operator, layer and line."""
    try:
        yield
    except OpError:
        raise
    except Exception as e:
        chain: list[BaseException] = []
        at: BaseException | None = e
        while at is not None:
            chain.append(at)
            at = at.__cause__ or at.__context__
        text = "\n".join(str(x) for x in chain)
        found = re.search(r"No ONNX function found for <OpOverload\(op='([\w:.]+)'", text)
        found = found or re.search(r"target=(?:torch\.ops\.)?([\w.]+)\]", text)
        operator = found[1] if found else "a part of it"
        raise UnimplementedError(
            f"{traced.label}: torch.onnx has no conversion for "
            f"{operator}{_place_of(operator, program)}: "
            f"{' '.join(str(chain[-1]).split())[:300].rstrip('.')}. Write that part with other "
            "operators."
        ) from e


def _place_of(operator: str, program: Any) -> str:
    """The layer and the line that an operator comes from."""
    name = re.split(r"[.:]+", operator)[1:2]
    for node in program.graph.nodes:
        if node.op == "call_function" and name and name[0] in str(node.target):
            stack = list((node.meta.get("nn_module_stack") or {}).values())
            layer = f" in layer {stack[-1][0]!r}" if stack and stack[-1][0] else ""
            return layer + place_in(node.meta.get("stack_trace") or "")
    return ""


def _symbols(traced: TracedMethod, program: Any, plan: _Plan, arguments: Any) -> dict[str, str]:
    """The user's names of dimensions by torch's symbols."""
    places = {path: leaf for path, leaf in leaf_paths(arguments) if isinstance(leaf, Port)}
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    found: dict[str, str] = {}
    for path, axis, name in traced.dims:
        port = places.get(path)
        if port is not None:
            node = nodes[plan.inputs[int(port.name.removeprefix("in_"))]]
            size = node.meta["val"].shape[axis]
            if str(size).isdigit():
                raise InvalidArgumentError(
                    f"{traced.label}: {fixed_text(path, axis, name, f'it is {size}')}."
                )
            found.setdefault(str(size), name)
    return found


def _rename(graph: Any, names: dict[str, str], symbols: Mapping[str, str]) -> dict[str, str]:
    """Give inputs, outputs and dimensions of a graph their names.

    Args:
        graph: The graph.
        names: The names by ``in_0``, ``out_0`` and so on; where two outputs are one value, both
            get the name of the first.
        symbols: Names of dimensions.

    Returns:
        The name of each value that has one now, by the name that torch gave it.
    """
    inputs = {id(value): names[f"in_{i}"] for i, value in enumerate(graph.inputs)}
    outputs: dict[int, str] = {}
    for i, value in enumerate(list(graph.outputs)):
        names[f"out_{i}"] = outputs.setdefault(id(value), names[f"out_{i}"])
    kept = {id(value): value for value in graph.outputs}
    graph.outputs.clear()
    graph.outputs.extend(kept.values())
    new = outputs | inputs
    taken = {*names.values()}
    inside: dict[str, str] = {}
    for node in graph.all_nodes():
        for value in node.outputs:
            old = value.name
            if id(value) not in new and old in taken:
                value.name = unique_name(f"{old}_value", taken)
                taken.add(value.name)
            inside[old] = new.get(id(value), value.name)
            _rename_dims(value, symbols)
    for value in (*graph.inputs, *graph.outputs):
        value.name = new[id(value)]
        _rename_dims(value, symbols)
    for i, value in enumerate(kept.values()):
        if id(value) in inputs:  # a result that is an argument
            names[f"out_{i}"] = inputs[id(value)]
    return inside


def _rename_dims(value: Any, symbols: Mapping[str, str]) -> None:
    shape = value.shape
    if shape is None or not symbols:
        return
    for axis, dim in enumerate(shape):
        text = getattr(dim, "value", None)
        if isinstance(text, str):
            shape[axis] = re.sub(r"\b\w+\b", lambda m: symbols.get(m[0], m[0]), text)
