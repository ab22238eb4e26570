"""What a torch model answers to the example calls, and what it computes on the way.

Owns three runs: the model itself, whose answers count; the model with hooks, whose layers' results
are the source's own; and the program that the graph was made from, node by node, which has every
value in between. The one decision: what is not the same in two runs (dropout) is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.examples import TOLERANCE, difference
from tfx.core.errors import InvalidArgumentError
from tfx.exporters.example_calls import ExampleCall
from tfx.exporters.torch_graphs import Converted
from tfx.exporters.torch_programs import TracedMethod, in_mode
from tfx.exporters.torch_structures import grown, leaf_paths
from tfx.exporters.torch_weights import TorchWeights, as_array
from tfx.importing.method_graphs import LayerValue, Port, SourceAnswer

_SEEDS = (1, 2)
_Arrays = dict[str, npt.NDArray[Any]]


class Source:
    """A torch module that can be asked; afterwards it is as it was.

    Args:
        module: The module.
        weights: Its weights.
        has_modes: Whether it can be told to run as in training.
    """

    def __init__(self, module: Any, weights: TorchWeights, *, has_modes: bool = True) -> None:
        self._module = module
        self._weights = weights
        self._has_modes = has_modes

    def answers(
        self, traced: TracedMethod, converted: Converted, call: ExampleCall
    ) -> tuple[SourceAnswer, ...]:
        """The answers to a call, and to one of other sizes where dimensions are dynamic.

        Raises:
            InvalidArgumentError: the model itself cannot be called so.
        """
        found: list[SourceAnswer] = []
        refused: Exception | None = None
        for given in (call, _resized(traced, call)):
            try:
                found += [] if given is None else [self._answer(converted, given)]
            except Exception as e:  # a size that the model does not take
                refused = e
        if not found:
            raise InvalidArgumentError(
                f"{traced.label}: the model itself fails for the example arguments"
                f"{' in training' if call.training else ''}: {type(refused).__name__}: {refused}."
            ) from refused
        return tuple(found)

    def _answer(self, converted: Converted, call: ExampleCall) -> SourceAnswer:
        first, second = (self._run(converted, call, seed) for seed in _SEEDS)
        same = {
            n: a
            for n, a in first.items()
            if n in second and np.array_equal(a, second[n], equal_nan=a.dtype.kind in "fc")
        }
        graph = converted.graph
        inputs = {n: as_array(n, t).copy() for n, t in _tensors(converted, call).items()}
        return SourceAnswer(
            inputs,
            {n: a for n, a in same.items() if n not in graph.updates},
            {name: same[n] for n, name in graph.updates.items() if n in same},
            lambda: self._layers(converted, call),
        )

    @contextmanager
    def _ready(self, converted: Converted, call: ExampleCall, seed: int) -> Iterator[None]:
        """The module in its mode; buffers and random numbers are as before afterwards."""
        import torch

        places = [(m, dict(m._buffers)) for m in self._module.modules()]
        changed = [self._weights.tensors[v] for v in converted.graph.updates.values()]
        values = [tensor.detach().clone() for tensor in changed]
        mode = in_mode(self._module, call.training) if self._has_modes else _nothing()
        with torch.no_grad(), torch.random.fork_rng(), mode:
            torch.manual_seed(seed)
            try:
                yield
            finally:
                for tensor, value in zip(changed, values, strict=True):
                    tensor.copy_(value)
                for module, buffers in places:
                    module._buffers.update(buffers)

    def _run(self, converted: Converted, call: ExampleCall, seed: int) -> _Arrays:
        from torch.utils import _pytree as pytree

        graph = converted.graph
        with self._ready(converted, call, seed):
            result = self._call(call)
            leaves = [leaf for _, leaf in leaf_paths(graph.results)]
            found = {
                leaf.name: as_array(leaf.name, tensor).copy()
                for leaf, tensor in zip(leaves, pytree.tree_leaves(result), strict=True)
                if isinstance(leaf, Port)
            }
            buffers = dict(self._module.named_buffers(remove_duplicate=False))
            for port, name in graph.updates.items():
                found[port] = as_array(name, buffers[name]).copy()
        return found

    def _call(self, call: ExampleCall) -> Any:
        method = self._module if call.method == "forward" else getattr(self._module, call.method)
        return method(*call.args, **call.kwargs)

    # Where a difference begins

    def _layers(self, converted: Converted, call: ExampleCall) -> Iterator[LayerValue]:
        """Every value of the program; what a layer returns is the module's own."""
        first, second = (self._inside(converted, call, seed) for seed in _SEEDS)
        own = self._hooked(converted, call)
        last = {layer: name for name, (layer, _) in first.items()}
        for name, (layer, array) in first.items():
            value = converted.values.get(name)
            if value is None or not np.array_equal(
                array, second[name][1], equal_nan=_has_nan(array)
            ):
                continue
            outputs = own.get(layer, ()) if last[layer] == name else ()
            block = [a for n, (at, a) in first.items() if at == layer]
            odd = next(
                (a for a in outputs if not _is_among(a, block) and a.shape == array.shape), None
            )
            yield LayerValue(f"{layer} ({name})", value, array if odd is None else odd)

    def _inside(
        self, converted: Converted, call: ExampleCall, seed: int
    ) -> dict[str, tuple[str, npt.NDArray[Any]]]:
        """Layer and value of each node of the program that has one tensor."""
        import torch

        program = converted.program
        found: dict[str, tuple[str, npt.NDArray[Any]]] = {}

        class Recorder(torch.fx.Interpreter):
            def run_node(self, n: Any) -> Any:
                value = super().run_node(n)
                if n.op == "call_function" and isinstance(value, torch.Tensor):
                    found[n.name] = (_layer(n), as_array(n.name, value).copy())
                return value

        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(seed)
            Recorder(program.graph_module).run(*self._program_inputs(converted, call))
        return found

    def _program_inputs(self, converted: Converted, call: ExampleCall) -> Iterator[Any]:
        from torch.export.graph_signature import ConstantArgument, InputKind

        program, weights = converted.program, converted.graph.weights or {}
        tensors = _tensors(converted, call)
        names = iter(converted.inputs)
        for spec in program.graph_signature.input_specs:
            if spec.kind is not InputKind.USER_INPUT:
                yield program.constants[spec.target]
            elif isinstance(spec.arg, ConstantArgument):
                yield spec.arg.value
            else:
                name = next(names)
                variable = weights.get(name)
                tensor = tensors[name] if variable is None else self._weights.tensors[variable]
                yield tensor.detach().clone()

    def _hooked(self, converted: Converted, call: ExampleCall) -> Mapping[str, list[Any]]:
        """The tensors that each layer returned, of those that were called once."""
        import torch
        from torch.utils import _pytree as pytree

        calls: dict[str, list[list[Any]]] = {}
        handles = []
        for path, module in self._module.named_modules():

            def hook(_: Any, __: Any, output: Any, path: str = path) -> None:
                leaves = [x for x in pytree.tree_leaves(output) if isinstance(x, torch.Tensor)]
                calls.setdefault(path, []).append([as_array(path, x).copy() for x in leaves])

            if self._has_modes and path:
                handles.append(module.register_forward_hook(hook))
        try:
            with self._ready(converted, call, _SEEDS[0]):
                self._call(call)
        finally:
            for handle in handles:
                handle.remove()
        return {path: made[0] for path, made in calls.items() if len(made) == 1}


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _has_nan(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "fc"


def _is_among(array: npt.NDArray[Any], others: list[npt.NDArray[Any]]) -> bool:
    return any(
        o.shape == array.shape and o.dtype == array.dtype and not difference(o, array, TOLERANCE)
        for o in others
    )


def _layer(node: Any) -> str:
    """The path of the layer that a node belongs to; the model itself has none."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def _tensors(converted: Converted, call: ExampleCall) -> dict[str, Any]:
    """The tensors of a call by the graph's names."""
    from torch.utils import _pytree as pytree

    graph = converted.graph
    assert graph.arguments is not None
    if graph.parameters is None:
        given: Any = (call.args, dict(call.kwargs))
        pairs = [(list(graph.arguments.values()), given)]
    else:
        bound = graph.parameters.bind(*call.args, **call.kwargs).arguments
        pairs = [(graph.arguments[name], bound[name]) for name in graph.arguments]
    return {
        leaf.name: tensor
        for structure, value in pairs
        for (_, leaf), tensor in zip(leaf_paths(structure), pytree.tree_leaves(value), strict=True)
        if isinstance(leaf, Port)
    }


def _resized(traced: TracedMethod, call: ExampleCall) -> ExampleCall | None:
    """The same call with each dynamic dimension one larger; None: there is none."""
    if not traced.dims or traced.parameters is None:
        return None
    bound = traced.parameters.bind(*call.args, **call.kwargs)
    for path, axis, _ in traced.dims:
        bound.arguments[path[0]] = grown(bound.arguments[path[0]], path[1:], axis)
    return replace(call, args=bound.args, kwargs=bound.kwargs)
