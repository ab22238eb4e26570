"""ONNX models as bundles and modules.

``save_onnx``: any model as a bundle with one signature. Its nodes are kept as they are; its weights
move into the bundle's variable file, so that they can be read, replaced, trained and shared like
those of our own models. ``to_module`` and ``export``: one or several models, such as the encoder
and the decoder of a network, as methods over one set of weights, compared with what ONNX Runtime
gives for the models themselves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle import limits
from tfx.bundle.atomic_folder import AtomicDirectory
from tfx.bundle.examples import TOLERANCE
from tfx.bundle.manifest import MANIFEST_NAME, manifest_bytes
from tfx.bundle.python_values import Leaf, TensorInfo, Value
from tfx.bundle.records import (
    Child,
    ConcreteFunctionEntry,
    FileEntry,
    FrozenVariable,
    FunctionEntry,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Manifest,
    ObjectNode,
    Parameter,
    Requirements,
    Signature,
    SignatureTensor,
    VariableEntry,
)
from tfx.bundle.shards import WrittenStore, write_store
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.core.version import VERSION
from tfx.exporters.converted import given_inputs, save_converted, with_answers
from tfx.exporters.examples import add_examples
from tfx.exporters.names import FileNames
from tfx.exporters.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfx.exporters.sources.compare_written import WrittenModel, compare_written, examples_of
from tfx.exporters.sources.onnx_answers import Answers, answers_of
from tfx.exporters.write_files import PRODUCER
from tfx.graph.onnx_import.weights import find_weights
from tfx.graph.serialization.external_weights import map_file, split_payloads
from tfx.graph.serialization.models import ForeignModel, Port, Weight, parse_model
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph, SourceAnswer, SourceVariable
from tfx.importing.open_model import open_model
from tfx.importing.trainable_choice import Trainable, choose


def save_onnx(
    model: Any,
    export_dir: str | os.PathLike[str],
    *,
    signature: str = DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    metadata: Mapping[str, str] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
    examples: bool | Mapping[str, Any] | None = None,
    inputs: Mapping[str, TensorSpec] | None = None,
    verify: bool = True,
    tolerance: float = TOLERANCE,
) -> None:
    """Save an ONNX model as a bundle.

    The model may use any opset and any operator domain; domains beside ONNX's own are listed in the
    bundle's requirements. Its large constants, and its vectors and matrices of floating-point
    numbers, become variables. What was an input with a default value becomes a variable too.

    What ONNX Runtime gives for the model itself is compared with what it gives for the bundle, with
    the weights as constants and as variables, and kept as golden examples.

    Args:
        model: Path of a model file (external data is read beside it), its bytes, or an
            ``onnx.ModelProto``.
        export_dir: The folder to make.
        signature: Name of the entry point.
        metadata: Text to keep in the manifest.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.
        examples: Golden examples, as in ``saved_model.SaveOptions``; inputs alone are compared too,
            and kept with the model's answers. None: its answers to made up inputs.
        inputs: Specs of inputs by name, whose sizes the made up inputs have.
        verify: Whether the bundle must answer as the model does; otherwise nothing is written.
        tolerance: How far answers may be away, by the largest element of each.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model, or its external data is missing or damaged.
        InvalidArgumentError: the model has inputs or outputs that are not tensors; the inputs given
            do not suit it; or an answer differs: the message names the first node that does.
        AlreadyExistsError: the folder exists and is not a bundle.

    Warns:
        UserWarning: nothing was compared: the model takes none of the inputs that were made up.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> f = tf.function(lambda x: x + 1.0)
        >>> model = f.get_concrete_function(tf.TensorSpec([None], tf.float32)).as_onnx()
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     save_onnx(model, parent + "/m")
        ...     list(tf.saved_model.load(parent + "/m").signatures)
        ['serving_default']
    """
    if not isinstance(signature, str) or not signature:
        raise InvalidArgumentError(f"signature is {signature!r}, expected a name.")
    loaded = _open(model)
    weights = loaded.weights()
    file = f"{FileNames().stem(signature)}.onnx"
    with AtomicDirectory(export_dir) as folder:
        arrays = {name: weight.array for name, weight in weights.items()}
        store = write_store(folder, arrays, max_shard_bytes=max_shard_bytes)
        places = {
            name: (item.storage.file, item.entry.offset, item.entry.nbytes)
            for name, item in store.tensors.items()
        }
        data = loaded.with_external(places)
        (folder / file).write_bytes(data)
        entry = FileEntry(file, len(data), hashlib.sha256(data).digest())
        manifest = _manifest(loaded, weights, store, entry, signature, dict(metadata or {}))
        (folder / MANIFEST_NAME).write_bytes(manifest_bytes(manifest))
        if verify:
            written = WrittenModel(model, loaded, folder, signature)
            answers = compare_written(
                written, given_inputs(examples).get(signature, ()), inputs, tolerance
            )
            examples = examples_of(examples, signature, answers, tolerance)
        add_examples(folder, examples)


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signatures: Mapping[str, str] | None = None,
    trainable: Trainable = None,
    name: str | None = None,
    inputs: Mapping[str, TensorSpec] | None = None,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> ConvertedModule:
    """Save ONNX models as one bundle, whose graphs can be differentiated and trained.

    A model with operators that cannot be represented can still be saved as it is: ``save_onnx``.

    Args:
        model: As ``to_module`` takes it.
        path: The folder to make. An older bundle there is replaced when everything is written.
        signatures: Methods by signature, see ``to_module``.
        trainable: Which weights are trained, as for ``tfx.import_onnx``.
        name: Name of the module.
        inputs: Specs of inputs by name, whose sizes the made up inputs have.
        verify: Whether every method must answer as ONNX Runtime does for the model itself.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples, as in ``saved_model.SaveOptions``; inputs alone are compared too,
            and kept with the models' answers. None: their answers to made up inputs, without
            ``verify`` the bundle's own.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Returns:
        The module that was saved.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model, or its external data is missing or damaged.
        UnimplementedError: it uses an operator or a type that cannot be represented.
        InvalidArgumentError: two models have different weights of one name; the inputs given do not
            suit one; or an answer differs: the message names the first node that does.
        AlreadyExistsError: the folder exists and is not a bundle.

    Warns:
        UserWarning: a model was not compared: it takes none of the inputs that were made up.
    """
    models = _named(model)
    ask = None
    if verify:
        ask = _Question(given_inputs(examples), _chosen(models, signatures), inputs or {})
        ask.check(models)
    module = _made(models, signatures=signatures, trainable=trainable, name=name, ask=ask)
    own = {}
    for label, method in module.signature_methods.items():
        answers = module.methods[method].calls[0].graph.answers
        own[label] = answers if ask is None else ask.part_of(label, answers)
    save_converted(
        module,
        path,
        verify=verify,
        tolerance=tolerance,
        metadata=metadata,
        examples=with_answers(examples, own, tolerance),
        max_shard_bytes=max_shard_bytes,
    )
    return module


def to_module(
    model: Any,
    *,
    signatures: Mapping[str, str] | None = None,
    trainable: Trainable = None,
    name: str | None = None,
) -> ConvertedModule:
    """Make a module of one or several ONNX models.

    Weights are variables under the names of the models' initializers. One that two models have,
    under the same name and with the same contents, is one variable.

    Args:
        model: A model (path, bytes or ``onnx.ModelProto``), or models by the names of methods.
        signatures: Methods by signature; None: the first one as ``serving_default``, others under
            their own names. A single model is the method ``call``.
        trainable: Which weights are trained, as for ``tfx.import_onnx``.
        name: Name of the module; None: that of the first graph.

    Returns:
        A ``ConvertedModule``, called with the first model's inputs.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model, or its external data is missing or damaged.
        UnimplementedError: it uses an operator or a type that cannot be represented.
        InvalidArgumentError: two models have different weights of one name, or ``trainable`` names
            what no model has.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: x @ tf.constant([[1.0], [2.0]]))
        >>> proto = f.get_concrete_function(tf.TensorSpec([None, 2], tf.float32)).as_onnx()
        >>> to_module({"score": proto}).score([[1.0, 1.0]]).numpy()
        array([[3.]], dtype=float32)
    """
    return _made(_named(model), signatures=signatures, trainable=trainable, name=name)


@dataclass(frozen=True, slots=True)
class _Question:
    """What models are asked.

    Attributes:
        given: Inputs of calls by signature.
        signatures: Methods by signature.
        specs: Types that made up inputs have.
    """

    given: Mapping[str, Sequence[Mapping[str, Any]]]
    signatures: Mapping[str, str]
    specs: Mapping[str, TensorSpec]

    def check(self, models: Mapping[str, Any]) -> None:
        """Refuse specs of inputs that no model has."""
        if not self.specs:
            return
        known = {i.name for m in models.values() for i in open_model(m).proto.graph.input}
        for name in self.specs:
            if name not in known:
                raise InvalidArgumentError(
                    f"inputs has a spec for {name!r}, which is no input; there are "
                    f"{', '.join(sorted(known)) or 'none'}."
                )

    def part_of(self, signature: str, answers: Sequence[SourceAnswer]) -> Sequence[SourceAnswer]:
        """The answers of a signature's model to the calls that were given for this signature."""
        method = self.signatures.get(signature)
        calls = {s: len(self.given.get(s, ())) for s, m in self.signatures.items() if m == method}
        if not sum(calls.values()):
            return answers
        before = list(calls)[: list(calls).index(signature)]
        start = sum(calls[s] for s in before)
        return answers[start : start + calls[signature]]

    def answers(self, method: str, model: Any, loaded: ForeignModel) -> Answers:
        """What a model answers."""
        calls = [
            c for s, m in self.signatures.items() if m == method for c in self.given.get(s, ())
        ]
        own = {i.name for i in loaded.proto.graph.input}
        specs = {n: s for n, s in self.specs.items() if n in own}
        return answers_of(model, loaded, given=calls, specs=specs)


