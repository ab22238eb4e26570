"""A call of a JAX model as an ONNX graph, by jax2onnx, with the source's answer beside it."""

from __future__ import annotations

import importlib
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from tfx.core.errors import InvalidArgumentError, OpError, UnimplementedError
from tfx.exporters.example_calls import ExampleCall
from tfx.exporters.sources.jax_layers import layers_inside
from tfx.exporters.sources.jax_models import JaxModel, Values
from tfx.exporters.sources.messages import one_line
from tfx.framework.variable import Variable
from tfx.importing.compare_answers import values_inside
from tfx.importing.method_graphs import LayerValue, MethodGraph, Port, SourceAnswer

Array: TypeAlias = "np.ndarray[Any, Any]"

_OPSET = 21
_WEIGHT = "variables/"


class JaxCall:
    """A call of a model: its arguments taken apart, and a flat function of arrays.

    Args:
        model: The model.
        call: An example of the call.

    Attributes:
        label: The method, for messages.
        arguments: Parameters in order; a ``Port`` in the place of each array.
        inputs: The arrays by port.
        results: The structure of the result, with a ``Port`` for each array.
        updates: Names of the values that change, by port.
        flat: A function of all arrays, those of ``inputs`` first, then the model's values. It gives
            a list: results, then new values.
    """

    def __init__(self, model: JaxModel, call: ExampleCall) -> None:
        jax = importlib.import_module("jax")
        self.label = f"{model.label}.{call.method}" if call.method != "__call__" else model.label
        self._model = model
        self._pure = model.pure(call)
        self.parameters, bound = _bound(model.shown(call.method), call, self.label)
        self.inputs: dict[str, Array] = {}
        self.arguments = {n: self._taken(v, (n,)) for n, v in bound.arguments.items()}
        self.dynamic = _dynamic(self.label, call.dynamic or {}, self.arguments, self.inputs)
        self._bound = bound
        self.specs: list[Any] = []
        self.results: Any = None
        self.updates: dict[str, str] = {}
        self.outputs: list[str] = []
        self._describe(jax)

    def _taken(self, value: Any, path: tuple[Any, ...]) -> Any:
        """An argument with a port in the place of each array; arrays are kept."""
        if isinstance(value, Mapping):
            return {k: self._taken(v, (*path, k)) for k, v in value.items()}
        if isinstance(value, list | tuple):
            items = [self._taken(v, (*path, i)) for i, v in enumerate(value)]
            if isinstance(value, list):
                return items
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return value
        numpy = importlib.import_module("jax.numpy")
        name = "_".join(str(part) for part in path)
        array = value.numpy() if hasattr(value, "numpy") else value
        self.inputs[name] = np.asarray(numpy.asarray(array))
        return Port(name)

    def _describe(self, jax: Any) -> None:
        """Run the function on shapes alone, to learn what comes out."""
        dims = _symbols(self.dynamic)
        shape_of = jax.ShapeDtypeStruct
        for name, array in self.inputs.items():
            named = self.dynamic.get(name, {})
            shape = [dims[named[i]] if i in named else d for i, d in enumerate(array.shape)]
            self.specs.append(shape_of(tuple(shape), array.dtype))
        values = self._model.values
        self.specs += [shape_of(v.shape, v.dtype) for v in values.values()]
        result, updates = jax.eval_shape(self._structured, *self.specs)
        self.results = _with_ports(result, ())
        self.updates = {f"{n}/new": n for n in updates}
        self.outputs = [*(p.name for p in _ports(self.results)), *self.updates]

    def _structured(self, *arrays: Any) -> tuple[Any, Values]:
        inputs = dict(zip(self.inputs, arrays, strict=False))
        values = dict(zip(self._model.values, arrays[len(inputs) :], strict=True))
        given = {n: _put_back(a, inputs) for n, a in self.arguments.items()}
        bound = inspect.BoundArguments(self._bound.signature, OrderedDict(given))
        return self._pure(values, bound.args, bound.kwargs)

    def flat(self, *arrays: Any) -> list[Any]:
        """See the class."""
        result, updates = self._structured(*arrays)
        copy = importlib.import_module("jax.numpy").copy
        seen = {id(array) for array in arrays}
        found = []
        for leaf in (*_leaves(result), *updates.values()):
            # A graph has a name of its own for each output.
            found.append(copy(leaf) if id(leaf) in seen else leaf)
            seen.add(id(leaf))
        return found

    @property
    def weights(self) -> dict[str, str]:
        """Names of the model's values by port."""
        return {f"{_WEIGHT}{n}": n for n in self._model.values}

    def answer(self) -> dict[str, Array]:
        """What the model gives for the example, by port."""
        given = [*self.inputs.values(), *self._model.values.values()]
        return dict(zip(self.outputs, map(np.asarray, self.flat(*given)), strict=True))

    def layers(self, graph: MethodGraph) -> list[LayerValue]:
        """What the model computes inside for the example, where its graph has the same.

        Args:
            graph: The call's.

        Raises:
            UnimplementedError: JAX does not run the model equation by equation.
            OpError: the graph does not run with all of its values as results.
        """
        names = [n for node in graph.model.graph.node for n in node.output if n]

        def run(weights: Values) -> dict[str, Array]:
            variables = {n: Variable(a, trainable=False) for n, a in weights.items()}
            return values_inside(self.label, graph, variables, self.inputs, names)

        try:
            return list(layers_inside(self.flat, self.inputs, self._model.values, run))
        except OpError:
            raise
        except Exception as e:  # of any primitive
            raise UnimplementedError(
                f"JAX does not run {self.label} equation by equation ({one_line(e)})."
            ) from e


