"""One way of calling a model: a traced function into which the model's graph is put."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from tfx.control_flow.tensor_array import TensorArray
from tfx.core import dtypes
from tfx.core.dtypes import from_onnx
from tfx.core.signatures import show_signature
from tfx.core.specs import TensorSpec
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.tracing.function import Function
from tfx.graph.ir import Value
from tfx.graph.onnx_import.read_model import read_model, used_values
from tfx.graph.serialization.models import ForeignModel
from tfx.importing.model_inputs import InputPort
from tfx.importing.sequence_results import put_together, taken_apart

_UNSAFE = re.compile(r"\W")


def identifiers(names: Sequence[str]) -> list[str]:
    """Names as Python has them: each an identifier, and no two the same."""
    taken: set[str] = {n for n in names if n.isidentifier() and not iskeyword(n)}
    found = []
    for name in names:
        if name in taken:
            found.append(name)
            continue
        base = _UNSAFE.sub("_", name) or "input"
        base = f"_{base}" if base[0].isdigit() or iskeyword(base) else base
        unique, i = base, 1
        while unique in taken:
            unique, i = f"{base}_{i}", i + 1
        taken.add(unique)
        found.append(unique)
    return found


class Call:
    """A model's graph as a function of some of its inputs.

    Args:
        loaded: The model.
        ports: Its inputs.
        variables: Its weights by name.
        absent: Optional inputs that are left out.
        replaced: Weights that the caller gives.
        lengths: How many elements each input has that is a sequence.
        straight_through: Whether gradients pass quantizations.
    """

    def __init__(
        self,
        loaded: ForeignModel,
        ports: Sequence[InputPort],
        variables: Mapping[str, Variable],
        absent: Collection[str],
        replaced: Collection[str],
        lengths: Mapping[str, int],
        straight_through: bool,
    ) -> None:
        self.foreign = read_model(
            loaded.proto,
            loaded.name,
            weights={*variables, *replaced},
            absent=absent,
            lengths=lengths,
            shapes={p.name: p.shape for p in ports},
            arrays=loaded.arrays(),
            external=loaded.external,
            straight_through=straight_through,
        )
        self._variables = variables
        self._replaced = replaced
        self._arrays = {
            n
            for n, v in self.foreign.outputs.items()
            if isinstance(v, Value) and v.dtype > dtypes.SEQUENCE
        }
        self._used = used_values(self.foreign.graph)
        self._ports = [
            p for p in ports if p.name not in absent and (not p.default or p.name in replaced)
        ]
        self.function = self._as_function(loaded.proto.graph.name or "model")

    def __call__(self, given: Mapping[str, Any]) -> Any:
        """Call with the inputs by name."""
        return self.direct(*flat_arguments(self._ports, given))

    @property
    def direct(self) -> Callable[..., Any]:
        """The function that takes the inputs by position."""
        return self._with_arrays if self._arrays else self.function

    def _with_arrays(self, *tensors: Any) -> Any:
        if current().graph is not None:  # no function between: it could not return arrays
            return self._body([convert_to_tensor(t) for t in tensors])
        results = self.function(*tensors)
        if len(self.foreign.outputs) == 1:
            return put_together(results)
        return {n: put_together(x) if n in self._arrays else x for n, x in results.items()}

    def _as_function(self, name: str) -> Function:
        def call(*tensors: Any) -> Any:
            return self._body(tensors, apart=True)

        values = [self._values(p) for p in self._ports]
        specs = [
            TensorSpec(p.tensor.shape, p.tensor.dtype, name=None if p.sequence else p.name)
            for p, group in zip(self._ports, values, strict=True)
            for _ in group
        ]
        names = [
            f"{p.name}_{i}" if p.sequence else p.name
            for p, group in zip(self._ports, values, strict=True)
            for i in range(len(group))
        ]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(n, kind) for n in identifiers(names)]
        show_signature(call, inspect.Signature(parameters))
        call.__name__ = call.__qualname__ = identifiers([name])[0]
        self._order = [v for group in values for v in group]
        return Function(call, call.__name__, specs, autograph=False)

    def _values(self, port: InputPort) -> list[Value]:
        """The graph's inputs that are a model's."""
        found = (self.foreign.weights if port.default else self.foreign.inputs)[port.name]
        return found if isinstance(found, list) else [found]

    def _body(self, tensors: Sequence[Any], *, apart: bool = False) -> Any:
        """Put the graph into the one under construction.

        Args:
            tensors: The arguments.
            apart: Whether a sequence leaves in parts (see ``arrays``), and not as a TensorArray.
        """
        graph = current().graph
        if graph is None:  # functions are asked to run eagerly: this one has no Python to run
            return self.function.get_concrete_function(*tensors)(*tensors)
        foreign = self.foreign
        mapping: dict[int, Tensor] = {id(v): t for v, t in zip(self._order, tensors, strict=True)}
        for name, value in foreign.weights.items():
            if name not in self._replaced and id(value) in self._used:
                mapping[id(value)] = self._variables[name].value()
        inline_nodes(foreign.graph, mapping, graph)
        results = {n: _leaving(v, mapping, apart=apart) for n, v in foreign.outputs.items()}
        return next(iter(results.values())) if len(results) == 1 else results


def flat_arguments(ports: Sequence[InputPort], given: Mapping[str, Any]) -> list[Any]:
    """The arguments of a call, elements of sequences one by one."""
    found: list[Any] = []
    for port in ports:
        value = given[port.name]
        found += list(value) if port.sequence else [value]
    return found


def _leaving(value: Value | list[Value], mapping: Mapping[int, Tensor], *, apart: bool) -> Any:
    """An output: a tensor, a list of them, or, of unknown length, an array of them."""
    if isinstance(value, list):
        return [mapping[id(v)] for v in value]
    tensor = mapping[id(value)]
    if value.dtype < dtypes.SEQUENCE:
        return tensor
    if apart:
        return taken_apart(tensor)
    array = TensorArray(from_onnx(value.dtype), 0, dynamic_size=True, infer_shape=False)
    return array.with_sequence(tensor)
