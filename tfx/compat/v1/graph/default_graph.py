"""The default graph, and whether operations run at once or are added to it."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.graph.old_shapes import disable_v2_tensorshape, enable_v2_tensorshape
from tfx.framework.context import current, set_context
from tfx.ops.random.generator import set_seed


class _Process:
    """The graph that is the default one where no other is."""

    graph: Graph | None = None


def _process_graph() -> Graph:
    if _Process.graph is None:
        _Process.graph = Graph("default")
    return _Process.graph


def get_default_graph() -> Any:
    """The graph that operations are added to here: a ``Graph``, or a function's while it is traced.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     tf.get_default_graph() is graph
        True
    """
    graph = current().graph
    return _process_graph() if graph is None else graph


def building() -> Graph:
    """The ``Graph`` that is the default one here, which may be the one around a function."""
    graph = current().graph
    while graph is not None and not isinstance(graph, Graph):
        graph = graph.parent
    return _process_graph() if graph is None else graph


def is_building() -> bool:
    """True if operations are added to a ``Graph`` here."""
    return isinstance(current().graph, Graph)


def graph_of_variables() -> Graph | None:
    """The ``Graph`` that variables made here belong to: the one around branches and loops.

    None: they exist at once, or are those of a function that is being traced.
    """
    graph = current().graph
    while graph is not None and graph.is_body:
        graph = graph.parent
    return graph if isinstance(graph, Graph) else None


def reset_default_graph() -> None:
    """Replace the default graph by an empty one.

    Raises:
        AssertionError: inside a ``with graph.as_default()`` block.
    """
    graph = current().graph
    if graph is not None and graph is not _Process.graph:
        raise AssertionError(
            "Do not use tf.compat.v1.reset_default_graph() to clear nested graphs. If you need a "
            "cleared graph, exit the nesting and create a new graph."
        )
    _Process.graph = None
    if graph is not None:
        set_context(graph=_process_graph(), scope="")


def disable_eager_execution() -> None:
    """Add operations to the default graph from here on, to be run by sessions.

    It holds for the thread, or asynchronous task, that calls it. Call it when the program starts.
    """
    if current().graph is None:
        set_context(graph=_process_graph(), tapes=(), scope="")


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Run operations at once from here on, as it is where nothing was said.

    Args:
        config: Accepted for compatibility.
        device_policy: Accepted for compatibility.
        execution_mode: Accepted for compatibility.

    Raises:
        ValueError: inside a ``with graph.as_default()`` block or a function.
    """
    graph = current().graph
    if graph is not None and graph is not _Process.graph:
        raise ValueError(
            "tf.compat.v1.enable_eager_execution must be called at program startup, outside of "
            "graphs and functions."
        )
    set_context(graph=None, scope="")


def disable_v2_behavior() -> None:
    """Work as TensorFlow 1 did: graphs that sessions run, and shapes that give a ``Dimension``.

    It is ``disable_eager_execution`` and ``disable_v2_tensorshape``; the other switches of
    TensorFlow change nothing here. Call it when the program starts.
    """
    disable_eager_execution()
    disable_v2_tensorshape()


def enable_v2_behavior() -> None:
    """Run operations at once, and let shapes give integers, as it is where nothing was said.

    Raises:
        ValueError: inside a ``with graph.as_default()`` block or a function.
    """
    enable_eager_execution()
    enable_v2_tensorshape()


def executing_eagerly_outside_functions() -> bool:
    """True if operations run at once, seen from outside of all functions being traced.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.executing_eagerly_outside_functions()
        True
    """
    graph = current().graph
    while graph is not None:
        if isinstance(graph, Graph) and not graph.owns_memory:
            return False
        graph = graph.parent
    return True


def set_random_seed(seed: int) -> None:
    """Start the random numbers of the default graph from a seed; eagerly those of the process.

    Args:
        seed: Any integer. Every session that runs the graph gets the same numbers.
    """
    graph = current().graph
    if isinstance(graph, Graph):
        graph.seed = int(seed)
        return
    set_seed(seed)
