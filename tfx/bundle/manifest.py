"""The manifest of a bundle: read it, check it, write it.

The public door to the records: other packages import them from here. Owns the file ``bundle.pb``
(its checksum, its version gate). Must not know of ONNX or of how a bundle is executed. The one
decision: bytes become records only through ``parse_manifest``, which checks everything that can be
checked without opening another file, so nobody downstream meets an id out of range.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from google.protobuf.message import DecodeError

from tfx.bundle import bundle_pb2 as pb
from tfx.bundle import codec, limits
from tfx.bundle.check import KNOWN_FEATURES as KNOWN_FEATURES
from tfx.bundle.check import check_features, check_manifest
from tfx.bundle.files import interrupted_save, read_limited
from tfx.bundle.python_values import ConstantRef as ConstantRef
from tfx.bundle.python_values import DTypeValue as DTypeValue
from tfx.bundle.python_values import Leaf as Leaf
from tfx.bundle.python_values import Opaque as Opaque
from tfx.bundle.python_values import Record as Record
from tfx.bundle.python_values import Shape as Shape
from tfx.bundle.python_values import ShapeValue as ShapeValue
from tfx.bundle.python_values import TensorInfo as TensorInfo
from tfx.bundle.python_values import Value as Value
from tfx.bundle.records import FORMAT_VERSION as FORMAT_VERSION
from tfx.bundle.records import AssetEntry as AssetEntry
from tfx.bundle.records import Child as Child
from tfx.bundle.records import ConcreteFunctionEntry as ConcreteFunctionEntry
from tfx.bundle.records import ConstantEntry as ConstantEntry
from tfx.bundle.records import Example as Example
from tfx.bundle.records import ExampleCall as ExampleCall
from tfx.bundle.records import FileEntry as FileEntry
from tfx.bundle.records import FrozenVariable as FrozenVariable
from tfx.bundle.records import FunctionEntry as FunctionEntry
from tfx.bundle.records import GraphEntry as GraphEntry
from tfx.bundle.records import GraphInput as GraphInput
from tfx.bundle.records import GraphOutput as GraphOutput
from tfx.bundle.records import Manifest as Manifest
from tfx.bundle.records import ObjectNode as ObjectNode
from tfx.bundle.records import Parameter as Parameter
from tfx.bundle.records import Requirements as Requirements
from tfx.bundle.records import Signature as Signature
from tfx.bundle.records import SignatureTensor as SignatureTensor
from tfx.bundle.records import Storage as Storage
from tfx.bundle.records import TableEntry as TableEntry
from tfx.bundle.records import VariableEntry as VariableEntry
from tfx.core.errors import BundleError, MissingFileError, UnsupportedVersionError

MANIFEST_NAME = "bundle.pb"

# The field `sha256` (number 20, length-delimited, 32 bytes) as the bytes before its content.
_DIGEST_PREFIX = b"\xa2\x01\x20"
_TRAILER_SIZE = len(_DIGEST_PREFIX) + 32


def manifest_bytes(manifest: Manifest) -> bytes:
    """Check ``manifest`` and return the bytes of its ``bundle.pb``, the same on every run.

    Raises:
        BundleError: The manifest breaks a rule of the format.
    """
    check_manifest(manifest, MANIFEST_NAME)
    try:
        body = codec.to_proto(manifest).SerializeToString(deterministic=True)
    except BundleError:
        raise
    except (TypeError, ValueError) as error:
        raise BundleError(
            f"{MANIFEST_NAME}: a field has a value that the format cannot hold ({error}); text "
            "must be Unicode, and numbers must fit their field in bundle.proto"
        ) from error
    data = body + _DIGEST_PREFIX + hashlib.sha256(body).digest()
    if len(data) > limits.MAX_MANIFEST_BYTES:
        raise BundleError(
            f"{MANIFEST_NAME}: the manifest takes {len(data)} bytes, expected at most "
            f"{limits.MAX_MANIFEST_BYTES}; move large inline constants into the variable store"
        )
    return data


def parse_manifest(data: bytes, source: str = MANIFEST_NAME) -> Manifest:
    """Turn the bytes of a ``bundle.pb`` into a checked manifest.

    Args:
        data: All bytes of the file.
        source: The path to name in messages.

    Returns:
        The manifest, with every id, name, path and number checked.

    Raises:
        UnsupportedVersionError: A newer format, or a required feature that is not known here.
        BundleError: The bytes are no manifest, or are damaged, or break a rule of the format.
    """
    proto = pb.Manifest()
    try:
        proto.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:  # the pure-Python runtime's too
        raise BundleError(
            f"{source}: {len(data)} bytes that are not a bundle manifest ({error}); the file is "
            "damaged or belongs to another program: save the bundle again"
        ) from error
    _check_version(proto.format_version, source)
    _check_digest(data, source)
    check_features(tuple(proto.requirements.features), source)
    manifest = codec.from_proto(proto, source)
    check_manifest(manifest, source)
    return manifest


def read_manifest(bundle: str | os.PathLike[str]) -> Manifest:
    """Read and check the manifest of the bundle in the folder ``bundle``.

    Args:
        bundle: The folder that has a ``bundle.pb``.

    Returns:
        The checked manifest. No other file of the bundle has been opened.

    Raises:
        MissingFileError: There is no such folder.
        UnsupportedVersionError: The bundle is newer than this program.
        BundleError: It is no bundle, or is damaged.
    """
    folder = Path(bundle)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        old = interrupted_save(folder)
        hint = f"; a save was interrupted: rename {old} to it" if old is not None else ""
        expected = "expected the folder or the archive of a saved bundle"
        raise MissingFileError(f"{folder} {what}, {expected}{hint}")
    path = folder / MANIFEST_NAME
    if not path.exists():
        hint = (
            "it is a TensorFlow SavedModel: save it as a bundle first"
            if (folder / "saved_model.pb").exists()
            else "it is not a bundle, or its save was never finished"
        )
        raise BundleError(f"{folder} has no {MANIFEST_NAME}: {hint}")
    return parse_manifest(read_limited(path, limits.MAX_MANIFEST_BYTES), str(path))


def is_bundle(path: str | os.PathLike[str]) -> bool:
    """Return whether ``path`` is a folder with a manifest; the manifest may yet be damaged."""
    return Path(path, MANIFEST_NAME).is_file()


def _check_version(version: int, source: str) -> None:
    if version > FORMAT_VERSION:
        raise UnsupportedVersionError(
            f"{source}: the bundle has format version {version}, this program reads up to "
            f"{FORMAT_VERSION}; upgrade tfx-onnx or save the bundle with an older version of it"
        )
    if version < 1:
        raise BundleError(
            f"{source}: no format version, expected 1 to {FORMAT_VERSION}; the file is not a "
            "bundle manifest or is damaged: save the bundle again"
        )


def _check_digest(data: bytes, source: str) -> None:
    """A truncated protobuf message may parse, with its last lists missing: so check the hash."""
    body, trailer = data[:-_TRAILER_SIZE], data[-_TRAILER_SIZE:]
    if trailer != _DIGEST_PREFIX + hashlib.sha256(body).digest():
        raise BundleError(
            f"{source}: the SHA-256 at its end does not match its {len(data)} bytes; the file is "
            "truncated or was changed: save the bundle again"
        )
