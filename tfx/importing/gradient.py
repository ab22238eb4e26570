"""``export_gradient``: a model whose nodes compute gradients of another model.

The model's graph is put into a graph under construction, under a tape, and the gradient's nodes
after it. What comes out is one plain ONNX model. The one decision: nothing is left out silently.
Where no gradient flows, or a part of it would be lost in an operator that has none, that is an
error that names the operators.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from tfx.autodiff.tape import GradientTape, UnconnectedGradients
from tfx.core.dtypes import from_onnx
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import Tensor
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.graph.ir import Value
from tfx.graph.onnx_import.read_model import (
    ForeignGraph,
    flat,
    guarded,
    no_surprises,
    read_model,
    used_values,
)
from tfx.graph.onnx_import.weights import Weight, find_weights, is_float
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.models import ForeignModel
from tfx.graph.serialization.serialize import Initializer, to_model
from tfx.importing.blocked_gradients import check_flow
from tfx.importing.model_inputs import ports_of
from tfx.importing.open_model import open_model
from tfx.importing.write_model import describe_as, port_names, unique, write_model
from tfx.ops.array.creation import ones_like


def export_gradient(
    model: Any,
    outputs: str | Iterable[str] | None = None,
    inputs: str | Iterable[str] | None = None,
    *,
    seeds: bool | None = None,
    keep_outputs: bool = True,
    weights_as_inputs: bool = False,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
    straight_through: bool = True,
    input_shapes: Mapping[str, Any] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Make an ONNX model that computes gradients of a model, for any ONNX Runtime.

    The new model has the inputs of the old one, and for an output ``y`` that is not a scalar the
    input ``y_grad``, the gradient that arrives there. For each chosen ``x`` it has the output
    ``x_grad``, the gradient of ``sum(y * y_grad)``, summed over the chosen outputs.

    Args:
        model: Path, bytes or ``onnx.ModelProto`` of a model, or something that has ``as_onnx()``:
            a concrete function, what ``import_onnx`` returned.
        outputs: Names of what is differentiated: outputs of the model or any value inside of it.
            None: all floating-point outputs.
        inputs: Names of what it is differentiated by: inputs, initializers and other constants of
            the model, or values inside of it. None: all floating-point inputs.
        seeds: Whether the gradients that arrive at the outputs are inputs of the new model; False:
            they are ones. None: they are ones for outputs of one element, inputs for others.
        keep_outputs: Whether the outputs of the model are outputs of the new one too.
        weights_as_inputs: Whether the floating-point weights become inputs, as for a training loop
            that changes them. They are initializers otherwise.
        unconnected_gradients: What the gradient is where nothing depends on an input:
            ``UnconnectedGradients.NONE`` raises, ``ZERO`` gives zeros.
        straight_through: Whether gradients pass quantizations by straight-through estimates, as
            training that is aware of quantization has them: rounding is taken for the identity, and
            what was cut off at the end of the range gets 0. False: a quantization is an error.
        input_shapes: Shapes for inputs, in place of those that the model declares.
        path: Where to write the model, too. Weights above 1 GiB in all go into a file beside it.

    Returns:
        An ``onnx.ModelProto``.

    Raises:
        InvalidArgumentError: a name that the model lacks, or that is not of floating-point numbers;
            an output that does not depend on an input, or does through an operator that has no
            gradient: the message names it.
        NotFoundError, BundleError, UnimplementedError: as ``import_onnx``.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: {"y": tf.reduce_sum(x * x)})
        >>> square = f.get_concrete_function(tf.TensorSpec([3], tf.float32)).as_onnx()
        >>> gradient = tf.export_gradient(square)
        >>> [o.name for o in gradient.graph.output]
        ['y', 'x_grad']
        >>> tf.import_onnx(gradient)([1.0, 2.0, 3.0])["x_grad"].numpy()
        array([2., 4., 6.], dtype=float32)
    """
    unconnected_gradients = UnconnectedGradients(unconnected_gradients)
    loaded = open_model(model.as_onnx() if hasattr(model, "as_onnx") else model)
    with guarded(loaded.name):
        weights = find_weights(loaded)
    wanted = None if inputs is None else _names(inputs, "inputs")
    chosen = {n for n in wanted or () if n in weights}
    if weights_as_inputs:
        chosen |= {n for n, w in weights.items() if w.default and is_float(w.array)}
    foreign = _read(loaded, chosen, input_shapes or {})
    targets = _targets(foreign, outputs, loaded.name)
    sources = _sources(foreign, wanted, weights, loaded.name)
    contents = {n: weights[n].array for n in foreign.weights if not weights_as_inputs}
    with no_surprises(loaded.name):
        joint = _Joint(foreign, loaded.name, targets, sources, straight_through)
        joint.differentiate(seeds, unconnected_gradients)
        proto = joint.as_model(contents, keep_outputs)
    describe_as(proto, loaded.proto)
    if path is not None:
        write_model(proto, path)
    return proto


