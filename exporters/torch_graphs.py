"""An exported program as an ONNX graph whose weights are inputs, by torch's own exporter.

Owns the way around three habits of that exporter: equal initializers become one, weights that are
folded lose their names, and updates of buffers are dropped. So the program that it gets has no
parameters: each is an argument, and the new value of each buffer is a result.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.exporters.names import unique_name
from tfx.exporters.torch_structures import leaf_paths, path_name, plain_structure
from tfx.importing.method_graphs import MethodGraph, Port

_WRAPPED = "model."


def method_graph(
    label: str,
    program: Any,
    parameters: inspect.Signature | None,
    *,
    wrapped: bool,
    tied: Mapping[str, str],
    dims: Sequence[tuple[str, int, str]] = (),
) -> MethodGraph:
    """The graph of a program.

    Args:
        label: The method, for messages.
        program: What ``torch.export`` made.
        parameters: The method's parameters; None: those that the program names.
        wrapped: Whether names of weights have the prefix of a module around the model.
        tied: First names of tied weights by their further names.
        dims: Unused names are harmless: names of dimensions by input and axis.

    Raises:
        UnimplementedError: torch's exporter has no conversion for an operator.
        InvalidArgumentError: the method changes an argument in place.
    """
    functional = program.run_decompositions(_decompositions())
    signature = functional.graph_signature
    plan = _Plan(label, signature, wrapped, tied)
    proto = _converted(label, _without_parameters(functional, plan))
    arguments = _arguments(program, plan, parameters)
    results = plain_structure(program.call_spec.out_spec, iter(plan.result_leaves(functional)))
    names = plan.rename(arguments, results)
    _rename(proto, names, _symbols(functional, plan))
    bound = _replaced(arguments, names)
    return MethodGraph(
        proto,
        arguments=bound,
        results=_replaced(results, names),
        parameters=parameters,
        weights={names[k]: v for k, v in plan.weights.items()},
        updates={names[k]: v for k, v in plan.updates.items()},
    )


def _decompositions() -> dict[Any, Any]:
    """What torch's exporter would convert wrongly: batch statistics of training."""
    import torch
    from torch._decomp import get_decompositions

    aten = torch.ops.aten
    found: dict[Any, Any] = get_decompositions([aten._native_batch_norm_legit_functional])
    return found


class _Plan:
    """Which inputs and outputs of a functional program are what.

    Attributes:
        inputs: New name of each placeholder that stays an input, by the placeholder's name.
        weights: The variable's name by the graph's input.
        updates: The variable's name by the graph's output.
    """

    def __init__(self, label: str, signature: Any, wrapped: bool, tied: Mapping[str, str]) -> None:
        from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

        self.signature = signature
        self.weights: dict[str, str] = {}
        self.updates: dict[str, str] = {}
        self.user_inputs: list[Any] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.results: list[Any] = []

        def own(target: str) -> str:
            name = target.removeprefix(_WRAPPED) if wrapped else target
            return tied.get(name, name)

        for spec in signature.input_specs:
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                self.weights[f"in_{len(self.inputs)}"] = own(spec.target)
                self.inputs.append(spec.arg.name)
            elif spec.kind is InputKind.USER_INPUT:
                if isinstance(spec.arg, ConstantArgument):
                    self.user_inputs.append(spec.arg.value)
                else:
                    self.user_inputs.append(Port(f"in_{len(self.inputs)}"))
                    self.inputs.append(spec.arg.name)
        for spec in signature.output_specs:
            name = f"out_{len(self.outputs)}"
            if spec.kind is OutputKind.USER_INPUT_MUTATION:
                raise InvalidArgumentError(
                    f"{label} changes its argument {spec.target!r} in place, which a graph cannot: "
                    "return the new value, or register the tensor as a buffer of the module."
                )
            if isinstance(spec.arg, ConstantArgument):
                self.results.append(spec.arg.value)
                continue
            if spec.kind is OutputKind.USER_OUTPUT:
                self.results.append(Port(name))
            elif spec.kind is OutputKind.BUFFER_MUTATION:
                self.updates[name] = own(spec.target)
            else:
                raise UnimplementedError(
                    f"{label} returns {spec.kind.name} ({spec.target}), which cannot be a result."
                )
            self.outputs.append(spec.arg.name)

    def result_leaves(self, program: Any) -> list[Any]:
        """The leaves of the results, in torch's order."""
        return list(self.results)

    def rename(self, arguments: Any, results: Any) -> dict[str, str]:
        """Readable names: of the argument, of the result's place, of the variable."""
        names: dict[str, str] = {}
        taken: set[str] = set()

        def give(key: str, wanted: str) -> None:
            names[key] = unique_name(wanted, taken)
            taken.add(names[key])

        for path, leaf in leaf_paths(arguments):
            if isinstance(leaf, Port):
                give(leaf.name, path_name(path))
        for path, leaf in leaf_paths(results):
            if isinstance(leaf, Port):
                give(
                    leaf.name, path_name(path) if _is_named(path) else path_name(("output", *path))
                )
        for key, variable in self.weights.items():
            give(key, variable)
        for key, variable in self.updates.items():
            give(key, f"{variable}.new")
        return names


def _is_named(path: Sequence[Any]) -> bool:
    return bool(path) and isinstance(path[0], str)


