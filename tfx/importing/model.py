"""``import_onnx``: an ONNX model as a ``Module``.

The model's graph is put, node by node, into a traced function of the model's inputs, in which its
weights are variables. So everything that works for functions works for it: tapes, other functions,
``vectorized_map``, saving. The one decision: there is one trace for the shapes that the model
declares, sizes with names included, and it goes back to ONNX under the model's own names.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.core.dtypes import from_onnx
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.context import init_scope
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.function import Function
from tfx.graph.ir import Value
from tfx.graph.onnx_import.read_model import ForeignGraph, guarded, read_model
from tfx.graph.onnx_import.weights import find_weights
from tfx.graph.serialization.models import ForeignModel
from tfx.importing.call import Call, identifiers
from tfx.importing.model_inputs import ports_of
from tfx.importing.open_model import open_model
from tfx.importing.trainable_choice import Trainable, choose
from tfx.importing.write_model import stored_model, write_model


def import_onnx(
    model: Any,
    *,
    trainable: Trainable = None,
    name: str | None = None,
    input_shapes: Mapping[str, Any] | None = None,
    straight_through: bool = True,
) -> ImportedModel:
    """Make an object from an ONNX model: callable, differentiable, trainable, saveable.

    Floating-point initializers become variables under their own names; scalars and what operators
    take as a setting (scales of a ``Resize``, parameters of a quantization) stay constants, as
    whole numbers do, so that shapes stay static. Large tables of whole numbers become variables
    that are not trained. Weights inside of branches and loops are variables too.

    Any opset up to 26 is taken. Local functions are written out. Operators of other domains are
    kept where the installed ONNX Runtime has kernels for them, and refused by name otherwise.

    Args:
        model: Path of a model file (external data is read below its folder, nowhere else), its
            bytes, or an ``onnx.ModelProto``.
        trainable: Which variables a tape watches and an optimizer trains. None or True: all but
            statistics of a batch normalization and tables that are not finite. False: none.
            Otherwise names of floating-point constants (also of ``Constant`` nodes and scalars,
            which become variables by it), or a function of a name.
        name: Name of the module, an identifier; None: made from the graph's name.
        input_shapes: Shapes for inputs, in place of those that the model declares.
        straight_through: Whether gradients pass quantizations, by straight-through estimates;
            False: they end there.

    Returns:
        An ``ImportedModel``. It is called with the model's inputs by position or by name, and
        returns its output, or a dict of its outputs by name where there are several.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model, or a damaged one; external data is missing, too short or
            outside of the model's folder.
        UnimplementedError: it uses an operator or a type that cannot be represented.
        InvalidArgumentError: ``trainable`` or ``input_shapes`` name what the model lacks.

    Example:
        >>> import tfx as tf
        >>> dense = tf.function(lambda x: tf.nn.relu(x @ tf.constant([[1.0], [2.0]])))
        >>> proto = dense.get_concrete_function(tf.TensorSpec(["batch", 2])).as_onnx()
        >>> model = tf.import_onnx(proto)
        >>> model(tf.constant([[1.0, 1.0]])).numpy()
        array([[3.]], dtype=float32)
        >>> [v.shape.as_list() for v in model.trainable_variables]
        [[2, 1]]
    """
    return ImportedModel(open_model(model), trainable, name, input_shapes, straight_through)


class ImportedModel(Module):
    """An ONNX model as a module. Made by ``import_onnx``.

    Attributes:
        weights: The variables by their names in the model.
    """

    def __init__(
        self,
        loaded: ForeignModel,
        trainable: Trainable,
        name: str | None,
        input_shapes: Mapping[str, Any] | None,
        straight_through: bool = True,
    ) -> None:
        graph_name = loaded.proto.graph.name
        graph_name = graph_name if isinstance(graph_name, str) else ""
        super().__init__(name or identifiers([graph_name or "onnx_model"])[0])
        self._self_loaded = loaded
        self._self_straight_through = straight_through
        with guarded(loaded.name):
            self._self_ports = ports_of(loaded, input_shapes or {})
            found = find_weights(loaded)
        chosen = choose(found, trainable)
        with init_scope():
            self.weights = {
                key: Variable(found[key].array, trainable=flag, name=key)
                for key, flag in chosen.items()
            }
        self._self_calls: dict[Any, Call] = {}
        self._self_graph: ForeignGraph | None = None
        self._adopt()

    def _adopt(self) -> None:
        """Make the function of the usual call; what is wrong with the model comes out here."""
        if any(p.sequence for p in self._self_ports):
            self._plain()
        else:
            # Saved with the module, and what a loaded bundle is called by.
            vars(self)["__call__"] = self._call().function
        self._self_names = [p.name for p in self._self_ports if not p.default]
        names = [p.name for p in self._self_ports]
        self._self_aliases = dict(zip(identifiers(names), names, strict=True)) | {
            n: n for n in names
        }
        # The usual call needs no more than its function.
        plain = not any(p.sequence or p.optional for p in self._self_ports)
        direct = self._call().direct if plain else None
        self._self_direct: Callable[..., Any] | None = direct

    def _call(
        self,
        absent: frozenset[str] = frozenset(),
        replaced: frozenset[str] = frozenset(),
        lengths: tuple[tuple[str, int], ...] = (),
    ) -> Call:
        """The function of calls that leave inputs out, give weights, or give sequences."""
        key = (absent, replaced, lengths)
        call = self._self_calls.get(key)
        if call is None:
            call = Call(
                self._self_loaded,
                self._self_ports,
                self.weights,
                absent,
                replaced,
                dict(lengths),
                self._self_straight_through,
            )
            self._self_calls[key] = call
        return call

    def _plain(self) -> ForeignGraph:
        """The graph with sequences as they are."""
        if self._self_graph is None:
            loaded = self._self_loaded
            self._self_graph = read_model(
                loaded.proto,
                loaded.name,
                weights=self.weights,
                shapes={p.name: p.shape for p in self._self_ports},
                arrays=loaded.arrays(),
                external=loaded.external,
                straight_through=self._self_straight_through,
            )
        return self._self_graph

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """Run the model.

        Args:
            *args: Inputs in the model's order: tensors, arrays or lists; for an input that is a
                sequence a list of them.
            **inputs: Inputs by the model's names; ``model(**{"input.1": x})`` where a name is no
                identifier. An initializer that is also an input of the model can be given too.

        Returns:
            The output, or a dict of the outputs by name. A sequence is a list of tensors while
            eager and a ``TensorArray`` in a function.

        Raises:
            TypeError: inputs are missing, unknown or given twice.
            InvalidArgumentError: an input of another dtype or shape.
        """
        direct = self._self_direct
        if direct is not None and not inputs and len(args) == len(self._self_names):
            return direct(*args)
        given = self._bind(args, inputs)
        absent = frozenset(p.name for p in self._self_ports if p.optional and p.name not in given)
        replaced = frozenset(p.name for p in self._self_ports if p.default and p.name in given)
        lengths = tuple(
            (p.name, len(given[p.name])) for p in self._self_ports if p.sequence and p.name in given
        )
        return self._call(absent, replaced, lengths)(given)

    def _bind(self, args: Sequence[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        names, aliases = self._self_names, self._self_aliases
        if len(args) > len(names):
            raise TypeError(
                f"{self.name} takes {len(names)} inputs ({', '.join(names)}); got {len(args)}."
            )
        given = dict(zip(names, args, strict=False))
        for key, value in inputs.items():
            name = aliases.get(key)
            if name is None:
                every = ", ".join(p.name for p in self._self_ports) or "none"
                raise TypeError(f"{self.name} has no input {key!r}; it has {every}.")
            if name in given:
                raise TypeError(f"{self.name} got multiple values for input {name!r}.")
            given[name] = value
        missing = [
            p.name
            for p in self._self_ports
            if not p.default and not p.optional and p.name not in given
        ]
        if missing:
            raise TypeError(
                f"{self.name} is missing {len(missing)} inputs: {', '.join(map(repr, missing))}."
            )
        return {k: v for k, v in given.items() if v is not None}

    # Facts

    @property
    def function(self) -> Function:
        """The traced function of the usual call."""
        return self._call().function

    @property
    def inputs(self) -> dict[str, Any]:
        """A spec of each input by name (of a sequence a list of one); defaults are not here."""
        return {p.name: p.spec for p in self._self_ports if not p.default}

    @property
    def outputs(self) -> dict[str, Any]:
        """A spec of each output by name; of a sequence whose elements are known a list."""
        return {
            n: [_spec(x) for x in v] if isinstance(v, list) else _spec(v, n)
            for n, v in self._plain().outputs.items()
        }

    @property
    def concrete_function(self) -> ConcreteFunction:
        """The trace of the usual call.

        Raises:
            InvalidArgumentError: the model takes a sequence, whose length a call decides.
        """
        if any(p.sequence for p in self._self_ports):
            raise InvalidArgumentError(
                f"{self.name} takes a sequence of tensors, so each length has a trace of its own: "
                "call it in a tfx.function, and take that function's trace."
            )
        concrete: ConcreteFunction = self.function.get_concrete_function()
        return concrete

    @property
    def input_names(self) -> list[str]:
        """The model's names of the inputs, in order."""
        return list(self._self_names)

    @property
    def output_names(self) -> list[str]:
        """The model's names of the outputs, in order."""
        return [str(o.name) for o in self._self_loaded.proto.graph.output]

    @property
    def signatures(self) -> dict[str, Any]:
        """The signatures that ``saved_model.save`` offers: the model under its own names."""
        usable = not any(p.sequence or p.optional for p in self._self_ports)
        return {"serving_default": self} if usable else {}

    def as_onnx(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The model with its present weights as plain ONNX, which any ONNX Runtime runs.

        Inputs, outputs and weights have the names that they had; the opset is 21 or the lowest
        above it that has all operators.

        Args:
            path: Where to write it, too. Weights above 1 GiB in all go into a file beside it.

        Returns:
            An ``onnx.ModelProto``.
        """
        proto = stored_model(self._plain(), self.weights, self._self_loaded.proto)
        if path is not None:
            write_model(proto, path)
        return proto

    def __deepcopy__(self, memo: dict[int, Any]) -> ImportedModel:
        """The same model with variables of its own."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for key, value in vars(self).items():
            if key != "__call__":
                shared = key.startswith("_self_")
                vars(other)[key] = value if shared else copy.deepcopy(value, memo)
        other._self_calls = {}
        other._adopt()
        return other

    def __reduce__(self) -> Any:
        """The model as bytes, with the present values of its variables."""
        flags = {n: v.trainable for n, v in self.weights.items()}
        shapes = {p.name: p.tensor.shape.symbolic for p in self._self_ports if p.shape is not None}
        values = {n: v.numpy() for n, v in self.weights.items()}
        data = self._self_loaded.with_external({})
        own = ("weights", "_name", "__call__")
        others = {
            k: v for k, v in vars(self).items() if k not in own and not k.startswith("_self_")
        }
        settings = (data, self.name, flags, shapes, values, self._self_straight_through)
        return _restored, settings, others

    def __setstate__(self, others: dict[str, Any]) -> None:
        """Restore the other attributes that were set on the model."""
        vars(self).update(others)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{p.name}: {p.spec}" for p in self._self_ports if not p.default)
        return f"<ImportedModel {self.name}({inputs}) -> {', '.join(self.output_names)}>"


def _spec(value: Value, name: str | None = None) -> TensorSpec:
    return TensorSpec(TensorShape(value.shape), from_onnx(value.dtype), name=name)


def _restored(
    data: bytes,
    name: str,
    flags: Mapping[str, bool],
    shapes: Mapping[str, Any],
    values: Mapping[str, Any],
    straight_through: bool = True,
) -> ImportedModel:
    """A model from a pickle."""
    chosen = [n for n, f in flags.items() if f]
    model = ImportedModel(open_model(data), chosen, name, shapes, straight_through)
    for key, value in values.items():
        model.weights[key].assign(value)
    return model
