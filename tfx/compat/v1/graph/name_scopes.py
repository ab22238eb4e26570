"""``name_scope`` with TensorFlow 1's arguments."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.framework.context import OpenScopes, current
from tfx.framework.context import name_scope as plain_scope


class name_scope(OpenScopes):  # noqa: N801
    """Prefix names of operations made inside ``with`` blocks; in a graph every prefix is new.

    Args:
        name: The scope; None: ``default_name``.
        default_name: Used where ``name`` is None.
        values: Accepted for compatibility.

    Raises:
        TypeError: a name that is no text.
        ValueError: values, but no name.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     with tf.name_scope("layer") as first:
        ...         pass
        ...     with tf.name_scope("layer") as second:
        ...         pass
        >>> first, second
        ('layer/', 'layer_1/')
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Any = None
    ) -> None:
        if not isinstance(default_name, str | None):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely "
                "meant to pass this into the `values` kwarg."
            )
        if name is None and default_name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        super().__init__()
        self._name = default_name if name is None else name

    @property
    def name(self) -> str | None:
        """The name as it was given."""
        return self._name

    def __enter__(self) -> str:
        """The full prefix."""
        graph = current().graph
        if isinstance(graph, Graph):
            return self._enter(graph.name_scope(self._name))
        return self._enter(plain_scope(self._name or ""))


def op_scope(values: Any, name: str | None, default_name: str | None = None) -> name_scope:
    """Older spelling of ``name_scope``."""
    return name_scope(name, default_name, values)


def scope_of_current_graph(name: str) -> Any:
    """A name scope of the graph that is being built, or of eager code."""
    graph = current().graph
    return graph.name_scope(name) if isinstance(graph, Graph) else name_scope(name)