def _read(loaded: ForeignModel, weights: set[str], shapes: Mapping[str, Any]) -> ForeignGraph:
    return read_model(
        loaded.proto,
        loaded.name,
        weights=weights,
        shapes={p.name: p.shape for p in ports_of(loaded, shapes)},
        arrays=loaded.arrays(),
        external=loaded.external,
    )


def _names(names: str | Iterable[str], what: str) -> list[str]:
    found = [names] if isinstance(names, str) else list(names)
    if not found or not all(isinstance(n, str) for n in found) or len({*found}) < len(found):
        raise InvalidArgumentError(f"{what} is {names!r:.200}, expected names, each once.")
    return found


def _is_float(value: Value) -> bool:
    return bool(from_onnx(value.dtype).is_floating) and value.dtype < 1000


def _targets(foreign: ForeignGraph, outputs: Any, model: str) -> dict[str, Value]:
    if outputs is None:
        found = {n: v for n, v in foreign.outputs.items() if isinstance(v, Value) and _is_float(v)}
        if not found:
            raise InvalidArgumentError(f"{model} has no output of floating-point numbers.")
        return found
    names = _names(outputs, "outputs")
    return {n: _found(foreign, n, model, "outputs", foreign.outputs) for n in names}


def _sources(
    foreign: ForeignGraph, wanted: list[str] | None, weights: Mapping[str, Weight], model: str
) -> dict[str, Value]:
    if wanted is None:
        found = {n: v for n, v in foreign.inputs.items() if isinstance(v, Value) and _is_float(v)}
        if not found:
            raise InvalidArgumentError(
                f"{model} has no input of floating-point numbers; name initializers in inputs: "
                f"{', '.join(n for n, w in weights.items() if w.trainable) or 'it has none'}."
            )
        return found
    names = [*foreign.inputs, *weights]
    return {n: _found(foreign, n, model, "inputs", names) for n in wanted}


