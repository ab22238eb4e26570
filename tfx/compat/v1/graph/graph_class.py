"""``tf.Graph``: makes graphs that sessions run; the graphs of functions are of this kind, too."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph import graph
from tfx.framework.func_graph import FuncGraph


class _Kind(type):
    """Calling the class makes a graph of one's own; every graph is an instance."""

    def __call__(cls, name: str = "graph") -> Any:
        return graph.Graph(name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, FuncGraph)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, FuncGraph)


class Graph(metaclass=_Kind):
    """A graph of operations to be run by a ``compat.v1.Session``.

    Nothing runs while it is built: make it the default graph with ``as_default()``, and every
    operation is added to it. The graphs of functions (``concrete.graph``) are graphs as well.

    Args:
        name: Name of the graph.

    Example:
        >>> import tfx as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, name="x")
        ...     y = tf.square(x)
        >>> y.name
        'Square:0'
        >>> with tf.compat.v1.Session(graph=graph) as session:
        ...     session.run(y, feed_dict={x: 3.0})
        np.float32(9.0)
    """