def method_graph(model: JaxModel, call: ExampleCall) -> MethodGraph:
    """A call of a model as a graph.

    Args:
        model: The model.
        call: An example of the call.

    Raises:
        InvalidArgumentError: the example does not fit, or the model fixes a dimension or needs the
            contents of an array in Python.
        UnimplementedError: it uses what has no ONNX form.
    """
    taken = _guarded(f"{model.label}.{call.method}", lambda: JaxCall(model, call))
    proto = to_onnx(
        taken.label, taken.flat, taken.specs, [*taken.inputs, *taken.weights], taken.outputs
    )
    found = taken.answer()
    graph = MethodGraph(
        proto,
        arguments=taken.arguments,
        results=taken.results,
        parameters=taken.parameters,
        weights=taken.weights,
        updates=taken.updates,
    )
    answer = SourceAnswer(
        taken.inputs,
        {n: a for n, a in found.items() if n not in taken.updates},
        {name: found[port] for port, name in taken.updates.items()},
        layers=lambda: taken.layers(graph),
    )
    return replace(graph, answers=(answer,))


def to_onnx(
    label: str,
    flat: Callable[..., Any],
    specs: Sequence[Any],
    inputs: Sequence[str],
    outputs: Sequence[str] | None,
) -> Any:
    """A function of arrays as an ONNX model.

    jax2onnx has two ways: it puts functions of its own in the place of flax's and JAX's layers,
    which gives larger operators, or it takes JAX's primitives, which every program consists of. The
    second is the way out where the first fails.

    Raises:
        UnimplementedError: neither way has operators for it.
    """
    jax2onnx = importlib.import_module("jax2onnx")
    double = any(np.dtype(s.dtype) == np.float64 for s in specs)

    def convert(function: Callable[..., Any]) -> Any:
        return jax2onnx.to_onnx(
            function,
            list(specs),
            opset=_OPSET,
            model_name="jax_model",
            enable_double_precision=double,
            input_names=list(inputs),
            output_names=None if outputs is None else list(outputs),
        )

    try:
        return convert(flat)
    except Exception as first:
        primitives = _guarded(label, lambda: _primitives(flat, specs))
        try:
            return convert(primitives)
        except Exception as e:
            raise UnimplementedError(
                f"{label} has no ONNX form in jax2onnx: {one_line(e)} (as layers: "
                f"{one_line(first)}). Write this part with other functions of jax.numpy or jax.lax."
            ) from e


def _primitives(flat: Callable[..., Any], specs: Sequence[Any]) -> Callable[..., Any]:
    """A function as a program of primitives, without what nobody uses."""
    jax = importlib.import_module("jax")
    evaluate = importlib.import_module("jax.extend.core").jaxpr_as_fun
    closed = jax.make_jaxpr(flat)(*specs)
    partial = importlib.import_module("jax.interpreters.partial_eval")
    jaxpr, _ = partial.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    function: Callable[..., Any] = evaluate(closed.replace(jaxpr=jaxpr))
    return function


