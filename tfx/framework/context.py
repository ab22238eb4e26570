"""Where operations go: the graph being traced, the recording tapes, the device.

One immutable ``Context`` in one context variable is all the mutable state there is. It follows
threads and asyncio tasks by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tfx.framework.func_graph import FuncGraph
    from tfx.framework.tensor import Tensor


class Recorder(Protocol):
    """What a tape must offer to be told of operations."""

    def record(
        self,
        op: str,
        attrs: dict[str, Any],
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
    ) -> None:
        """An operation ran (or was added to the graph)."""

    def watch_variable(self, variable: Any) -> None:
        """A trainable variable was read."""


class Context:
    """An immutable setting; see ``current``.

    Attributes:
        graph: The graph under construction; None: execute eagerly.
        tapes: Recorders that must be told, outermost first.
        device: Canonical device name, None for the default (CPU:0).
        scope: Prefix of node and variable names, such as ``"layer/"``.
        eager_functions: Traced functions run their Python code instead (for debugging).
    """

    __slots__ = ("device", "eager_functions", "graph", "scope", "tapes")

    def __init__(
        self,
        graph: FuncGraph | None = None,
        tapes: tuple[Recorder, ...] = (),
        device: str | None = None,
        scope: str = "",
        eager_functions: bool = False,
    ) -> None:
        self.graph = graph
        self.tapes = tapes
        self.device = device
        self.scope = scope
        self.eager_functions = eager_functions

    def replace(self, **changes: Any) -> Context:
        """A copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return Context(**{**fields, **changes})


_variable: ContextVar[Context] = ContextVar("tfx_context", default=Context())  # noqa: B039
current = _variable.get


@contextmanager
def using(**changes: Any) -> Iterator[Context]:
    """Change fields of the context inside a ``with`` block."""
    before = current()
    inside = before.replace(**changes)
    _variable.set(inside)
    try:
        yield inside
    finally:
        if current() is inside:
            _variable.set(before)
        else:
            # Only these fields: a tape came or went, or a generator that is closed late ends its
            # blocks out of order.
            set_context(**{name: getattr(before, name) for name in changes})


def set_context(**changes: Any) -> None:
    """Change fields of the context from here on."""
    _variable.set(current().replace(**changes))


def executing_eagerly() -> bool:
    """Whether operations run at once, i.e. no function is being traced.

    Example:
        >>> import tfx as tf
        >>> tf.executing_eagerly()
        True
    """
    return current().graph is None


def inside_function() -> bool:
    """Whether a function is being traced."""
    return current().graph is not None


@contextmanager
def init_scope() -> Iterator[None]:
    """Leave the function being traced: operations inside run eagerly, once, while tracing.

    Tapes do not record what happens inside.
    """
    with using(graph=None, tapes=(), scope=""):
        yield


@contextmanager
def name_scope(name: str) -> Iterator[str]:
    """Prefix names of operations and variables made inside.

    Args:
        name: The scope's name; scopes nest with ``/``.

    Yields:
        The full prefix, ``"outer/inner/"``.
    """
    if not isinstance(name, str):
        raise TypeError(f"name_scope takes a str; got {name!r} of type {type(name).__name__}.")
    prefix = f"{current().scope}{name.rstrip('/')}/" if name else ""
    with using(scope=prefix):
        yield prefix
