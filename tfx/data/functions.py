"""Functions of elements: traced once on the specs, run by ONNX Runtime for each element.

A function may take and return datasets: in the graph a dataset that is an argument is a number
(``nodes.handle_of``), and one that is returned is the parameters that the function computes for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfx.core.specs import TensorSpec
from tfx.data.leaves import Leaves, tensor_of
from tfx.data.nodes import HandleNode, Node, Opaque, Parametric, bound, handle_of, symbols, wrapped
from tfx.data.structure import (
    DatasetSpec,
    NoneTensorSpec,
    Structure,
    converted,
    flatten,
    spec_of,
)
from tfx.framework.context import current, init_scope
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, from_array
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.autograph_conversion import traceable
from tfx.function.tracing.function import function as traced_function
from tfx.graph.complex_pairs import PairCall
from tfx.graph.ir import HOST, Graph
from tfx.ops.random.generator import restart
from tfx.vectorize.vectorized_map import vectorized_map

_debugging = False


def enable_debug_mode() -> None:
    """Run the functions of datasets that are made from now on as Python, element by element.

    Example:
        >>> import tfx as tf
        >>> callable(tf.data.experimental.enable_debug_mode)
        True
    """
    global _debugging
    _debugging = True


def argument_structures(structure: Structure) -> list[Structure]:
    """What a function gets: the parts of a tuple, or the element itself."""
    if type(structure.spec) is tuple:
        return [Structure(part) for part in structure.spec]
    return [structure]


class DataFunction(Parametric):
    """A user's function of an element.

    Args:
        function: The function.
        arguments: The structures of its arguments.
        what: The method that got it, for messages.

    Attributes:
        output: The structure of what it returns.
        captures: Tensors of an enclosing function that it uses; then their values.
        writes: Whether it draws random numbers or assigns variables.
    """

    def __init__(self, function: Any, arguments: Sequence[Structure], what: str) -> None:
        if not callable(function):
            raise ValueError(
                f"Dataset.{what} takes a function, which must be a callable; got {function!r}."
            )
        self._function = traceable(function, True)
        self._name = f"Dataset_{what}_{getattr(function, '__name__', 'function').strip('<>')}"
        self._arguments = list(arguments)
        self._specs = [spec for each in arguments for spec in each.specs]
        self._nodes = Opaque([])
        self._python = function if _debugging else None
        self._batched: list[ConcreteFunction | None] = []
        self.captures: tuple[Any, ...] = ()
        self.output = Structure(())
        self._concrete = self._trace()
        self._plain = all(isinstance(s, TensorSpec) for s in (*self._specs, *self.output.specs))
        graph = self._concrete.graph.graph
        self.writes = bool(self._concrete.written_variables)
        # Generators of random numbers are drawn from for a whole batch at once, too.
        only_draws = all(variable.aside is not None for variable in self._concrete.variables)
        self._is_whole = only_draws and not calls_python(graph)

    # Tracing

    def _trace(self) -> ConcreteFunction:
        specs = []
        for spec in self._specs:
            if isinstance(spec, TensorSpec):
                specs.append(TensorSpec(spec.shape, spec.dtype))
            elif isinstance(spec, DatasetSpec):
                specs.append(TensorSpec([], "int64"))

        def traced(*flat: Any) -> list[Any]:
            results = self._flat_results(self._function(*self._given(iter(flat))))
            graph = current().graph
            assert graph is not None
            # What an enclosing function computes is an argument like the others: the function
            # runs when that one has long returned.
            results = [SymbolicTensor(graph.value_of(x), graph) for x in results]
            self.captures = tuple(outer for outer, _ in graph.captured.values())
            graph.arguments += [value for _, value in graph.captured.values()]
            graph.captured.clear()
            return results

        traced.__name__ = self._name
        made = traced_function(traced, autograph=False)
        return made.get_concrete_function(*specs)

    def _given(self, flat: Iterator[Any]) -> list[Any]:
        """The arguments as the user's function gets them."""
        return [
            structure.pack(tuple([_argument(spec, flat) for spec in structure.specs]))
            for structure in self._arguments
        ]

    def _flat_results(self, returned: Any) -> list[Any]:
        # A list is more often what an operation returned than something to be stacked.
        returned = tuple(returned) if type(returned) is list else returned
        try:
            value = converted(returned)
        except (TypeError, ValueError) as e:
            raise TypeError(
                f"{self._name}: a function of a dataset returns tensors, None, datasets, or "
                f"structures of them (dicts and tuples); got {returned!r}: {e}"
            ) from e
        self.output = Structure(spec_of(value))
        self._nodes = Opaque([])
        results: list[Any] = []
        for leaf in flatten(value):
            if isinstance(leaf, Tensor):
                results.append(leaf)
            elif leaf is not None:
                node = leaf._node
                parameters = symbols(node)
                self._nodes.value.append((node, len(parameters)))
                results += parameters
        return results

    # Running

    def __call__(self, *elements: Leaves) -> Leaves:
        """The components of what it returns, given those of its arguments."""
        if self._python is not None:
            return self._in_python(elements)
        tensors: list[Any] = []
        if self._plain:
            for leaves in elements:
                tensors += [
                    from_array(leaf, owned=True) if isinstance(leaf, np.ndarray) else leaf
                    for leaf in leaves
                ]
            if self.captures:
                tensors += self.captures
            return tuple(self._concrete.call_flat(tensors))
        for leaf in (x for leaves in elements for x in leaves):
            if leaf is None:
                continue
            # The caller has the nested dataset, which lives while the function runs.
            tensors.append(_handle(leaf) if isinstance(leaf, Node) else tensor_of(leaf))
        return self._packed(iter(self._concrete.call_flat([*tensors, *self.captures])))

    def _packed(self, values: Iterator[Any]) -> Leaves:
        found: list[Any] = []
        nodes = iter(self._nodes.value)
        for spec in self.output.specs:
            if isinstance(spec, NoneTensorSpec):
                found.append(None)
            elif isinstance(spec, DatasetSpec):
                node, count = next(nodes)
                found.append(bound(node, values) if count else node)
            else:
                found.append(next(values))
        return tuple(found)

    def _in_python(self, elements: Sequence[Leaves]) -> Leaves:
        given = [
            s.pack(tuple([wrapped(x) if isinstance(x, Node) else tensor_of(x) for x in leaves]))
            for s, leaves in zip(self._arguments, _split(self._arguments, elements), strict=True)
        ]
        assert self._python is not None
        found = self._python(*given)
        returned = converted(tuple(found) if type(found) is list else found)
        return tuple([x._node if hasattr(x, "_node") else x for x in flatten(returned)])

    def begin(self) -> None:
        """A run over elements begins: operations with seeds start again, as in TensorFlow."""
        whole = [c for c in self._batched if c is not None]
        for concrete in (self._concrete, *whole):
            for variable in concrete.written_variables:
                restart(variable)

    # Whole batches at once

    def batched(self) -> ConcreteFunction | None:
        """The function of a whole batch, if it is the same as one element after the other."""
        if not self._batched:
            self._batched.append(self._vectorized())
        return self._batched[0]

    def _vectorized(self) -> ConcreteFunction | None:
        if self._python is not None or not self._plain or self.captures or not self._is_whole:
            return None
        if not self._specs or not self.output.specs:
            return None
        if any(s.has_ragged for s in (*self._arguments, self.output)):
            return None
        static = [s.shape.is_fully_defined() for s in (*self._specs, *self.output.specs)]
        if not all(static):
            return None
        concrete = self._concrete

        def one(parts: Any) -> list[Any]:
            if self.writes:
                # The generators of a function that is called would not be advanced here.
                return self._flat_results(self._function(*self._given(iter(parts))))
            return list(concrete.call_flat(list(parts)))

        def whole(*rows: Any) -> Any:
            return vectorized_map(one, rows, False, warn=False)

        whole.__name__ = f"{self._name}_batch"
        specs = [TensorSpec([None, *s.shape], s.dtype) for s in self._specs]
        try:
            with init_scope():
                made = traced_function(whole, autograph=False).get_concrete_function(*specs)
        except Exception:  # whatever has no rule runs element by element
            return None
        return None if calls_python(made.graph.graph) else made


