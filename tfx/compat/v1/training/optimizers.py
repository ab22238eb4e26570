"""Optimizers of TensorFlow 1: ``minimize`` makes an operation that does one training step."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfx.autodiff.tape import GradientTape
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, is_building
from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.graph.name_scopes import scope_of_current_graph
from tfx.compat.v1.graph.pseudo_ops import ASSIGN
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.compat.v1.variables.initialization import trainable_variables
from tfx.core import nest
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current, name_scope, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.operation import Operation
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable, variable_of
from tfx.function.gradients.symbolic_gradients import gradients
from tfx.ops.array import creation
from tfx.ops.array.reshape import expand_dims, reshape
from tfx.ops.array.scatter import tensor_scatter_nd_update
from tfx.ops.array.shape import shape
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to, is_tensor_like, tensor
from tfx.ops.math.arithmetic import floormod
from tfx.optimizers.rows import rows_of

Setting = Any
# Values of slots by name.
Slots = dict[str, Any]


class Optimizer:
    """Base class: computes gradients, applies them, and keeps variables of its own (slots).

    A subclass gives ``_update``, ``_slot_values`` where something is kept for each variable, and
    ``_prepare`` and ``_finish`` where a step has parts that are the same for all variables.
    Settings may be numbers, tensors or functions without arguments.

    Args:
        use_locking: Accepted for compatibility.
        name: Name of its operations and variables.
    """

    class _Gate(enum.IntEnum):
        GATE_NONE = 0
        GATE_OP = 1
        GATE_GRAPH = 2

    GATE_NONE = _Gate.GATE_NONE
    GATE_OP = _Gate.GATE_OP
    GATE_GRAPH = _Gate.GATE_GRAPH

    # Whether a gradient of some rows counts as one with zeros for the others: these move, too, or
    # zeros leave them alone.
    _moves_all = False

    def __init__(self, use_locking: bool = False, name: str | None = None) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name = name
        self._slots: dict[str, dict[int, tuple[Any, Any]]] = {}
        self._others: dict[Any, Any] = {}

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """An operation that changes variables so that a loss gets less.

        Args:
            loss: A tensor; in eager mode a function without arguments that returns one.
            global_step: A variable to add one to.
            var_list: The variables; None: the trainable ones.
            gate_gradients: Accepted for compatibility.
            aggregation_method: Accepted for compatibility.
            colocate_gradients_with_ops: Accepted for compatibility.
            name: Name of the operation.
            grad_loss: Gradient of something else with respect to the loss; None: one.

        Raises:
            ValueError: there are no variables, or the loss depends on none of them.

        Example:
            >>> import tfx.compat.v1 as tf
            >>> with tf.Graph().as_default(), tf.Session() as session:
            ...     w = tf.Variable(4.0)
            ...     step = tf.train.GradientDescentOptimizer(0.25).minimize(w * w)
            ...     session.run(tf.global_variables_initializer())
            ...     session.run(step)
            ...     session.run(w)
            np.float32(2.0)
        """
        found = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(g is None for g, _ in found):
            names = [str(v.name) for _, v in found]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss!r}."
            )
        return self.apply_gradients(found, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Pairs of gradient (None where the loss does not depend on it) and variable.

        Args:
            loss: See ``minimize``.
            var_list: See ``minimize``.
            gate_gradients: Accepted for compatibility.
            aggregation_method: Accepted for compatibility.
            colocate_gradients_with_ops: Accepted for compatibility.
            grad_loss: See ``minimize``.

        Raises:
            ValueError: there are no variables.
            RuntimeError: a tensor as the loss in eager mode.
        """
        if callable(loss) and not isinstance(loss, Tensor):
            with GradientTape() as tape:
                value = loss()
            variables = tape.watched_variables() if var_list is None else nest.flatten(var_list)
            seeds = None if grad_loss is None else [grad_loss]
            return list(zip(tape.gradient([value], list(variables), seeds), variables, strict=True))
        if current().graph is None:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled."
            )
        variables = trainable_variables() if var_list is None else nest.flatten(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        with name_scope("gradients"):
            found = gradients(loss, list(variables), grad_loss)
        return list(zip(found, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """An operation that changes variables by gradients.

        Args:
            grads_and_vars: What ``compute_gradients`` returns.
            global_step: A variable to add one to.
            name: Name of the operation.

        Raises:
            ValueError: there is no gradient.
            TypeError: something that is no variable.
        """
        pairs = [(g, variable_of(v)) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        for _, v in pairs:
            if not isinstance(v, Variable):
                raise TypeError(f"Expected a variable to update; got {v!r} of type {type(v)}.")
        used = [(g, v) for g, v in pairs if g is not None]
        if not used:
            names = [v.name for _, v in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        self._create_others([v for _, v in used])
        for _, v in used:
            for slot, initial in self._slot_values().items():
                self._create_slot(v, slot, initial)
        label = name or self._name
        graph = current().graph
        start = len(graph.ordered.nodes) if isinstance(graph, Graph) else 0
        with scope_of_current_graph(label) as prefix:
            shared = self._prepare()
            for g, v in used:
                self._step(g, v, shared)
            self._finish(shared)
            if not isinstance(graph, Graph):
                if global_step is not None:
                    global_step.assign_add(1)
                return None
            done = _assignments(graph, start)
            if global_step is not None:
                with graph.control_dependencies(done):
                    done.append(global_step.assign_add(1).op)
        operation = graph.add_no_op(done, label)
        operation._item.name = prefix.removesuffix("/")
        graph.add_to_collection(GraphKeys.TRAIN_OP, operation)
        return operation

    def _step(self, gradient: Any, variable: Any, shared: Any) -> None:
        value = variable._peek()
        touched: Tensor | None = None
        if isinstance(gradient, IndexedSlices):
            touched = None if self._moves_all else _touched(gradient, value)
            gradient = rows_of(gradient, variable, value.dtype).dense()
        kept = {name: self.get_slot(variable, name) for name in self._slot_values()}
        slots = {name: slot._peek() for name, slot in kept.items()}
        before = dict(slots)
        new = self._update(convert_to_tensor(gradient), value, slots, shared)
        if touched is not None:
            new = where(touched, new, value)
            slots = {name: where(touched, slots[name], before[name]) for name in slots}
        for name, slot in kept.items():
            slot.assign(slots[name])
        if variable.constraint is not None:
            new = variable.constraint(new)
        variable.assign(new)

    # What subclasses give

    def _slot_values(self) -> dict[str, float]:
        """Names of what is kept for each variable, with the values that it begins with."""
        return {}

    def _create_others(self, variables: Sequence[Any]) -> None:
        """Make the variables that are kept for all of them together."""

    def _prepare(self) -> Any:
        """Return the data that ``_update`` needs for every variable."""
        return None

    def _finish(self, shared: Any) -> None:
        """Assign what is kept for all variables, after all updates."""

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        """The new value of a variable; what is stored in ``slots`` is kept."""
        raise AssertionError

    # Slots

    def get_slot(self, var: Any, name: str) -> Any:
        """The variable that is kept for ``var`` under a name; None: there is none."""
        known = self._slots.get(name, {}).get(id(var))
        return None if known is None else known[1]

    def get_slot_names(self) -> list[str]:
        """The names of what is kept for each variable."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The optimizer's own variables, in order of their names."""
        found = [v for slots in self._slots.values() for _, v in slots.values()]
        found += list(self._others.values())
        graph = current().graph
        if isinstance(graph, Graph):
            found = [v for v in found if getattr(v, "graph", graph) is graph]
        return sorted(found, key=lambda v: v.name)

    def _create_slot(self, variable: Any, name: str, value: float) -> None:
        """Make a slot of the variable's shape and dtype if there is none."""
        slots = self._slots.setdefault(name, {})
        if id(variable) in slots:
            return
        dtype, shape = variable.dtype, variable.shape
        full = f"{variable.name.removesuffix(':0')}/{self._name}"

        def initial() -> Tensor:
            return creation.fill(shape, convert_to_tensor(value, dtype))

        slots[id(variable)] = (variable, _variable(initial, full))

    def _other(self, name: str, value: float, near: Any) -> None:
        """Make a scalar if there is none."""
        key = (name, _graph_key())
        if key not in self._others:
            full = f"{current().scope}{name}"
            self._others[key] = _variable(lambda: convert_to_tensor(value, near.dtype), full)

    def _get_other(self, name: str) -> Any:
        return self._others[name, _graph_key()]


def _assignments(graph: Graph, start: int) -> list[Operation]:
    """The assignments among the nodes from a number on."""
    added = graph.ordered.nodes[start:]
    return [Operation(node, graph) for node in added if node.op == ASSIGN]


def _graph_key() -> Any:
    return building() if is_building() else None


def _variable(initial: Callable[[], Tensor], name: str) -> Any:
    if is_building():
        return GraphVariable(initial, trainable=False, full_name=name)
    with using(scope=""):
        return Variable(initial, trainable=False, name=name)


def number(setting: Setting, like: Tensor) -> Tensor:
    """A setting as a scalar of a tensor's dtype."""
    value = setting() if callable(setting) and not isinstance(setting, Tensor) else setting
    if is_tensor_like(value):
        return cast_to(tensor(value), like.dtype)
    return convert_to_tensor(value, like.dtype)


def _touched(gradient: IndexedSlices, value: Tensor) -> Tensor:
    """True for the rows that a gradient has, in a shape that broadcasts against the value."""
    size = shape(value)[0]
    indices = expand_dims(floormod(gradient.indices, cast_to(size, gradient.indices.dtype)), 1)
    row = creation.zeros_like(value[(slice(None), *[0] * ((value.shape.rank or 1) - 1))], "bool")
    marks = tensor_scatter_nd_update(row, indices, creation.ones_like(indices[:, 0], "bool"))
    return reshape(marks, [-1] + [1] * ((value.shape.rank or 1) - 1))
