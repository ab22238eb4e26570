"""``Session``: runs parts of a graph and holds the memory of its variables."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Self

from tfx.compat.v1.graph import default_session
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.session.fetches import Fetches, feeds_of
from tfx.compat.v1.session.plans import SessionPlan
from tfx.compat.v1.session.resolve_state import resolve
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.core.errors import InvalidArgumentError
from tfx.framework import variable_locks
from tfx.framework.context import current, init_scope
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable
from tfx.graph.ir import Node, Value
from tfx.ops.random.generator import Generator
from tfx.runtime.devices import list_physical_devices
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.script_ops.session_resources import end_resources, running_in


class Cell(Variable):
    """A session's storage of a variable of its graph; empty until it is assigned."""

    __slots__ = ()

    def __init__(self, variable: Variable) -> None:
        self._name = variable.name
        self._dtype = variable.dtype
        self._shape = variable.shape
        self._trainable = variable.trainable
        self._constraint = variable.constraint
        self.synchronization = variable.synchronization
        self.aggregation = variable.aggregation
        self._lock_number = variable_locks.new_number()
        self._plans = None
        self.origin = None
        self._home = variable._home
        self._raw = None


class BaseSession:
    """The common base of ``Session`` and ``InteractiveSession``.

    Args:
        target: Accepted for compatibility: there is one process. Must be empty.
        graph: The graph to run; None: the default graph.
        config: Accepted for compatibility.

    Raises:
        TypeError: ``graph`` is not a ``Graph``, or ``target`` not a text.
        InvalidArgumentError: ``target`` names a server.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if not isinstance(target, str):
            raise TypeError(f"`target` must be a string. Received: {target!r}.")
        if target:
            raise InvalidArgumentError(
                f"There is no server at {target!r}: sessions run in this process. Leave target out."
            )
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"Argument `graph` must be a tf.Graph. Received: {graph!r}.")
        self._graph = building() if graph is None else graph
        self._closed = False
        self._lock = fork_safe(threading.RLock())
        # id of a variable -> (the variable, what holds its value)
        self._cells: dict[int, tuple[Variable, Variable]] = {}
        self._plans: dict[Any, SessionPlan] = {}

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as ONNX's ``GraphProto``."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target: none."""
        return ""

    def list_devices(self) -> list[Any]:
        """The devices of the process."""
        return list(list_physical_devices())

    def close(self) -> None:
        """Forget the values of all variables; the session cannot run any more.

        Threads that wait for its queues get a ``CancelledError``.
        """
        self._closed = True
        end_resources(self)
        self._cells.clear()
        self._plans.clear()

    def as_default(self) -> AbstractContextManager[Self]:
        """Let ``Tensor.eval`` and ``Operation.run`` use this session inside the ``with`` block."""
        return self._as_default()

    @contextmanager
    def _as_default(self) -> Iterator[Self]:
        token = default_session.enter(self)
        try:
            yield self
        finally:
            default_session.leave(token)

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Compute fetches.

        Only what they need runs, in the order in which the operations were made. All variables
        that are assigned change together when everything succeeded, or none does.

        Args:
            fetches: A tensor, operation, variable, name, or a structure of them.
            feed_dict: Contents to put in place of tensors, by tensor or name.
            options: ``RunOptions``: a time limit, cancellation, how much to measure.
            run_metadata: ``RunMetadata`` that gets the timings that ``options`` ask for.

        Returns:
            The structure of ``fetches`` with NumPy arrays and scalars; None for an operation.

        Raises:
            RuntimeError: the session is closed, or its graph is empty.
            TypeError: a fetch or feed of a wrong type.
            ValueError: a fetch that the graph does not have, a feed that does not fit.
            InvalidArgumentError: a placeholder is needed and not fed.
            FailedPreconditionError: a variable that is read has no value yet.

        Example:
            >>> import tfx.compat.v1 as tf
            >>> with tf.Graph().as_default():
            ...     x = tf.placeholder(tf.float32)
            ...     y = tf.square(x)
            ...     with tf.Session() as session:
            ...         session.run([y, x + y], feed_dict={x: 2.0})
            [np.float32(4.0), np.float32(6.0)]
        """
        return self._run(fetches, feed_dict, options, run_metadata)

    def _run(
        self, fetches: Any, feed_dict: Any, options: Any = None, run_metadata: Any = None
    ) -> Any:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.ordered.nodes and not self._graph.ordered.constants:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        with self._lock:
            asked = Fetches(self._graph, fetches)
            feeds = feeds_of(self._graph, feed_dict)
            plan = self._plan(asked.values, asked.targets, [v for v, _ in feeds])
        with running_in(self):
            results = plan.run([tensor for _, tensor in feeds], options, run_metadata)
        return asked.pack([x.numpy() for x in results])

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Any:
        """A function of the contents of ``feed_list`` that computes ``fetches``.

        Args:
            fetches: See ``run``.
            feed_list: Tensors that the function is given contents for, in order.
            accept_options: Must be False.
        """
        if accept_options:
            raise InvalidArgumentError("make_callable takes no options: accept_options is False.")
        keys = list(feed_list or ())

        def call(*contents: Any) -> Any:
            if len(contents) != len(keys):
                raise TypeError(
                    f"The callable takes {len(keys)} values, one for each tensor of feed_list; got "
                    f"{len(contents)}."
                )
            feeds: dict[Any, Any] = dict(zip(keys, contents, strict=True))
            return self._run(fetches, feeds)

        return call

    def _plan(
        self, values: Sequence[Value], targets: Sequence[Node], fed: Sequence[Value]
    ) -> SessionPlan:
        key = (tuple(map(id, values)), tuple(map(id, targets)), tuple(map(id, fed)))
        plan = self._plans.get(key)
        if plan is None or not plan.is_current():
            graph = self._graph
            resolved = resolve(
                graph.ordered,
                values,
                targets,
                [(v, _argument(v)) for v in fed],
                memory=self.memory,
                name=graph.name,
                device=graph.home,
            )
            plan = self._plans[key] = SessionPlan(resolved, graph.home)
        return plan

    def set_values(self, values: Sequence[tuple[Variable, EagerTensor]]) -> None:
        """Give variables values, all together.

        Args:
            values: Variables of the graph and their contents.

        Raises:
            RuntimeError: the session is closed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        cells = [(self.memory(variable), tensor) for variable, tensor in values]
        with variable_locks.writing(
            variable_locks.in_order(cell._lock_number for cell, _ in cells)
        ):
            for cell, tensor in cells:
                cell._swap(tensor._raw)

    def memory(self, variable: Variable) -> Variable:
        """Return the variable that stores a variable's value, created at its first use here.

        A variable that the graph did not make holds its own.
        """
        known = self._cells.get(id(variable))
        if known is not None:
            return known[1]
        hidden = self._graph.hidden.get(id(variable))
        if hidden is not None:
            cell: Variable = Cell(variable)
            cell._raw = variable._raw if hidden[1] else _fresh_state()
        elif isinstance(variable, GraphVariable) and not variable.graph.owns_memory:
            cell = Cell(variable)
        else:
            return variable
        self._cells[id(variable)] = (variable, cell)
        return cell


