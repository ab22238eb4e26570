"""A bundle's description of itself, read without opening it for calls.

Owns the facts that listings show, and their JSON form. Must not need ONNX Runtime: looking into a
bundle is instant, and safe for one that nobody trusts yet. The one decision: it tells what a
program that calls the bundle has to know; dimensions that the tracer named have no name here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfx.bundle.archive import opened_folder
from tfx.bundle.files import verify_files
from tfx.bundle.manifest import MANIFEST_NAME, FileEntry, Manifest, Shape, TensorInfo, read_manifest
from tfx.bundle.shards import Store
from tfx.core.dims import visible_shape
from tfx.loaders.signature import SignatureInfo, signature_info


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """A variable: ``shape`` is what it may take, ``nbytes`` and ``file`` where its value is."""

    name: str
    dtype: str
    shape: Shape
    trainable: bool
    nbytes: int
    file: str


@dataclass(frozen=True, slots=True)
class BundleSummary:
    """A bundle at a glance; ``files`` has their sizes, without ``bundle.pb``."""

    path: str
    manifest: Manifest
    signatures: tuple[SignatureInfo, ...]
    variables: tuple[VariableInfo, ...]
    files: tuple[FileEntry, ...]
    manifest_size: int

    @property
    def nbytes(self) -> int:
        """Size of all files together."""
        return self.manifest_size + sum(item.size for item in self.files)

    def as_json(self) -> dict[str, Any]:
        """Return the summary as objects that JSON can hold."""
        manifest = self.manifest
        requirements = manifest.requirements
        return {
            "path": self.path,
            "format_version": manifest.format_version,
            "producer": manifest.producer,
            "producer_version": manifest.producer_version,
            "requirements": {
                "opset": requirements.opset,
                "ir_version": requirements.ir_version,
                "domains": dict(requirements.domains),
                "features": list(requirements.features),
            },
            "signatures": [_signature_json(item) for item in self.signatures],
            "variables": [
                {
                    "name": item.name,
                    "dtype": item.dtype,
                    "shape": _shape_json(item.shape),
                    "trainable": item.trainable,
                    "bytes": item.nbytes,
                    "file": item.file,
                }
                for item in self.variables
            ],
            "files": [
                {"path": MANIFEST_NAME, "bytes": self.manifest_size},
                *(
                    {"path": item.path, "bytes": item.size, "sha256": item.sha256.hex()}
                    for item in self.files
                ),
            ],
            "bytes": self.nbytes,
            "metadata": dict(manifest.metadata),
        }


def summarize(path: str | os.PathLike[str]) -> BundleSummary:
    """Read what a bundle says of itself, and check that its files are there.

    Args:
        path: The bundle's folder.

    Returns:
        The summary.

    Raises:
        NotFoundError: There is no such folder.
        BundleError: It is no bundle, or a file is missing or of another size.
        UnsupportedVersionError: It is newer than this program.
    """
    with opened_folder(path) as folder:
        return _of_folder(folder, os.fspath(path))


def _of_folder(path: Path, name: str) -> BundleSummary:
    manifest = read_manifest(path)
    verify_files(path, manifest.files, check_hash=False)
    store = Store(path, {item.path: item.size for item in manifest.files})
    return BundleSummary(
        name,
        manifest,
        tuple(signature_info(item, manifest) for item in manifest.signatures),
        tuple(
            VariableInfo(
                item.name,
                item.dtype,
                item.shape,
                item.trainable,
                store.entry(item.storage).nbytes,
                item.storage.file,
            )
            for item in manifest.variables
        ),
        manifest.files,
        Path(path, MANIFEST_NAME).stat().st_size,
    )


def _signature_json(info: SignatureInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "file": info.file,
        "inputs": [_tensor_json(item) for item in info.inputs.values()],
        "outputs": [_tensor_json(item) for item in info.outputs.values()],
        "updates": list(info.updates),
    }


def _tensor_json(info: TensorInfo) -> dict[str, Any]:
    return {"name": info.name, "dtype": info.dtype, "shape": _shape_json(info.shape)}


def _shape_json(shape: Shape) -> list[int | str | None] | None:
    shown = visible_shape(shape)
    return None if shown is None else list(shown)
