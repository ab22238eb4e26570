"""A concrete function of TensorFlow as an ONNX graph whose variables are inputs, by tf2onnx.

tf2onnx makes constants of variables, and its optimizer may drop or join them. So they are made
placeholders before: TensorFlow writes the function out and puts a constant in the place of each
variable, and this constant becomes a placeholder again.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.exporters.sources.made_up_inputs import made_up
from tfx.exporters.sources.messages import one_line
from tfx.exporters.sources.onnx_answers import layers_of
from tfx.graph.serialization.model_ports import rename_ports, set_attribute, unknown_operators
from tfx.importing.method_graphs import MethodGraph, Port, SourceAnswer

Array: TypeAlias = "np.ndarray[Any, Any]"

_OPSET = 18  # the newest that tf2onnx writes
_MADE_UP_SIZE = 2


@dataclass(frozen=True)
class TensorFlowCall:
    """A concrete function and what is known of its call.

    Attributes:
        label: The function, for messages.
        concrete: The concrete function.
        names: Names of its variables, by ``id``.
        dynamic: Names of dimensions whose size is open, by input and axis.
        inputs: Example arrays by input; what lacks is made up.
    """

    label: str
    concrete: Any
    names: Mapping[int, str]
    dynamic: Mapping[str, Mapping[int, str]]
    inputs: Mapping[str, Array]


def method_graph(call: TensorFlowCall) -> MethodGraph:
    """A concrete function as a graph over its variables.

    Raises:
        UnimplementedError: it assigns variables, or uses an operation without conversion.
    """
    tf = importlib.import_module("tensorflow")
    concrete = call.concrete
    _refuse_assignments(call)
    arguments, inputs = _arguments(tf, concrete)
    results, outputs = _results(tf, concrete)
    captured = _captured(concrete, call.names)
    graph_def = _written_out(concrete, captured)
    proto = _converted(call.label, graph_def, [*inputs, *captured], list(outputs))
    rename_ports(
        proto,
        {f"{tensor}": name for tensor, name in {**inputs, **outputs}.items()}
        | {f"{n}:0": _port(n) for n in captured},
    )
    shapes = _shapes(concrete, inputs, call.dynamic)
    given = _example(concrete, inputs, call.inputs)
    is_made_up = not given.keys() <= call.inputs.keys()
    answers: tuple[SourceAnswer, ...] = ()
    unanswered = ""
    try:
        found = _answers(tf, call, results, given)
        answers = (
            SourceAnswer(
                given,
                found,
                # Only where something differs are there copies of all weights.
                layers=lambda: layers_of(
                    proto, {**given, **{_port(n): v.numpy() for n, v in captured.items()}}
                ),
                is_made_up=is_made_up,
                converter="tf2onnx",
            ),
        )
    except tf.errors.OpError as e:
        if not is_made_up:
            raise InvalidArgumentError(
                f"{call.label} refuses the example arguments: {one_line(e)}."
            ) from e
        unanswered = (
            f"it takes none of the inputs that were made up ({one_line(e)}): give example arrays "
            "as args= or kwargs="
        )
    return MethodGraph(
        proto,
        arguments=arguments,
        results=results,
        weights={_port(n): call.names[id(v)] for n, v in captured.items()},
        shapes=shapes,
        answers=answers,
        unanswered=unanswered,
    )


def _port(placeholder: str) -> str:
    return f"variables/{placeholder}"


def _refuse_assignments(call: TensorFlowCall) -> None:
    """Refuse a function that changes variables, by the operation that does."""
    graph = call.concrete.graph.as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    for node in nodes:
        is_read = node.op in ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp")
        if not is_read and ("VariableOp" in node.op or node.op.startswith("Resource")):
            names = sorted({v.name.split(":")[0] for v in call.concrete.variables})
            raise UnimplementedError(
                f"{call.label} changes variables (operation {node.name!r}, {node.op}; its "
                f"variables are {', '.join(names[:5])}), which tf2onnx cannot convert: "
                "export its inference, and train that; or run the program with `import tfx as "
                "tf`."
            )


def _arguments(tf: Any, concrete: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters with a port for each tensor, and the port of each tensor of the graph."""
    args, kwargs = concrete.structured_input_signature
    names = list(getattr(concrete.function_type, "parameters", {}))
    pairs = [*zip(names, args, strict=False), *kwargs.items()]
    free = iter(t.name for t in concrete.inputs[: _given_count(concrete)])
    ports: dict[str, str] = {}

    def place(value: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(value, Mapping):
            made = {k: place(value[k], (*path, k)) for k in sorted(value)}
            return {k: made[k] for k in value}
        if isinstance(value, list | tuple):
            items = [place(v, (*path, i)) for i, v in enumerate(value)]
            return items if isinstance(value, list) else tuple(items)
        if not isinstance(value, tf.TensorSpec):
            return value
        name = "_".join(map(str, path))
        ports[next(free)] = name
        return Port(name)

    return {name: place(value, (name,)) for name, value in pairs if name != "self"}, ports


def _given_count(concrete: Any) -> int:
    return len(concrete.inputs) - len(concrete.captured_inputs)


def _results(tf: Any, concrete: Any) -> tuple[Any, dict[str, str]]:
    """The results with a port for each tensor, and the port of each tensor of the graph."""
    found = iter(t.name for t in concrete.outputs)
    ports: dict[str, str] = {}

    def place(value: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(value, Mapping):
            made = {k: place(value[k], (*path, k)) for k in sorted(value)}
            return {k: made[k] for k in value}
        if isinstance(value, list | tuple):
            items = [place(v, (*path, i)) for i, v in enumerate(value)]
            return items if isinstance(value, list) else tuple(items)
        if value is None:
            return None
        names = path if path and isinstance(path[0], str) else ("output", *path)
        tensor, name = next(found), "_".join(map(str, names))
        if tensor in ports:  # one tensor in two places
            return Port(ports[tensor])
        ports[tensor] = name
        return Port(name)

    return place(concrete.structured_outputs, ()), ports


def _captured(concrete: Any, names: Mapping[int, str]) -> dict[str, Any]:
    """The function's variables by the names of the placeholders that stand for them."""
    variables = {id(v.handle): v for v in concrete.variables}
    placed = zip(concrete.captured_inputs, concrete.graph.internal_captures, strict=True)
    return {
        inner.name.split(":")[0]: variables[id(outer)]
        for outer, inner in placed
        if id(outer) in variables and id(variables[id(outer)]) in names
    }


def _written_out(concrete: Any, captured: Mapping[str, Any]) -> Any:
    """The function's graph with a placeholder for each variable."""
    home = importlib.import_module("tensorflow.python.framework.convert_to_constants")
    _, graph_def = home.convert_variables_to_constants_v2_as_graph(
        concrete, lower_control_flow=False, aggressive_inlining=True
    )
    for node in graph_def.node:
        if node.name in captured and node.op == "Const":
            dtype = node.attr["dtype"].type
            node.op = "Placeholder"
            node.ClearField("attr")
            node.attr["dtype"].type = dtype
            node.attr["shape"].shape.CopyFrom(captured[node.name].shape.as_proto())
    return graph_def


def _converted(label: str, graph_def: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    tf2onnx = importlib.import_module("tf2onnx")
    importlib.import_module("tf2onnx.convert")
    named = [n if ":" in n else f"{n}:0" for n in inputs]
    try:
        proto, _ = tf2onnx.convert.from_graph_def(
            graph_def,
            input_names=named,
            output_names=list(outputs),
            opset=_OPSET,
            custom_op_handlers={"Erfc": (_erfc, [])},
        )
    except Exception as e:
        raise UnimplementedError(
            f"{label} has no ONNX form in tf2onnx: {one_line(e)}. Write this part with "
            "other operations, or run the program with `import tfx as tf`."
        ) from e
    for op, node in unknown_operators(proto):
        raise UnimplementedError(
            f"{label} has no ONNX form in tf2onnx: it cannot convert the operation {node!r} "
            f"({op}). Write this part with other operations, or run the program with `import tfx "
            "as tf`."
        )
    # Without an encoding, which ONNX has not, TensorFlow changes the case of ASCII alone.
    set_attribute(proto, "StringNormalizer", "locale", "C")
    return proto


def _erfc(context: Any, node: Any, name: str, args: Any) -> None:
    """``1 - erf(x)``, which tf2onnx lacks."""
    del args
    dtype = importlib.import_module("tf2onnx.utils").map_onnx_to_numpy_type(
        context.get_dtype(node.output[0])
    )
    inputs, outputs = list(node.input), list(node.output)
    context.remove_node(node.name)
    erf = context.make_node("Erf", inputs, name=f"{name}/erf")
    one = context.make_const(f"{name}/one", np.ones([], dtype))
    context.make_node("Sub", [one.output[0], erf.output[0]], outputs=outputs, name=name)


def _shapes(
    concrete: Any, inputs: Mapping[str, str], dynamic: Mapping[str, Mapping[int, str]]
) -> dict[str, Any]:
    """Shapes of inputs whose sizes are known, named or open."""
    found: dict[str, Any] = {}
    for tensor in concrete.inputs[: _given_count(concrete)]:
        name = inputs[tensor.name]
        if tensor.shape.rank is not None:
            named = dynamic.get(name, {})
            found[name] = [named.get(i, d) for i, d in enumerate(tensor.shape.as_list())]
    return found


def _example(
    concrete: Any, inputs: Mapping[str, str], given: Mapping[str, Array]
) -> dict[str, Array]:
    draws = np.random.default_rng(0)
    found = {}
    for tensor in concrete.inputs[: _given_count(concrete)]:
        name, dtype = inputs[tensor.name], dtypes.as_dtype(tensor.dtype.name)
        dims = tensor.shape.as_list() if tensor.shape.rank is not None else [_MADE_UP_SIZE]
        shape = [_MADE_UP_SIZE if d is None else d for d in dims]
        made = given.get(name)
        found[name] = made_up(draws, dtype, shape) if made is None else np.asarray(made)
    return found


def _answers(
    tf: Any, call: TensorFlowCall, results: Any, given: Mapping[str, Array]
) -> dict[str, Array]:
    """What the function itself gives, by port."""
    concrete = call.concrete
    tensors = iter(
        tf.constant(given[name], tensor.dtype)
        for name, tensor in zip(given, concrete.inputs, strict=False)
    )
    structure = concrete.structured_input_signature
    leaves = [
        next(tensors) if isinstance(leaf, tf.TensorSpec) else leaf
        for leaf in tf.nest.flatten(structure)
    ]
    args, kwargs = tf.nest.pack_sequence_as(structure, leaves)
    flat = concrete(*args, **kwargs)
    found: dict[str, Array] = {}
    for port, value in zip(_in_order(results), tf.nest.flatten(flat), strict=True):
        found.setdefault(port, value.numpy())
    return found


def _in_order(structure: Any) -> Iterator[str]:
    """The ports of results in TensorFlow's order: dicts are sorted by key."""
    if isinstance(structure, Port):
        yield structure.name
    elif isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from _in_order(structure[key])
    elif isinstance(structure, list | tuple):
        for item in structure:
            yield from _in_order(item)
