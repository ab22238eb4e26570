"""``ConvertedModule``: a model of another framework, with several methods over one set of weights.

Each method is one or more ONNX graphs, made by the framework's own exporter: one for each way of
calling it that needs a graph of its own (with and without a mask, say). All graphs share one dict
of variables under the source's names. What a graph says of its state (batch statistics, counters,
caches) is assigned to variables. The one decision: graphs and variables are separate from the
start, so that no graph ever holds a copy of a weight.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import init_scope
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.graph.onnx_import.weights import find_weights
from tfx.importing.call import identifiers
from tfx.importing.method_call import MethodCall
from tfx.importing.method_graphs import MethodGraph, SourceVariable
from tfx.importing.open_model import open_model
from tfx.importing.write_model import stored_model, write_model


class MethodSignature:
    """A method as a signature of a bundle, under the names of its graph.

    Attributes:
        concrete_function: The trace that is saved.
        input_names: A name for each tensor that it takes.
        output_names: A name for each tensor that it returns.
    """

    def __init__(self, call: MethodCall) -> None:
        self.concrete_function = call.concrete_function
        self.input_names = call.input_names
        self.output_names = call.output_names


class ConvertedMethod:
    """A method of a converted model: called as the source's is.

    Attributes:
        name: The method's name.
        calls: Its graphs.
    """

    def __init__(self, owner: str, name: str, calls: Sequence[MethodCall]) -> None:
        self.name = name
        self.calls = tuple(calls)
        self._label = f"{owner}.{name}"
        parameters = self.calls[0].parameters
        assert parameters is not None
        self.__signature__ = parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the method.

        Args:
            *args: Arguments as the source's method takes them: tensors, arrays, structures.
            **kwargs: Arguments by name.

        Returns:
            The results in the source's structure.

        Raises:
            TypeError: arguments are missing, unknown or given twice.
            InvalidArgumentError: an argument of another dtype, shape or structure than any graph
                of the method has.
        """
        reasons = []
        for call in self.calls:
            assert call.parameters is not None
            bound = call.parameters.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments, wrong = call.matched(bound.arguments)
            if arguments is not None and len(self.calls) > 1:
                wrong = call.misfit(arguments)
            if arguments is not None and wrong is None:
                return call(*arguments)
            reasons.append(wrong or "")
        raise InvalidArgumentError(
            f"{self._label} was exported for other arguments: {'; or '.join(reasons)}. Export it "
            "with an example of this call too."
        )

    def __repr__(self) -> str:
        return f"<ConvertedMethod {self._label}{self.__signature__}>"


