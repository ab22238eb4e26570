"""``function_from_graph``: a new function from a part of a traced one's graph."""

from __future__ import annotations

from typing import Any

from tfx.framework.func_graph import FuncGraph
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing import subgraph_functions


def function_from_graph(
    graph: FuncGraph | ConcreteFunction,
    inputs: Any,
    outputs: Any,
    prune: bool = True,
    name: str | None = None,
) -> ConcreteFunction:
    """A new function from a part of a graph: from any of its tensors to any others.

    Args:
        graph: The graph of a traced function, or the concrete function itself.
        inputs: What the new function takes: tensors of the graph or their names (``"Square:0"``),
            variables, or a structure of them. The keys of a dict are the names of the arguments.
        outputs: What it returns: a structure of tensors, names, variables, or operations, which
            are carried out and return None.
        prune: Leave out assignments, and what Python does, where the outputs do not need them.
        name: Name of the function.

    Returns:
        A concrete function: it can be called, differentiated, used in other functions, saved.

    Raises:
        ValueError: an output depends on an argument of the graph that is not among the inputs.
        KeyError: the graph has no tensor or operation of a name.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def f(x):
        ...     return tf.square(tf.square(x))
        >>> graph = f.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
        >>> last = tf.function_from_graph(graph, inputs="Square:0", outputs="Square_1:0")
        >>> last(2.0).numpy()
        np.float32(4.0)
    """
    source = graph.graph if isinstance(graph, ConcreteFunction) else graph
    if not isinstance(source, FuncGraph):
        raise TypeError(
            "function_from_graph takes the graph of a traced function, such as "
            f"f.get_concrete_function(...).graph; got {graph!r}."
        )
    source.check_part(inputs, outputs)
    parts = subgraph_functions.prune(source, inputs, outputs, name, drop_stateful=prune)
    return ConcreteFunction(*parts)