def _guarded(label: str, run: Callable[[], Any]) -> Any:
    """Trace a model, and say in our words why it cannot be traced."""
    jax = importlib.import_module("jax")
    try:
        return run()
    except InvalidArgumentError:
        raise
    except jax.errors.ConcretizationTypeError as e:
        raise InvalidArgumentError(
            f"{label} needs the contents of an array in Python ({one_line(e)}), which a graph has "
            "only when it runs: use jax.lax.cond, jax.lax.while_loop or jnp.where."
        ) from e
    except Exception as e:
        if "dimension" not in str(e) and "shape" not in str(e).lower():
            raise
        raise InvalidArgumentError(
            f"{label} cannot be traced with these sizes ({one_line(e)}); where a size is open by "
            "dynamic=, the model may fix it: leave it out of dynamic."
        ) from e


def _bound(
    shown: Any, call: ExampleCall, label: str
) -> tuple[inspect.Signature, inspect.BoundArguments]:
    signature = inspect.signature(shown)
    try:
        bound = signature.bind(*call.args, **call.kwargs)
    except TypeError as e:
        raise InvalidArgumentError(
            f"{label}: the example does not fit its parameters {signature}: {e}."
        ) from e
    bound.apply_defaults()
    return signature, bound


def _dynamic(
    label: str,
    dynamic: Mapping[str, Any],
    arguments: Mapping[str, Any],
    inputs: Mapping[str, Array],
) -> dict[str, dict[int, str]]:
    """Names of dimensions by port and axis."""
    found: dict[str, dict[int, str]] = {}
    for parameter, given in dynamic.items():
        if parameter not in arguments:
            raise InvalidArgumentError(
                f"{label}: dynamic has {parameter!r}, which is no argument; it has "
                f"{', '.join(arguments) or 'none'}."
            )
        for port, axes in _named_axes(arguments[parameter], given, label):
            rank = inputs[port].ndim
            for axis, name in axes.items():
                if not isinstance(axis, int) or not -rank <= axis < rank:
                    raise InvalidArgumentError(
                        f"{label}: dynamic has axis {axis!r} of {port!r}, which has rank {rank}."
                    )
                found.setdefault(port, {})[axis % rank] = str(name)
    return found


def _named_axes(structure: Any, given: Any, label: str) -> Iterator[tuple[str, Mapping[int, str]]]:
    if isinstance(structure, Port):
        if not isinstance(given, Mapping):
            given = dict(enumerate(given))
        yield structure.name, {a: n for a, n in given.items() if n is not None}
    elif isinstance(structure, Mapping) and isinstance(given, Mapping):
        for key, inner in given.items():
            yield from _named_axes(structure[key], inner, label)
    elif isinstance(structure, list | tuple) and isinstance(given, list | tuple):
        for part, inner in zip(structure, given, strict=True):
            yield from _named_axes(part, inner, label)
    elif given is not None:
        raise InvalidArgumentError(
            f"{label}: dynamic has {given!r:.100} where the argument is {structure!r:.100}."
        )


def _symbols(dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    export = importlib.import_module("jax.export")
    scope = export.SymbolicScope()
    names = dict.fromkeys(name for axes in dynamic.values() for name in axes.values())
    return {name: export.symbolic_shape(name, scope=scope)[0] for name in names}


def _with_ports(result: Any, path: tuple[Any, ...]) -> Any:
    """A result with a port in the place of each array."""
    if isinstance(result, Mapping):
        return {k: _with_ports(v, (*path, k)) for k, v in result.items()}
    if isinstance(result, list | tuple):
        items = [_with_ports(v, (*path, i)) for i, v in enumerate(result)]
        if isinstance(result, list):
            return items
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    if result is None:
        return None
    if path and isinstance(path[0], int):
        path = ("output", *path)
    return Port("_".join(str(part) for part in path) or "output")


def _ports(structure: Any) -> list[Port]:
    return [leaf for leaf in _leaves(structure) if isinstance(leaf, Port)]


def _leaves(structure: Any) -> list[Any]:
    """The leaves in JAX's order, which sorts dicts by their keys; None is none."""
    if isinstance(structure, Mapping):
        structure = [structure[key] for key in sorted(structure)]
    if isinstance(structure, list | tuple):
        return [leaf for item in structure for leaf in _leaves(item)]
    return [] if structure is None else [structure]


def _put_back(structure: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(structure, Port):
        return arrays[structure.name]
    if isinstance(structure, Mapping):
        return {k: _put_back(v, arrays) for k, v in structure.items()}
    if isinstance(structure, list | tuple):
        items = [_put_back(v, arrays) for v in structure]
        if isinstance(structure, list):
            return items
        return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)
    return structure