def _arguments(program: Any, plan: _Plan, parameters: inspect.Signature | None) -> dict[str, Any]:
    """The structure of each parameter's argument."""
    positional, named = plain_structure(program.call_spec.in_spec, iter(plan.user_inputs))
    if parameters is not None:
        return dict(parameters.bind(*positional, **named).arguments)
    entry = program.module_call_graph[0].signature
    names = list(getattr(entry, "forward_arg_names", None) or [])
    names += [f"arg_{i}" for i in range(len(names), len(positional))]
    return {**dict(zip(names, positional, strict=False)), **named}


def _replaced(structure: Any, names: Mapping[str, str]) -> Any:
    if isinstance(structure, Port):
        return Port(names[structure.name])
    if isinstance(structure, Mapping):
        return {k: _replaced(v, names) for k, v in structure.items()}
    if isinstance(structure, list):
        return [_replaced(v, names) for v in structure]
    if isinstance(structure, tuple):
        return tuple(_replaced(v, names) for v in structure)
    return structure


def _without_parameters(program: Any, plan: _Plan) -> Any:
    """The same program with parameters as arguments and changed buffers as results."""
    import torch
    from torch.export import graph_signature as kinds
    from torch.utils import _pytree as pytree

    signature = program.graph_signature
    taken = (kinds.InputKind.PARAMETER, kinds.InputKind.BUFFER)
    inputs = [
        dataclasses.replace(s, kind=kinds.InputKind.USER_INPUT, target=None, persistent=None)
        if s.kind in taken
        else s
        for s in signature.input_specs
    ]
    outputs = [
        kinds.OutputSpec(kinds.OutputKind.USER_OUTPUT, s.arg, None) for s in signature.output_specs
    ]
    given = [s for s in inputs if s.kind is kinds.InputKind.USER_INPUT]
    _, in_spec = pytree.tree_flatten((tuple(range(len(given))), {}))
    _, out_spec = pytree.tree_flatten(tuple(range(len(outputs))))
    example = _examples(program, signature)
    return torch.export.ExportedProgram(
        program.graph_module,
        program.graph_module.graph,
        kinds.ExportGraphSignature(inputs, outputs),
        {},
        program.range_constraints,
        [
            torch.export.ModuleCallEntry(
                "", torch.export.ModuleCallSignature([], [], in_spec, out_spec)
            )
        ],
        example_inputs=(tuple(example), {}),
        constants=program.constants,
    )


def _examples(program: Any, signature: Any) -> list[Any]:
    from torch.export.graph_signature import InputKind
    from torch.utils import _pytree as pytree

    args, kwargs = program.example_inputs or ((), {})
    users = iter(pytree.tree_leaves((args, kwargs)))
    stored = {**program.constants, **program.state_dict}
    found = []
    for spec in signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            found.append(next(users, None))
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            found.append(stored[spec.target])
    return found


def _converted(label: str, program: Any) -> Any:
    """The program as an ``onnx.ModelProto``, its inputs and outputs called in_0, out_0 and so on."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)
    except Exception as e:
        raise _conversion_error(label, e) from e
    graph = made.model.graph
    for prefix, values in (("in_", graph.inputs), ("out_", graph.outputs)):
        for i, value in enumerate(values):
            value.name = f"{prefix}{i}"
    return made.model_proto


def _conversion_error(label: str, error: BaseException) -> UnimplementedError:
    chain = []
    at: BaseException | None = error
    while at is not None:
        chain.append(at)
        at = at.__cause__ or at.__context__
    text = "\n".join(str(e) for e in chain)
    missing = sorted(
        set(re.findall(r"No ONNX function found for <OpOverload\(op='([\w:.]+)'", text))
    )
    missing += sorted(set(re.findall(r"No decompositions? registered for[^\n]*?'([\w:.]+)'", text)))
    operators = ", ".join(missing) or _op_in(text)
    return UnimplementedError(
        f"{label}: torch.onnx has no conversion for {operators}: "
        f"{' '.join(str(chain[-1]).split())[:300]}. Write that part with other operators."
    )


def _op_in(text: str) -> str:
    found = re.search(r"target=(?:torch\.ops\.)?([\w.]+)", text)
    return found[1] if found else "a part of it"


def _symbols(program: Any, plan: _Plan) -> dict[str, str]:
    """Names of dimensions by torch's symbols."""
    return {}


def _rename(proto: Any, names: Mapping[str, str], symbols: Mapping[str, str]) -> None:
    """Give values and dimensions of a graph other names."""
    graph = proto.graph
    inner = {name for node in graph.node for name in (*node.input, *node.output)} - {*names}
    clashes = inner & {*names.values()}
    full = {**names, **{name: f"{name}_value" for name in clashes}}
    for node in graph.node:
        _rename_node(node, full)
    for values in (graph.input, graph.output, graph.value_info, graph.initializer):
        for value in values:
            value.name = full.get(value.name, value.name)


def _rename_node(node: Any, names: Mapping[str, str]) -> None:
    for places in (node.input, node.output):
        for i, name in enumerate(places):
            if name in names:
                places[i] = names[name]
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            for inner in body.node:
                _rename_node(inner, names)
            for output in body.output:
                output.name = names.get(output.name, output.name)
