"""``SessionPlan``: fetches and feeds compiled to a function of the feeds."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from tfx.compat.v1.session.resolve_state import Resolved, has_value
from tfx.core import dtypes
from tfx.core.errors import FailedPreconditionError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, SymbolicTensor
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.execution.function_with_options import FunctionWithOptions
from tfx.function.inspection.run_metadata import RunMetadata
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.parameters import Parameters
from tfx.graph.ir import Value
from tfx.runtime.run_options import RunOptions


class SessionPlan:
    """A part of a graph, ready to run.

    Args:
        resolved: The part.
        device: Canonical name of the device that the graph was built for.
    """

    __slots__ = ("_checked", "_concrete", "_queried")

    def __init__(self, resolved: Resolved, device: str) -> None:
        self._queried = resolved.queried
        self._checked = False
        func_graph = resolved.func_graph
        count = len(func_graph.graph.outputs) - len(func_graph.written_states())
        results = [SymbolicTensor(v, func_graph) for v in func_graph.graph.outputs[:count]]
        signature = signature_of(func_graph.arguments)
        self._concrete = ConcreteFunction(func_graph, signature, results, device)

    def is_current(self) -> bool:
        """True if what the graph asked about variables is still so."""
        return all(has_value(variable) == had for variable, had in self._queried)

    @property
    def name(self) -> str:
        """Name of the graph, for messages."""
        return self._concrete.name

    def __call__(self, *tensors: EagerTensor) -> list[EagerTensor]:
        """Run without options."""
        return self.run(tensors)

    def run(
        self,
        tensors: Sequence[EagerTensor],
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> list[EagerTensor]:
        """The fetched contents, and new values for variables, all or none.

        Args:
            tensors: What is fed.
            options: See ``Session.run``.
            run_metadata: See ``Session.run``.

        Raises:
            FailedPreconditionError: a variable that is read has no value yet.
        """
        if not self._checked:
            check_initialized(self._concrete.graph)
            self._checked = True
        if options is not None or run_metadata is not None:
            configured = FunctionWithOptions(self, options or RunOptions(), run_metadata)
            measured: list[EagerTensor] = configured(*tensors)
            return measured
        with using(graph=None, tapes=()):
            found: list[EagerTensor] = self._concrete.call_flat(tensors)
        return found


def check_initialized(graph: FuncGraph) -> None:
    """Refuse to run what reads a variable without a value.

    Raises:
        FailedPreconditionError: naming the variable.
    """
    for state in graph.read_states():
        if not has_value(state.variable()):
            name = state.name.removesuffix(":0")
            raise FailedPreconditionError(
                f"Attempting to use uninitialized value {name}: run its initializer first, for "
                "example session.run(tf.compat.v1.global_variables_initializer())."
            )


def signature_of(arguments: Sequence[Value]) -> CallSignature:
    """The signature of a function of these inputs of a graph, by position or by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [_identifier(v.name) for v in arguments]
    names = [n if names.index(n) == i else f"{n}_{i}" for i, n in enumerate(names)]
    parameters = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    specs = [
        TensorSpec(TensorShape(v.shape), dtypes.from_onnx(v.dtype), n)
        for v, n in zip(arguments, names, strict=True)
    ]
    return CallSignature(Parameters.from_signature(parameters), specs)


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return text if text.isidentifier() else f"arg_{text}"