def _split(structures: Sequence[Structure], elements: Sequence[Leaves]) -> Iterator[Leaves]:
    """The components of each argument."""
    flat = [x for leaves in elements for x in leaves]
    start = 0
    for structure in structures:
        end = start + len(structure.specs)
        yield tuple(flat[start:end])
        start = end


def _argument(spec: Any, flat: Iterator[Any]) -> Any:
    if isinstance(spec, NoneTensorSpec):
        return None
    tensor = next(flat)
    if isinstance(spec, DatasetSpec):
        return wrapped(HandleNode(tensor, Structure(spec.element_spec)))
    if isinstance(tensor, SymbolicTensor):
        tensor.set_shape(spec.shape)
    return tensor


def _handle(node: Node) -> EagerTensor:
    return from_array(np.array(handle_of(node), np.int64), owned=True)


def calls_python(graph: Graph) -> bool:
    """True if a graph prints, checks, or calls Python, here or in its bodies and callees."""
    return any(
        (node.op == HOST and not isinstance(node.attrs["call"], PairCall))
        or any(calls_python(body) for body in node.bodies())
        for node in graph.nodes
    )


def predicate(function: Any, structure: Structure, what: str) -> DataFunction:
    """A function that says yes or no.

    Raises:
        ValueError: it returns something else than a boolean scalar.
    """
    made = DataFunction(function, argument_structures(structure), what)
    spec = made.output.spec
    if (
        not isinstance(spec, TensorSpec)
        or spec.dtype.name != "bool"
        or spec.shape.rank
        not in (
            0,
            None,
        )
    ):
        raise ValueError(
            f"The function of Dataset.{what} must return a boolean scalar tensor; it returns "
            f"{spec!r}."
        )
    return made
