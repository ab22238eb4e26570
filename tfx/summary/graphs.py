"""``graph``: traced functions for TensorBoard's graph plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph
from tfx.framework.operation import Operation
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import CALL, Graph, Value
from tfx.summary import event_pb2 as pb
from tfx.summary.recording import NOTHING, WRITTEN, records
from tfx.summary.state import setting, settings

# Readers take graphs of this version for recent ones.
_PRODUCER = 2000


def graph(graph_data: Any) -> Tensor:
    """Write a graph to the default writer.

    A call of another function is one node.

    Args:
        graph_data: The graph of a traced function, or a ``GraphDef`` message.

    Returns:
        A bool tensor: whether it was written.

    Raises:
        ValueError: inside a function, or something else than a graph.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: tf.square(x) + 1.0)
        >>> concrete = f.get_concrete_function(tf.TensorSpec([2]))
        >>> bool(tf.summary.graph(concrete.graph))  # no default writer
        False
    """
    if current().graph is not None:
        raise ValueError("summary.graph() cannot be invoked inside a graph context.")
    now = settings()
    if isinstance(graph_data, FuncGraph):
        message: Any = graph_message(graph_data)
    elif _is_graph_def(graph_data):
        message = graph_data
    else:
        raise ValueError(
            "The argument of summary.graph must be the graph of a traced function "
            "(concrete_function.graph) or a GraphDef message; got "
            f"{graph_data!r} of type {type(graph_data).__name__}."
        )
    writer: Any = setting(now.writer)
    if not records(writer, setting(now.condition)):
        return NOTHING
    writer.add_graph(message.SerializeToString())
    return WRITTEN


def _is_graph_def(x: Any) -> bool:
    name = getattr(getattr(x, "DESCRIPTOR", None), "name", None)
    return name == "GraphDef" and hasattr(x, "SerializeToString")


def graph_message(func_graph: FuncGraph) -> pb.GraphDef:
    """The operations of a graph, with the shapes of what they make."""
    nodes = [_node(operation) for operation in func_graph.get_operations()]
    return pb.GraphDef(node=nodes, versions=pb.GraphDef.Versions(producer=_PRODUCER))


def _node(operation: Operation) -> pb.NodeDef:
    inputs = [x.name.removesuffix(":0") for x in operation.inputs]
    inputs += [f"^{before.name}" for before in operation.control_inputs]
    shapes = [_shape(x) for x in operation.outputs]
    return pb.NodeDef(
        name=operation.name,
        op=operation.type,
        input=inputs,
        device=operation.device,
        attr={"_output_shapes": pb.Attribute(list=pb.Attribute.List(shape=shapes))},
    )


def _shape(x: SymbolicTensor) -> pb.Shape:
    return _dims(x.shape)


def _dims(shape: TensorShape) -> pb.Shape:
    if shape.rank is None:
        return pb.Shape(unknown_rank=True)
    return pb.Shape(dim=[pb.Shape.Dim(size=-1 if d is None else d) for d in shape])


def message_of(graph: Graph) -> pb.GraphDef:
    """The same of a graph that a plan runs: inputs, constants and nodes."""
    placed = [(value, "Placeholder") for value in graph.inputs]
    placed += [(value, "Const") for value in graph.constants]
    nodes = [
        pb.NodeDef(name=value.name, op=op, attr=_shapes_attribute([value])) for value, op in placed
    ]
    nodes += [
        pb.NodeDef(
            name=node.name,
            op="PartitionedCall" if node.op == CALL else node.op,
            input=[_output_name(x) for x in node.inputs if x is not None],
            device=node.device or "",
            attr=_shapes_attribute(node.outputs),
        )
        for node in graph.nodes
    ]
    return pb.GraphDef(node=nodes, versions=pb.GraphDef.Versions(producer=_PRODUCER))


def _output_name(value: Value) -> str:
    if value.node is None:
        return value.name
    number = value.node.outputs.index(value)
    return f"{value.node.name}:{number}" if number else value.node.name


def _shapes_attribute(values: Sequence[Value]) -> dict[str, pb.Attribute]:
    shapes = [_dims(TensorShape(v.shape)) for v in values]
    return {"_output_shapes": pb.Attribute(list=pb.Attribute.List(shape=shapes))}