def _found(foreign: ForeignGraph, name: str, model: str, what: str, known: Iterable[str]) -> Value:
    value = foreign.weights.get(name) or foreign.values.get(name)
    if value is None:
        import difflib

        close = difflib.get_close_matches(name, foreign.values, 1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InvalidArgumentError(
            f"{what} names {name!r}, which {model} does not have{hint} It has "
            f"{', '.join(list(known)[:30]) or 'none'}."
        )
    if not _is_float(value):
        dtype = from_onnx(value.dtype).name
        raise InvalidArgumentError(
            f"{what} names {name!r}, which is of dtype {dtype}: only floating-point numbers have "
            "gradients."
        )
    return value


class _Joint:
    """A model's nodes in a new graph, under a tape, and then the gradient's."""

    def __init__(
        self,
        foreign: ForeignGraph,
        model: str,
        targets: Mapping[str, Value],
        sources: Mapping[str, Value],
        straight_through: bool,
    ) -> None:
        self.foreign = foreign
        self.straight_through = straight_through
        self.model = model
        self.targets = dict(targets)
        self.sources = dict(sources)
        self.func_graph = FuncGraph(foreign.graph.name or "gradient")
        self.func_graph.named_after_calls = False
        self.tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self.mapping: dict[int, Tensor] = {}
        self.seeds: dict[str, Value] = {}
        self.gradients: dict[str, Value] = {}
        with using(graph=self.func_graph, tapes=(), scope=""), self.tape:
            for value in foreign.graph.inputs:
                argument = self.func_graph.add_argument(value.name, value.dtype, value.shape)
                self.mapping[id(value)] = argument
                if _is_float(value):
                    self.tape._watch(argument)
            inline_nodes(foreign.graph, self.mapping, self.func_graph)

    def _tensor(self, value: Value) -> Tensor:
        found = self.mapping.get(id(value))
        if found is None:
            raise InvalidArgumentError(f"{value.name!r} is made by no node of {self.model}.")
        return found

    def differentiate(
        self, seeds: bool | None, unconnected_gradients: UnconnectedGradients
    ) -> None:
        """Append the gradient's nodes."""
        zeros = unconnected_gradients is UnconnectedGradients.ZERO
        check_flow(
            self.foreign.graph,
            self.targets,
            self.sources,
            self.model,
            zeros=zeros,
            straight_through=self.straight_through,
        )
        targets = [self._tensor(v) for v in self.targets.values()]
        sources = [self._tensor(v) for v in self.sources.values()]
        with using(graph=self.func_graph, tapes=(), scope="gradient/"):
            arriving = [self._seed(n, t, seeds) for n, t in zip(self.targets, targets, strict=True)]
            found = self.tape.gradient(
                targets,
                sources,
                output_gradients=arriving,
                unconnected_gradients=unconnected_gradients,
            )
            for name, tensor in zip(self.sources, found, strict=True):
                if tensor is None:
                    raise InvalidArgumentError(
                        f"{', '.join(self.targets)} of {self.model} has no gradient with respect "
                        f"to {name!r}: it does not depend on it."
                    )
                tensor = tensor if isinstance(tensor, Tensor) else _dense(tensor)
                self.gradients[name] = self.func_graph.value_of(tensor)

    def _seed(self, name: str, target: Tensor, seeds: bool | None) -> Tensor:
        shape = target.shape
        single = shape.is_fully_defined() and shape.num_elements() == 1
        if seeds if seeds is not None else not single:
            value = self.func_graph.value_of(target)
            seed = self.func_graph.add_argument(f"{name}_grad", value.dtype, value.shape)
            self.seeds[name] = seed._symbol
            return seed
        return ones_like(target)

    def as_model(self, contents: Mapping[str, Any], keep_outputs: bool) -> Any:
        """The graph as a model.

        Args:
            contents: Contents of the weights that are initializers.
            keep_outputs: Whether the model's outputs are among the results.
        """
        foreign, graph = self.foreign, self.func_graph.graph
        kept = foreign.outputs if keep_outputs else {}
        graph.outputs = [self.func_graph.value_of(self._tensor(v)) for v in flat(kept)]
        graph.outputs += list(self.gradients.values())
        ready = prepare(graph, portable=True)
        used = used_values(ready)
        names = port_names(foreign.inputs)
        inputs = [self.func_graph.value_of(self._tensor(v)) for v in flat(foreign.inputs)]
        initializers: dict[Value, Initializer] = {}
        for name, value in foreign.weights.items():
            argument = self.func_graph.value_of(self._tensor(value))
            if name in contents and id(argument) not in used:
                continue
            if name in contents:
                initializers[argument] = contents[name]
            inputs.append(argument)
            names.append(name)
        inputs += list(self.seeds.values())
        outputs = port_names(kept)
        taken = {*names, *outputs}
        for name in self.seeds:
            names.append(unique(f"{name}_grad", taken))
            taken.add(names[-1])
        for name in self.gradients:
            outputs.append(unique(f"{name}_grad", taken))
            taken.add(outputs[-1])
        ready.inputs = inputs
        return to_model(ready, input_names=names, output_names=outputs, initializers=initializers)


def _dense(slices: Any) -> Tensor:
    return convert_to_tensor(slices)