def _named(model: Any) -> dict[str, Any]:
    return dict(model) if isinstance(model, Mapping) else {"call": model}


def _chosen(models: Mapping[str, Any], signatures: Mapping[str, str] | None) -> dict[str, str]:
    if signatures is not None:
        return dict(signatures)
    return {"serving_default" if i == 0 else n: n for i, n in enumerate(models)}


def _made(
    models: Mapping[str, Any],
    *,
    signatures: Mapping[str, str] | None,
    trainable: Trainable,
    name: str | None,
    ask: _Question | None = None,
) -> ConvertedModule:
    methods = {}
    variables: dict[str, SourceVariable] = {}
    first = ""
    for method, item in models.items():
        loaded = open_model(item)
        first = first or str(loaded.proto.graph.name)
        weights = find_weights(loaded)
        chosen = choose(weights, trainable)
        for key, flag in chosen.items():
            known = variables.get(key)
            if known is not None and not np.array_equal(known.value, weights[key].array):
                raise InvalidArgumentError(
                    f"model {method!r} and another one have different weights {key!r}: a module "
                    "has one variable of a name. Rename the initializers of one."
                )
            variables.setdefault(key, SourceVariable(weights[key].array, flag))
        answers = Answers() if ask is None else ask.answers(method, item, loaded)
        methods[method] = MethodGraph(
            item,
            weights={n: n for n in chosen},
            answers=answers.found,
            unanswered=answers.refused,
        )
    return ConvertedModule(
        methods,
        variables,
        name=name or first or "onnx_model",
        signatures=signatures,
        metadata={"source": "onnx"},
    )


