"""``SignatureFunction``: a named entry point of a loaded bundle."""

from __future__ import annotations

import copy
import difflib
from typing import Any

from tfx.bundle.records import Signature
from tfx.core.errors import NotFoundError
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.call_signature import check_names, check_tensor, has_named_dims
from tfx.function.tracing.parameters import Parameters
from tfx.saved_model.traces import LoadedFiles, Trace
from tfx.saved_model.values import to_spec


class UnknownSignatureError(NotFoundError, KeyError):
    """An error for a signature name that does not exist."""


class Signatures(dict[str, "SignatureFunction"]):
    """The signatures of a loaded bundle by name; errors suggest the nearest name."""

    def __missing__(self, name: Any) -> SignatureFunction:
        """Raise the error of a name that is not there."""
        names = ", ".join(map(repr, self)) or "none"
        raise UnknownSignatureError(
            f"there is no signature {name!r}{_nearest(str(name), list(self))}; the bundle has "
            f"{names}"
        )


@cover
class SignatureFunction:
    """A named entry point of a loaded bundle: named tensors in, a dict of named tensors out.

    Its graph is opened at the first call.

    Args:
        signature: The record.
        files: The bundle.
        parameters: Those of the Python function behind it, if there was one.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> class Doubler(tf.Module):
        ...     @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        ...     def __call__(self, x):
        ...         return {"y": 2.0 * x}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(Doubler(), folder + "/m")
        ...     f = tf.saved_model.load(folder + "/m").signatures["serving_default"]
        ...     f(x=tf.constant([1.0, 2.0]))["y"].numpy()
        array([2., 4.], dtype=float32)
    """

    def __init__(
        self, signature: Signature, files: LoadedFiles, parameters: Parameters | None
    ) -> None:
        self._signature = signature
        self._files = files
        self._parameters = parameters
        entry = files.entry(signature.concrete_function)
        self._inputs = {
            i.name: _named(to_spec(entry.argument_leaves[i.leaf]), i.name) for i in signature.inputs
        }
        self._outputs = {
            o.name: _named(to_spec(entry.result_leaves[o.leaf]), o.name) for o in signature.outputs
        }

    def __deepcopy__(self, memo: dict[int, Any]) -> SignatureFunction:
        """The signature over copies of its variables."""
        return SignatureFunction(
            self._signature, copy.deepcopy(self._files, memo), self._parameters
        )

    @property
    def name(self) -> str:
        """The signature's name."""
        return self._signature.name

    @property
    def concrete_function(self) -> ConcreteFunction:
        """The concrete function behind the signature."""
        return self._trace().concrete

    @property
    def input_names(self) -> tuple[str, ...]:
        """The input that each tensor of the concrete function is, in its order."""
        by_leaf = {i.leaf: i.name for i in self._signature.inputs}
        return tuple(by_leaf[leaf] for leaf in self._trace().arguments)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The output that each result of the concrete function is, in its order."""
        by_leaf = {o.leaf: o.name for o in self._signature.outputs}
        leaves = self._trace().results
        return tuple(by_leaf.get(leaf, f"output_{i}") for i, leaf in enumerate(leaves))

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, TensorSpec]]:
        """``((), {name: spec})``."""
        return (), dict(self._inputs)

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """Spec of each output by name."""
        return dict(self._outputs)

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The inputs of the graph: arguments, then variables."""
        return self.concrete_function.inputs

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The results as tensors of the graph."""
        return self.concrete_function.outputs

    @property
    def graph(self) -> FuncGraph:
        """The graph."""
        return self.concrete_function.graph

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the signature reads or writes."""
        return self.concrete_function.variables

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are trainable."""
        return self.concrete_function.trainable_variables

    def as_onnx(self) -> Any:
        """The graph as an ``onnx.ModelProto`` in which variables are inputs."""
        return self.concrete_function.as_onnx()

    def prune(self, feeds: Any, fetches: Any, name: str | None = None) -> ConcreteFunction:
        """A function from some tensors of the graph to others; see ``ConcreteFunction.prune``.

        Args:
            feeds: What the new function takes.
            fetches: What it returns.
            name: Name of the new function.
        """
        return self.concrete_function.prune(feeds, fetches, name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        """Call with one tensor for each input, by name (positionally if there is only one).

        Raises:
            TypeError: missing or unknown names.
            InvalidArgumentError: a tensor that does not fit.
        """
        given = self._by_name(args, kwargs)
        trace = self._trace()
        by_leaf = {i.leaf: i.name for i in self._signature.inputs}
        names = [by_leaf[leaf] for leaf in trace.arguments]
        tensors = [check_tensor(self.name, n, self._inputs[n], given[n]) for n in names]
        specs = [self._inputs[n] for n in names]
        if has_named_dims(specs):
            check_names(self.name, names, specs, tensors)
        results = trace.concrete.call_flat_outputs(tensors)
        outputs = dict(zip(trace.results, results, strict=True))
        return {o.name: outputs[o.leaf] for o in self._signature.outputs}

    def _trace(self) -> Trace:
        return self._files.trace(self._signature.concrete_function, self._parameters)

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = list(self._inputs)
        if args:
            if len(args) > 1 or len(names) != 1 or kwargs:
                raise TypeError(
                    f"Signature {self.name!r} takes its inputs by name: "
                    f"{', '.join(names) or 'it has none'}; got {len(args)} positional arguments."
                )
            return {names[0]: args[0]}
        missing = [n for n in names if n not in kwargs]
        unknown = [n for n in kwargs if n not in self._inputs]
        if missing or unknown:
            raise TypeError(
                f"Signature {self.name!r} takes {', '.join(names) or 'no inputs'}; "
                + (f"missing {', '.join(missing)}. " if missing else "")
                + (
                    f"Unknown: {', '.join(unknown)}{_nearest(unknown[0], names)}."
                    if unknown
                    else ""
                )
            )
        return kwargs

    def __repr__(self) -> str:
        return f"<signature {self.name}({self._inputs}) -> {self._outputs}>"


def _named(spec: TensorSpec, name: str) -> TensorSpec:
    return TensorSpec(spec.shape, spec.dtype, name)


def _nearest(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""