def _fresh_state() -> Any:
    with init_scope():
        return Generator.from_non_deterministic_state().state._raw


def _argument(value: Value) -> str:
    return value.name if value.node is None else value.node.name


class Session(BaseSession):
    """Runs parts of a graph; the values of variables live and die with it.

    In a ``with`` block it is the default session, its graph the default graph, and it is closed at
    the end.

    Args:
        target: Must be empty.
        graph: The graph to run; None: the default graph.
        config: Accepted for compatibility.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.Variable(3.0)
        ...     add = v.assign_add(1.0)
        ...     with tf.Session() as session:
        ...         session.run(v.initializer)
        ...         session.run(add)
        np.float32(4.0)
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._entered: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> Self:
        inside = [self.as_default()]
        if current().graph is not self._graph:
            inside.append(self._graph.as_default())  # type: ignore[arg-type]
        for block in inside:
            block.__enter__()
            self._entered.append(block)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._entered:
            self._entered.pop().__exit__(kind, error, trace)
        self.close()


class InteractiveSession(BaseSession):
    """A session that is the default one from when it is made until it is closed.

    Args:
        target: Must be empty.
        graph: The graph to run; None: the default graph.
        config: Accepted for compatibility.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        default_session.enter(self)

    def close(self) -> None:
        """Forget the values of all variables; it is the default session no more."""
        super().close()
        default_session.forget(self)