def _open(model: Any) -> ForeignModel:
    if isinstance(model, bytes | bytearray | memoryview):
        data, payloads = split_payloads(memoryview(model), "the model")
        return ForeignModel(parse_model(data, "the model"), "the model", None, payloads)
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        data, payloads = split_payloads(map_file(path), str(path))
        return ForeignModel(parse_model(data, str(path)), str(path), path.parent, payloads)
    if not hasattr(model, "graph") or not hasattr(model, "opset_import"):
        raise InvalidArgumentError(
            f"model is {model!r:.100} of type {type(model).__name__}, expected the path of an ONNX "
            "file, its bytes or an onnx.ModelProto."
        )
    return ForeignModel(model, "the model")


def _manifest(
    loaded: ForeignModel,
    weights: Mapping[str, Weight],
    store: WrittenStore,
    file: FileEntry,
    signature: str,
    metadata: dict[str, str],
) -> Manifest:
    names = list(weights)
    inputs = [_info(p) for p in loaded.inputs]
    outputs = [_info(p) for p in loaded.outputs]
    graph = GraphEntry(
        file.path,
        tuple(GraphInput(t.name, t.dtype, t.shape, "argument", i) for i, t in enumerate(inputs)),
        tuple(GraphOutput(t.name, t.dtype, t.shape, "result", i) for i, t in enumerate(outputs)),
        tuple(FrozenVariable(n, i) for i, n in enumerate(names)),
    )
    concrete = ConcreteFunctionEntry(
        name=signature,
        arguments=_arguments(inputs),
        result={t.name: Leaf(i) for i, t in enumerate(outputs)},
        argument_leaves=tuple(inputs),
        result_leaves=tuple(outputs),
        graph=graph,
    )
    return Manifest(
        producer=PRODUCER,
        producer_version=VERSION,
        requirements=Requirements(
            opset=loaded.opset, ir_version=loaded.ir_version, domains=loaded.domains
        ),
        files=(*store.files, file),
        variables=tuple(
            VariableEntry(
                name,
                dtypes.as_dtype(weight.array.dtype).name,
                weight.array.shape,
                store.tensors[name].storage,
                trainable=weight.trainable,
            )
            for name, weight in weights.items()
        ),
        objects=tuple(_objects(names)),
        functions=(FunctionEntry("__call__", _parameters(inputs), (0,)),),
        concrete_functions=(concrete,),
        signatures=(
            Signature(
                signature,
                0,
                tuple(SignatureTensor(t.name, i) for i, t in enumerate(inputs)),
                tuple(SignatureTensor(t.name, i) for i, t in enumerate(outputs)),
            ),
        ),
        metadata=metadata,
    )


