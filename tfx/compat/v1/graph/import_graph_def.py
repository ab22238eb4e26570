"""``import_graph_def``: the operations of a ``GraphProto`` in the default graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.graph.placeholders import add_placeholder
from tfx.core import dtypes
from tfx.core.dims import sizes_alone
from tfx.core.shapes import TensorShape
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.operation import Operation
from tfx.framework.tensor import Tensor
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.graph import ir, schema
from tfx.graph.serialization.deserialize import from_model
from tfx.graph.serialization.serialize import ir_version_of, to_model


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: None = None,
    producer_op_list: None = None,
) -> Any:
    """Add the operations of a ``GraphProto`` (or a whole ONNX model) to the default graph.

    Inputs that ``input_map`` does not give become placeholders; what were variables are inputs.

    Args:
        graph_def: What ``Graph.as_graph_def`` returns, or an ``onnx.ModelProto``.
        input_map: Tensors to put in the place of inputs, by their names.
        return_elements: Names of tensors (``"y:0"``) and operations to return.
        name: Prefix of the names; None: ``import``.
        op_dict: Accepted for compatibility.
        producer_op_list: Accepted for compatibility.

    Returns:
        A list with what ``return_elements`` names; None without them.

    Raises:
        ValueError: there is no such element, or ``input_map`` names no input.
        BundleError: the graph is malformed.
        RuntimeError: no graph is built here.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.square(tf.placeholder(tf.float32, name="x"), name="y")
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     result = tf.import_graph_def(graph.as_graph_def(), return_elements=["y:0"])
        ...     session.run(result, {"import/x:0": 3.0})
        [np.float32(9.0)]
    """
    graph = current().graph
    if not isinstance(graph, Graph):
        raise RuntimeError(
            "import_graph_def adds to a graph: call it inside `with tf.Graph().as_default():`."
        )
    imported = from_model(_model(graph_def), "graph_def")
    given = {_operation(key): value for key, value in (input_map or {}).items()}
    unknown = [key for key in given if key not in imported.inputs]
    if unknown:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: {unknown}; it has "
            f"{list(imported.inputs)}."
        )
    mapping: dict[int, Tensor] = {}
    elements: dict[str, Any] = {}
    with graph.name_scope("import" if name is None else name) as prefix:
        for key, value in imported.inputs.items():
            if key in given:
                tensor = convert_to_tensor(given[key])
            else:
                shape = TensorShape(sizes_alone(value.shape))
                tensor = add_placeholder(graph, dtypes.from_onnx(value.dtype), shape, key)
            mapping[id(value)] = elements[f"{key}:0"] = tensor
        start = len(graph.ordered.nodes)
        with using(scope=prefix):
            inline_nodes(imported.graph, mapping, graph)
    for node in graph.ordered.nodes[start:] if prefix else ():
        node.name = graph.ordered.unique_name(f"{prefix}{node.name}")
    for node in imported.graph.nodes:
        for i, value in enumerate(node.outputs):
            elements[f"{node.name}:{i}"] = mapping[id(value)]
    for key, value in imported.outputs.items():
        operation, _, number = key.partition(":")
        elements[f"{operation}:{number or 0}"] = mapping[id(value)]
    if return_elements is None:
        return None
    return [_element(elements, key) for key in return_elements]


def _operation(name: str) -> str:
    return name.removesuffix(":0")


def _element(elements: Mapping[str, Any], name: str) -> Any:
    tensor = elements.get(name if ":" in name else f"{name}:0")
    if tensor is None:
        raise ValueError(
            f"Requested return_element {name!r} not found in graph_def; it has {sorted(elements)}."
        )
    return tensor if ":" in name else Operation(tensor._symbol.node, tensor.graph)


def _model(graph_def: Any) -> Any:
    """A model around a ``GraphProto``, of the lowest opset that has its operators."""
    if hasattr(graph_def, "opset_import"):
        return graph_def
    if not hasattr(graph_def, "node") or not hasattr(graph_def, "initializer"):
        raise TypeError(
            f"graph_def must be a GraphProto or ModelProto of ONNX; got {type(graph_def).__name__}."
        )
    model = to_model(ir.Graph(graph_def.name or "graph"))
    model.graph.CopyFrom(graph_def)
    known = [schema.operator(n.op_type).opset for n in graph_def.node]
    opset = max([schema.BASE_OPSET, *known])
    model.opset_import[0].version = opset
    model.ir_version = ir_version_of(opset)
    return model
