"""The destination of operations: the graph being traced, the recording tapes, the device.

It is one immutable ``Context`` in one context variable, so threads and asyncio tasks have their
own. Other modules keep the state of their concerns (summaries, sessions, variable creators).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from tfx.framework.func_graph import FuncGraph
    from tfx.framework.tensor import Tensor


_T = TypeVar("_T")
_SCOPE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.\\/>-]*")


class Recorder(Protocol):
    """The interface of a tape that records operations."""

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

    def depends(self, x: Any) -> bool:
        """True if a tensor is watched, or made of what is."""


class _Key:
    """The part of a context that a trace depends on: a device and traits, compared by value."""

    __slots__ = ("device", "traits")

    def __init__(self, device: Any, traits: tuple[Any, ...]) -> None:
        self.device = device
        self.traits = traits

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Key):
            return False
        return bool(self.device == other.device) and self.traits == other.traits

    def __hash__(self) -> int:
        return hash((self.device, self.traits))

    def __repr__(self) -> str:
        return f"{self.device or 'default device'} with {', '.join(map(str, self.traits))}"


class Context:
    """An immutable setting; see ``current``.

    Attributes:
        graph: The graph under construction; None: execute eagerly.
        tapes: Recorders of operations, outermost first.
        device: Canonical device name, or a ``device.DeviceFunction``; None: the default (CPU:0).
        scope: Prefix of node and variable names, such as ``"layer/"``.
        layer: The scopes as they were entered: a module's is below that around it, although its
            names are not. It is ``scope`` wherever nothing else is said.
        eager_functions: Traced functions run their Python code instead (for debugging).
        traits: What else the meaning of traced code depends on, hashable.
        key: ``device`` and ``traits``: two contexts with equal keys can share a trace.
    """

    __slots__ = ("device", "eager_functions", "graph", "key", "layer", "scope", "tapes", "traits")

    def __init__(
        self,
        graph: FuncGraph | None = None,
        tapes: tuple[Recorder, ...] = (),
        device: str | None = None,
        scope: str = "",
        eager_functions: bool = False,
        traits: tuple[Any, ...] = (),
        layer: str = "",
    ) -> None:
        self.graph = graph
        self.tapes = tapes
        self.device = device
        self.scope = scope
        self.layer = layer
        self.eager_functions = eager_functions
        self.traits = traits
        self.key: Any = _Key(device, traits) if traits else device

    def replace(self, **changes: Any) -> Context:
        """A copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "key"}
        fields["layer"] = changes.get("scope", self.layer)
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


def recorders_inside_traces(tapes: tuple[Recorder, ...]) -> tuple[Recorder, ...]:
    """Return the recorders that also record operations of a function being traced."""
    return tuple(t for t in tapes if getattr(t, "lasting", False)) if tapes else tapes


def executing_eagerly() -> bool:
    """True if operations run at once, i.e. no function is being traced.

    Example:
        >>> import tfx as tf
        >>> tf.executing_eagerly()
        True
    """
    return current().graph is None


def inside_function() -> bool:
    """True if a function is being traced."""
    return current().graph is not None


@contextmanager
def init_scope() -> Iterator[None]:
    """Leave the function being traced: operations inside run eagerly, once, while tracing.

    Tapes do not record what happens inside.
    """
    with using(graph=None, tapes=(), scope=""):
        yield


def get_current_name_scope() -> str:
    """The name of the scopes that are open, ``"outer/inner"``; empty outside of them.

    Example:
        >>> import tfx as tf
        >>> with tf.name_scope("layer"):
        ...     tf.get_current_name_scope()
        'layer'
    """
    return current().scope.rstrip("/")


class OpenScopes:
    """A scope that may be open several times at once, each ``with`` block ending the last one."""

    def __init__(self) -> None:
        self._entered: list[AbstractContextManager[Any]] = []

    def _enter(self, scope: AbstractContextManager[_T]) -> _T:
        result = scope.__enter__()
        self._entered.append(scope)
        return result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.pop().__exit__(kind, error, trace)


class name_scope(OpenScopes):  # noqa: N801
    """Prefix names of operations and variables made inside its ``with`` blocks.

    Args:
        name: The scope's name. Scopes nest with ``/``; a name that ends with ``/`` is the whole
            prefix, wherever the block is; the empty name is no prefix at all. While a function is
            traced, a scope that was open before gets a number, ``"layer_1/"``.

    Raises:
        ValueError: ``name`` is no text, or (while tracing) none that operations can have.

    Example:
        >>> import tfx as tf
        >>> with tf.name_scope("layer") as prefix:
        ...     print(prefix, tf.Variable(1.0, name="w").name)
        layer/ layer/w:0
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(f"name_scope takes a str; got {name!r} of type {type(name).__name__}.")
        super().__init__()
        self._name = name

    @property
    def name(self) -> str:
        """The name as it was given."""
        return self._name

    def __enter__(self) -> str:
        """The full prefix, ``"outer/inner/"``."""
        context = current()
        whole = self._name.endswith("/") or not self._name
        prefix = self._name if whole else f"{context.scope}{self._name}/"
        if context.graph is not None and not whole:
            if not _SCOPE.fullmatch(prefix):
                raise ValueError(
                    f"{self._name!r} is not a valid name of a scope of operations; expected "
                    "letters, digits and _ . \\ / > - with a letter, digit, _ or . first."
                )
            prefix = f"{context.graph.graph.unique_scope(prefix[:-1])}/"
        layer = context.layer + prefix.removeprefix(context.scope) if prefix else ""
        self._enter(using(scope=prefix, layer=layer))
        return prefix
