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
from collections.abc import Mapping
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
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.core.version import VERSION
from tfx.exporters.converted import save_converted
from tfx.exporters.examples import add_examples
from tfx.exporters.names import FileNames
from tfx.exporters.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfx.exporters.sources.made_up_inputs import made_up
from tfx.exporters.write_files import PRODUCER
from tfx.graph.onnx_import.weights import find_weights
from tfx.graph.serialization.external_weights import map_file, split_payloads
from tfx.graph.serialization.models import ForeignModel, Port, Weight, parse_model
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph, SourceAnswer, SourceVariable
from tfx.importing.model_inputs import ports_of
from tfx.importing.open_model import open_model
from tfx.importing.trainable_choice import Trainable, choose
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy


def save_onnx(
    model: Any,
    export_dir: str | os.PathLike[str],
    *,
    signature: str = DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    metadata: Mapping[str, str] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
    examples: bool | Mapping[str, Any] | None = None,
) -> None:
    """Save an ONNX model as a bundle.

    The model may use any opset and any operator domain; domains beside ONNX's own are listed in the
    bundle's requirements. Its large constants, and its vectors and matrices of floating-point
    numbers, become variables. What was an input with a default value becomes a variable too.

    Args:
        model: Path of a model file (external data is read beside it), its bytes, or an
            ``onnx.ModelProto``.
        export_dir: The folder to make.
        signature: Name of the entry point.
        metadata: Text to keep in the manifest.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.
        examples: Golden examples, as in ``saved_model.SaveOptions``.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model, or its external data is missing or damaged.
        InvalidArgumentError: the model has inputs or outputs that are not tensors.
        AlreadyExistsError: the folder exists and is not a bundle.

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
        add_examples(folder, examples)


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signatures: Mapping[str, str] | None = None,
    trainable: Trainable = None,
    name: str | None = None,
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
        verify: Whether every method must answer as ONNX Runtime does for the model itself.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples, as in ``saved_model.SaveOptions``; None: the models' answers to
            made up inputs.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Returns:
        The module that was saved.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model, or its external data is missing or damaged.
        UnimplementedError: it uses an operator or a type that cannot be represented.
        InvalidArgumentError: two models have different weights of one name, or an answer differs.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    module = to_module(model, signatures=signatures, trainable=trainable, name=name)
    save_converted(
        module,
        path,
        verify=verify,
        tolerance=tolerance,
        metadata=metadata,
        examples=examples,
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
    models = dict(model) if isinstance(model, Mapping) else {"call": model}
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
        answers = _source_answers(item, loaded)
        methods[method] = MethodGraph(item, weights={n: n for n in chosen}, answers=answers)
    return ConvertedModule(
        methods,
        variables,
        name=name or first or "onnx_model",
        signatures=signatures,
        metadata={"source": "onnx"},
    )


def _source_answers(model: Any, loaded: ForeignModel) -> tuple[SourceAnswer, ...]:
    """What ONNX Runtime gives for a model itself and made up inputs; nothing where it refuses."""
    source = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    stored = {t.name for t in loaded.proto.graph.initializer}
    draws = np.random.default_rng(0)
    try:
        ports = [p for p in ports_of(loaded, {}) if p.name not in stored]
        if any(p.sequence or p.optional or p.tensor.shape.rank is None for p in ports):
            return ()
        given = {}
        for port in ports:
            sizes = [d if isinstance(d, int) else 2 for d in port.shape or ()]
            given[port.name] = made_up(draws, port.tensor.dtype, sizes)
        session = Session(source or loaded.with_external({}))
        values = session.run({n: from_numpy(a) for n, a in given.items()})
        outputs = dict(zip(session.output_names, map(to_numpy, values), strict=True))
    except OpError:
        return ()  # made up inputs do not suit every model
    names = {o.name for o in loaded.proto.graph.output}
    return (SourceAnswer(given, {n: a for n, a in outputs.items() if n in names}),)


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