class ConvertedModule(Module):
    """A model of another framework as a module.

    Args:
        methods: The graphs of each method by its name; several graphs where ways of calling it
            need one each. The first method is what calling the module does.
        variables: Parameters and buffers by the source's names. None: those that the graphs'
            initializers are.
        tied: Further names of variables: ``{"decoder.weight": "embedding.weight"}``.
        name: Name of the module, an identifier; None: ``model``.
        signatures: Methods by the names of signatures; None: the first one is
            ``serving_default``, and each other has its own name.
        metadata: Text about the source: framework, versions, class.

    Attributes:
        weights: The variables by the source's names; a tied one stands under each.
        metadata: What is known about the source.

    Raises:
        InvalidArgumentError: a graph and its description, or a graph and the variables, do not fit.
        BundleError: a graph is damaged.
        UnimplementedError: a graph uses what cannot be represented.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x, w: x @ w)
        >>> specs = [tf.TensorSpec([None, 2], name="x"), tf.TensorSpec([2, 1], name="w")]
        >>> graph = f.get_concrete_function(*specs).as_onnx()
        >>> module = ConvertedModule(
        ...     {"forward": MethodGraph(graph, weights={"w": "dense.kernel"})},
        ...     {"dense.kernel": SourceVariable([[1.0], [2.0]])},
        ... )
        >>> module(tf.constant([[1.0, 1.0]])).numpy(), module.forward([[0.0, 1.0]]).numpy()
        (array([[3.]], dtype=float32), array([[2.]], dtype=float32))
        >>> list(module.weights)
        ['dense.kernel']
    """

    def __init__(
        self,
        methods: Mapping[str, Any],
        variables: Mapping[str, SourceVariable] | None = None,
        *,
        tied: Mapping[str, str] | None = None,
        name: str | None = None,
        signatures: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(identifiers([name or "model"])[0])
        if not methods:
            raise InvalidArgumentError(f"{self.name} has no method, expected one at least.")
        graphs = {n: _as_graphs(g) for n, g in methods.items()}
        if variables is None:
            variables, graphs = _own_variables(graphs)
        with init_scope():
            made = {
                key: Variable(v.value, trainable=v.trainable, name=key)
                for key, v in variables.items()
            }
        for other, key in (tied or {}).items():
            if key not in made:
                raise InvalidArgumentError(
                    f"tied names {other!r} as another name of {key!r}, which is no variable."
                )
            made[other] = made[key]
        self.weights = made
        self.metadata = dict(metadata or {})
        self._self_tied = dict(tied or {})
        self._self_unstored = frozenset(n for n, v in variables.items() if not v.is_stored)
        self._self_graphs = graphs
        first = next(iter(graphs))
        default = {"serving_default": first} | {n: n for n in graphs if n != first}
        self._self_signatures = dict(default if signatures is None else signatures)
        self._adopt()

    def _adopt(self) -> None:
        """Make the methods' functions; what is wrong with a graph comes out here."""
        self._self_methods = {}
        for name, graphs in self._self_graphs.items():
            calls = []
            for number, graph in enumerate(graphs):
                function_name = identifiers([name if number == 0 else f"{name}_{number}"])[0]
                label = f"{self.name}.{name}" + (f" ({number})" if number else "")
                calls.append(MethodCall(label, function_name, graph, self.weights))
            self._self_methods[name] = ConvertedMethod(self.name, name, calls)
        for key, name in self._self_signatures.items():
            if name not in self._self_methods:
                raise InvalidArgumentError(
                    f"signatures has {key!r}: {name!r}, which is no method of {self.name}; it has "
                    f"{', '.join(self._self_methods)}."
                )
        self._self_first = next(iter(self._self_methods.values()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the first method; see ``ConvertedMethod``."""
        return self._self_first(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """A method by its name."""
        method = self.__dict__.get("_self_methods", {}).get(name)
        if method is None:
            known = ", ".join(self.__dict__.get("_self_methods", ()))
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}; its methods are {known}"
            )
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._self_methods]

    @property
    def methods(self) -> dict[str, ConvertedMethod]:
        """The methods by name."""
        return dict(self._self_methods)

    @property
    def tied(self) -> dict[str, str]:
        """Further names of variables, and the first name of each."""
        return dict(self._self_tied)

    @property
    def unstored(self) -> frozenset[str]:
        """Names of weights that the source does not keep in its files."""
        return self._self_unstored

    @property
    def signature_methods(self) -> dict[str, str]:
        """The method of each signature."""
        return dict(self._self_signatures)

    @property
    def signatures(self) -> dict[str, Any]:
        """The signatures that ``saved_model.save`` offers, under the graphs' own names."""
        return {
            key: MethodSignature(self._self_methods[name].calls[0])
            for key, name in self._self_signatures.items()
        }

    def _traced_methods(self) -> dict[str, Any]:
        """What a bundle has beside the attributes: each graph's function."""
        found: dict[str, Any] = {"__call__": self._self_first.calls[0].function}
        for name, method in self._self_methods.items():
            for number, call in enumerate(method.calls):
                found[name if number == 0 else f"{name}_{number}"] = call.function
        return found

    def as_onnx(self, path: str | os.PathLike[str] | None = None, method: str | None = None) -> Any:
        """A method with the present weights as plain ONNX, which any ONNX Runtime runs.

        What the method updates are outputs of the model, under the graph's names.

        Args:
            path: Where to write it, too. Weights above 1 GiB in all go into a file beside it.
            method: The method; None: the first one.

        Returns:
            An ``onnx.ModelProto``.
        """
        call = (self._self_first if method is None else getattr(self, method)).calls[0]
        foreign, variables = call.bound_graph()
        proto = stored_model(foreign, variables, call.loaded.proto)
        if path is not None:
            write_model(proto, path)
        return proto

    def __deepcopy__(self, memo: dict[int, Any]) -> ConvertedModule:
        """The same model with variables of its own."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for key, value in vars(self).items():
            shared = key.startswith("_self_")
            vars(other)[key] = value if shared else copy.deepcopy(value, memo)
        other._adopt()
        return other

    def __reduce__(self) -> Any:
        """The graphs as bytes, with the present values of the variables."""
        values = {
            n: SourceVariable(v.numpy(), v.trainable, n not in self._self_unstored)
            for n, v in self.weights.items()
            if n not in self._self_tied
        }
        given = {
            "tied": self._self_tied,
            "name": self.name,
            "signatures": self._self_signatures,
            "metadata": self.metadata,
        }
        graphs = {n: [_as_bytes(g) for g in items] for n, items in self._self_graphs.items()}
        own = ("weights", "metadata", "_name")
        others = {
            k: v for k, v in vars(self).items() if k not in own and not k.startswith("_self_")
        }
        return _restored, (graphs, values, given), others

    def __repr__(self) -> str:
        methods = ", ".join(f"{n}{m.__signature__}" for n, m in self._self_methods.items())
        return f"<ConvertedModule {self.name}: {methods}; {len(self.weights)} weights>"


def _as_graphs(graphs: Any) -> tuple[MethodGraph, ...]:
    return (graphs,) if isinstance(graphs, MethodGraph) else tuple(graphs)


def _own_variables(
    graphs: Mapping[str, tuple[MethodGraph, ...]],
) -> tuple[dict[str, SourceVariable], dict[str, tuple[MethodGraph, ...]]]:
    """The variables that the initializers of graphs are; equal ones of one name are one."""
    found: dict[str, SourceVariable] = {}
    for name, items in graphs.items():
        for graph in items:
            loaded = open_model(graph.model)
            for key, weight in find_weights(loaded).items():
                given = (graph.weights or {}).get(key, key if graph.weights is None else None)
                if given is None or not (weight.default or graph.weights):
                    continue
                known = found.get(given)
                if known is not None and not np.array_equal(known.value, weight.array):
                    raise InvalidArgumentError(
                        f"two graphs have a weight {given!r} of different values, the second is "
                        f"method {name!r}; give each its own name by weights=."
                    )
                found.setdefault(given, SourceVariable(weight.array, weight.trainable))
    return found, dict(graphs)


def _as_bytes(graph: MethodGraph) -> MethodGraph:
    return replace(graph, model=open_model(graph.model).with_external({}), answers=())


def _restored(
    graphs: Mapping[str, Any], values: Mapping[str, SourceVariable], given: Mapping[str, Any]
) -> ConvertedModule:
    """A model from a pickle."""
    return ConvertedModule(graphs, values, **given)