def _info(port: Port) -> TensorInfo:
    return TensorInfo(dtypes.from_onnx(port.dtype).name, port.shape, port.name)


def _parameters(inputs: list[TensorInfo]) -> tuple[Parameter, ...]:
    """The inputs in order, where all can be named in Python; else by keyword only."""
    if all(t.name.isidentifier() and not iskeyword(t.name) for t in inputs):
        return tuple(Parameter(t.name) for t in inputs)
    return (Parameter("inputs", "var_keyword"),)


def _arguments(inputs: list[TensorInfo]) -> tuple[Value, ...]:
    if _parameters(inputs)[:1] == (Parameter("inputs", "var_keyword"),):
        return (), {t.name: Leaf(i) for i, t in enumerate(inputs)}
    return tuple(Leaf(i) for i in range(len(inputs))), {}


def _objects(names: list[str]) -> list[ObjectNode]:
    """An object that is called with the inputs by name and has the weights in a dict."""
    weights = tuple(Child(name, 3 + i) for i, name in enumerate(names))
    return [
        ObjectNode("object", (Child("__call__", 1), Child("weights", 2)), class_name="OnnxModel"),
        ObjectNode("function", target=0),
        ObjectNode("dict", weights),
        *(ObjectNode("variable", target=i) for i in range(len(names))),
    ]
