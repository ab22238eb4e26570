"""``save_onnx``: any ONNX model as a bundle with one signature.

The model's nodes are kept as they are. Its weights move into the bundle's variable file, so that
they can be read, replaced and shared like those of our own models.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.atomic import AtomicDirectory
from tfx.bundle.files import file_entry
from tfx.bundle.manifest import MANIFEST_NAME, manifest_bytes
from tfx.bundle.records import (
    ConcreteFunctionEntry,
    FrozenVariable,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Manifest,
    ObjectNode,
    Requirements,
    Signature,
    SignatureTensor,
    VariableEntry,
)
from tfx.bundle.shards import Located, write_store
from tfx.bundle.structure import Leaf, TensorInfo
from tfx.core import dtypes
from tfx.core.version import VERSION
from tfx.exporters.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfx.graph.models import LoadedModel, load_model

# Smaller weights stay inside the model.
_INLINE_BYTES = 1024


def save_onnx(
    model: Any,
    export_dir: str | os.PathLike[str],
    *,
    signature: str = DEFAULT_SERVING_SIGNATURE_DEF_KEY,
) -> None:
    """Save an ONNX model as a bundle.

    Args:
        model: Path of a model file (external data is read beside it), its bytes, or an
            ``onnx.ModelProto``.
        export_dir: The folder to make.
        signature: Name of the entry point.

    Raises:
        NotFoundError: no such file.
        DataLossError: not an ONNX model, or its external data is missing or damaged.
        InvalidArgumentError: the model has inputs or outputs that are not tensors.
    """
    loaded = load_model(model)
    arrays = {
        name: array
        for name, array in loaded.weights.items()
        if array.nbytes >= _INLINE_BYTES and array.dtype != object
    }
    with AtomicDirectory(export_dir) as folder:
        store = write_store(folder, arrays)
        file = f"{signature}.onnx"
        (folder / file).write_bytes(loaded.with_external(_places(store.tensors)))
        manifest = _manifest(loaded, arrays, store.tensors, file, signature)
        files = (*store.files, file_entry(folder, file))
        _write(folder, manifest, files)


def _places(tensors: dict[str, Located]) -> dict[str, tuple[str, int, int]]:
    return {
        name: (item.storage.file, item.entry.offset, item.entry.nbytes)
        for name, item in tensors.items()
    }


def _write(folder: Path, manifest: Manifest, files: tuple[Any, ...]) -> None:
    (folder / MANIFEST_NAME).write_bytes(manifest_bytes(replace(manifest, files=files)))


def _manifest(
    loaded: LoadedModel,
    arrays: dict[str, np.ndarray[Any, Any]],
    tensors: dict[str, Located],
    file: str,
    signature: str,
) -> Manifest:
    names = list(arrays)
    variables = tuple(
        VariableEntry(n, dtypes.as_dtype(arrays[n].dtype).name, arrays[n].shape,
                      tensors[n].storage, trainable=arrays[n].dtype.kind == "f")
        for n in names
    )
    inputs = [TensorInfo(dtypes.from_onnx(d).name, s, n) for n, d, s in loaded.inputs]
    outputs = [TensorInfo(dtypes.from_onnx(d).name, s, n) for n, d, s in loaded.outputs]
    graph = GraphEntry(
        file,
        tuple(GraphInput(t.name, t.dtype, t.shape, "argument", i) for i, t in enumerate(inputs)),
        tuple(GraphOutput(t.name, t.dtype, t.shape, "result", i) for i, t in enumerate(outputs)),
        tuple(FrozenVariable(n, i) for i, n in enumerate(names)),
    )
    concrete = ConcreteFunctionEntry(
        name=signature,
        arguments=((), {t.name: Leaf(i) for i, t in enumerate(inputs)}),
        result={t.name: Leaf(i) for i, t in enumerate(outputs)},
        argument_leaves=tuple(inputs),
        result_leaves=tuple(outputs),
        graph=graph,
    )
    return Manifest(
        producer="tfx",
        producer_version=VERSION,
        requirements=Requirements(
            opset=loaded.opset, ir_version=loaded.ir_version, domains=loaded.domains
        ),
        variables=variables,
        objects=(ObjectNode("object"),),
        concrete_functions=(concrete,),
        signatures=(
            Signature(
                signature,
                0,
                tuple(SignatureTensor(t.name, i) for i, t in enumerate(inputs)),
                tuple(SignatureTensor(t.name, i) for i, t in enumerate(outputs)),
            ),
        ),
    )
