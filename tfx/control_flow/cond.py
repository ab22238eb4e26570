"""``cond``: one of two functions runs. In a graph both become branches of an ``If``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow import branch_results
from tfx.control_flow.control_nodes import add_control_node
from tfx.control_flow.structured_results import own_all, place_of, spelled_all, trace
from tfx.control_flow.tensor_array_state import ArrayState
from tfx.core import dtypes, nest
from tfx.core.dims import common_shape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.body_graph import BodyGraph
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Value


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return ``true_fn()`` if ``pred`` is true, else ``false_fn()``.

    Eagerly just one of the functions is called. In a function being traced both are traced, and one
    of them runs; variables that either assigns keep their value where the other one runs.

    Args:
        pred: A scalar; a number counts as true unless it is zero.
        true_fn: Returns a tensor, or a structure of tensors, tensor arrays and None.
        false_fn: Returns the same structure with tensors of the same dtypes. Shapes may differ: the
            result's static shape is what they have in common.
        name: Prefix of the node's name.

    Returns:
        What the function returned.

    Raises:
        TypeError: a function is not callable; ``pred`` is a Python bool while tracing; or the
            functions return different structures or dtypes.
        ValueError: one function returns None where the other returns a tensor; or ``pred`` is no
            scalar.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def magnitude(x):
        ...     return tf.cond(x < 0, lambda: -x, lambda: x)
        >>> magnitude(tf.constant(-3)).numpy()
        np.int32(3)
    """
    if not callable(true_fn):
        raise TypeError(f"'true_fn' must be callable; got {true_fn!r}.")
    if not callable(false_fn):
        raise TypeError(f"'false_fn' must be callable; got {false_fn!r}.")
    graph = current().graph
    if graph is None:
        return true_fn() if pred else false_fn()
    if isinstance(pred, bool):
        raise TypeError(
            f"pred must not be a Python bool; got {pred!r}. Write a Python `if`, which decides "
            "while the function is traced, or pass a tensor."
        )
    return Branching(graph, truth(pred, "pred"), name or "cond").add(true_fn, false_fn)


def truth(value: Any, what: str) -> Tensor:
    """A scalar as a scalar of bools.

    Raises:
        TypeError: neither a bool nor a number.
        ValueError: known to be no scalar.
    """
    tensor = convert_to_tensor(value)
    if tensor.dtype is dtypes.string:
        raise TypeError(f"{what} must be a bool or a number; got {tensor!r}.")
    shape = tensor.shape
    # Of an unknown rank, too: ONNX Runtime's Loop reads a condition that has no elements.
    if shape.rank != 0:
        if shape.num_elements() not in (None, 1):
            raise InvalidArgumentError(
                f"{what} must be a scalar; got {tensor!r} of shape {shape}. Reduce it with "
                "reduce_any or reduce_all."
            )
        tensor = ox.Reshape(tensor, int64_constant([]))
    if tensor.dtype is dtypes.bool:
        return tensor
    return ox.Cast(tensor, to=dtypes.bool.onnx)


class Branching:
    """An ``If`` under construction.

    Args:
        graph: The graph that gets it.
        pred: Which branch runs: a scalar of bools.
        name: Prefix of the names.
        labels: What the branches are called in messages.
    """

    def __init__(
        self,
        graph: FuncGraph,
        pred: Tensor,
        name: str,
        labels: Sequence[str] = ("true_fn", "false_fn"),
        what: str = "true_fn and false_fn arguments to tf.cond",
    ) -> None:
        self._graph = graph
        self._pred = pred
        self._name = name
        self._labels = labels
        self._what = what
        self._bodies = [BodyGraph(f"{name}_{label}", graph) for label in labels]
        self._places: list[str] = []

    def defined_by(self, *functions: Callable[[], Any]) -> None:
        """State which of the user's functions the branches stand for, for messages."""
        self._places = [place_of(f) for f in functions]

    def add(self, *functions: Callable[[], Any]) -> Any:
        """Trace both functions, add the node, return the results."""
        if not self._places:
            self.defined_by(*functions)
        results = [trace(b, f) for b, f in zip(self._bodies, functions, strict=True)]
        leaves = [own_all(b, r) for b, r in zip(self._bodies, results, strict=True)]
        packed = [nest.pack_sequence_as(r, x, True) for r, x in zip(results, leaves, strict=True)]
        self._check_structure(packed, leaves)
        joined = [branch_results.join(a, b, self._bodies) for a, b in zip(*leaves, strict=True)]
        columns = [pair for item in joined for pair in item.pairs]
        states = self._written()
        columns += [
            (self._current(self._bodies[0], state), self._current(self._bodies[1], state))
            for state in states
        ]
        outputs = self._emit(columns, states)
        given = iter(outputs)
        flat = [item.rebuild([next(given) for _ in item.pairs]) for item in joined]
        return nest.pack_sequence_as(results[0], flat, True)

    def _check_structure(self, results: list[Any], leaves: list[list[Any]]) -> None:
        try:
            nest.assert_same_structure(results[0], results[1], expand_composites=True)
        except (TypeError, ValueError) as e:
            raise TypeError(self._disagreement(results, "structures")) from e
        for a, b in zip(*leaves, strict=True):
            if (a is None) != (b is None):
                raise ValueError(self._disagreement(results, "None in one of them"))
            if isinstance(a, ArrayState) != isinstance(b, ArrayState):
                raise TypeError(self._disagreement(results, "a TensorArray in one of them"))
            if a is not None and a.dtype is not b.dtype:
                raise TypeError(self._disagreement(results, "dtypes"))

    def _disagreement(self, results: Sequence[Any], what: str) -> str:
        lines = [
            f"    {label} ({place}) returned: {spelled_all(x)}"
            for label, place, x in zip(self._labels, self._places, results, strict=True)
        ]
        return (
            f"{self._what} must have the same number, type, and overall structure of return "
            f"values; they disagree ({what}).\n" + "\n".join(lines)
        )

    def _written(self) -> list[TracedVariable]:
        """The graph's records of the variables that a branch assigned."""
        found: dict[int, TracedVariable] = {}
        for body in self._bodies:
            for state in body.written_states():
                variable = state.variable()
                found.setdefault(id(variable), self._graph.state_of(variable))
        return list(found.values())

    @staticmethod
    def _current(body: BodyGraph, state: TracedVariable) -> Value:
        return body.read(state.variable())._symbol

    def _emit(self, columns: list[Any], states: list[TracedVariable]) -> list[Tensor]:
        attrs: dict[str, Any] = {}
        for i, (body, key) in enumerate(
            zip(self._bodies, ("then_branch", "else_branch"), strict=True)
        ):
            body.graph.outputs = [pair[i] for pair in columns]
            attrs[key] = body.graph
        types = [(a.dtype, common_shape(a.shape, b.shape)) for a, b in columns]
        first = len(columns) - len(states)
        assigned = {first + i: state for i, state in enumerate(states)}
        for number, state in assigned.items():
            code, shape = types[number]
            types[number] = (code, shape or state.variable().shape.symbolic)
        return list(
            add_control_node(
                self._graph,
                "If",
                (self._pred,),
                attrs,
                types,
                self._bodies,
                assigned=assigned,
                name=self._name,
            )
        )
