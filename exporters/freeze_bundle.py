"""``freeze``: signatures of a bundle as ``.onnx`` files that need nothing of the bundle."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from tfx.bundle.disk_errors import translated
from tfx.bundle.manifest import GraphEntry
from tfx.core.errors import BundleError
from tfx.exporters.names import FileNames
from tfx.graph.serialization.standalone import MAX_INSIDE, Standalone
from tfx.loaders.onnx_file import OnnxFile
from tfx.loaders.open_files import Sources
from tfx.loaders.signature import find_signature, signature_info


def freeze(
    bundle: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    signatures: Iterable[str] | None = None,
    *,
    max_inside: int = MAX_INSIDE,
) -> dict[str, list[Path]]:
    """Write an ONNX model for each signature of a bundle, with the weights in it.

    A variable that a signature only reads is a constant of the model. One that it writes is an
    input with the saved value as its default, and an output: the caller of the model may leave it
    out, or give what came out of the run before.

    Args:
        bundle: The bundle's folder.
        folder: Where to write ``NAME.onnx``; it is made if need be. Weights of more than
            ``max_inside`` bytes (2 GiB: what a model can hold) are in ``NAME.onnx.data`` beside it.
        signatures: Names of those to write; None: all.
        max_inside: Most bytes of weights inside of a model.

    Returns:
        The files of each signature.

    Raises:
        NotFoundError: no such bundle or signature.
        BundleError: the bundle is damaged.
        PermissionDeniedError: the folder may not be written.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> m = tf.Module()
        >>> m.f = tf.function(lambda x: 2.0 * x, input_signature=[tf.TensorSpec([None])])
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     tf.saved_model.save(m, parent + "/m")
        ...     files = freeze(parent + "/m", parent + "/out")
        ...     files["serving_default"][0].name
        'serving_default.onnx'
    """
    sources = Sources(bundle, verify=True)
    try:
        infos = {s.name: signature_info(s, sources.manifest) for s in sources.manifest.signatures}
        chosen = list(infos if signatures is None else signatures)
        for name in chosen:
            find_signature(infos, name, str(sources.root))
        numbers = {s.name: s.concrete_function for s in sources.manifest.signatures}
        files = FileNames()
        target = Path(folder)
        made: dict[str, list[Path]] = {}
        with translated(target):
            target.mkdir(parents=True, exist_ok=True)
            for name in chosen:
                concrete = sources.manifest.concrete_functions[numbers[name]]
                model = standalone(sources, concrete.graph)
                made[name] = _write(model, target / f"{files.stem(name)}.onnx", max_inside)
        return made
    finally:
        sources.close()


def freeze_one(
    bundle: str | os.PathLike[str],
    path: str | os.PathLike[str],
    signature: str,
    *,
    max_inside: int = MAX_INSIDE,
) -> list[Path]:
    """Write one signature of a bundle as the ONNX model of a path; see ``freeze``.

    Returns:
        What was written: the model, and perhaps ``PATH.data`` with its weights.
    """
    sources = Sources(bundle, verify=True)
    try:
        entries = {s.name: s for s in sources.manifest.signatures}
        infos = {n: signature_info(s, sources.manifest) for n, s in entries.items()}
        find_signature(infos, signature, str(sources.path))
        number = entries[signature].concrete_function
        model = standalone(sources, sources.manifest.concrete_functions[number].graph)
        target = Path(os.path.abspath(path))
        with translated(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            return _write(model, target, max_inside)
    finally:
        sources.close()


def standalone(sources: Sources, graph: GraphEntry) -> Standalone:
    """The model of a graph of a bundle with everything that the bundle feeds it.

    Raises:
        BundleError: it is damaged.
    """
    path = str(sources.root / graph.file)
    data = sources.read_graph(graph.file)
    file = OnnxFile(data, path)
    listed = {item.external.location for item in file.initializers.values() if item.external}
    for location in sorted(listed - sources.entries.keys()):
        raise BundleError(
            f"{path}: a weight is in {location[:200]!r}, which is no file of the bundle; save the "
            "bundle again"
        )
    manifest = sources.manifest
    constants = {
        item.name: sources.constant(item.index).array
        for item in graph.inputs
        if item.source == "constant"
    }
    state = {
        item.name: sources.store.value(manifest.variables[item.index])
        for item in graph.inputs
        if item.source == "variable"
    }
    return Standalone(data, path, sources.root, constants, state)


def _write(model: Standalone, path: Path, max_inside: int) -> list[Path]:
    """Write beside the final names first, the model at last, so that nobody finds half of one."""
    end = f".tfx-{secrets.token_hex(4)}"
    data_path = path.with_name(f"{path.name}.data")
    temporary = path.with_name(f".{path.name}{end}")
    written: list[Path] = []
    try:
        written = model.write(temporary, data_path, max_inside=max_inside)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return [path, *written[1:]]
