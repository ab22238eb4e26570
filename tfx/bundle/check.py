"""Validation of a manifest: every rule that can be checked without opening another file.

Owns the rules of the lists of the manifest; those of functions, graphs and signatures are in
``check_functions``. Must not know of protobuf: it runs on records, after reading and before
writing. The one decision: the first violation is raised, with the place and both values, since one
wrong id makes everything after it noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from tfx.bundle import limits
from tfx.bundle.check_examples import check_examples
from tfx.bundle.check_functions import check_concrete_function, check_function, check_signature
from tfx.bundle.check_values import (
    check_dtype,
    check_id,
    check_identifiers,
    check_name,
    check_shape,
    check_unique,
    check_value,
    fail,
)
from tfx.bundle.codec import metadata_json
from tfx.bundle.files import check_path
from tfx.bundle.piece_checksums import piece_count
from tfx.bundle.records import (
    FORMAT_VERSION,
    ConstantEntry,
    FileEntry,
    Manifest,
    ObjectNode,
    Requirements,
    Storage,
    TableEntry,
    VariableEntry,
)
from tfx.bundle.tensor_bytes import check_inline
from tfx.core.dims import is_static
from tfx.core.errors import UnsupportedVersionError

KNOWN_FEATURES: frozenset[str] = frozenset()
"""The required features that this version can read; format 1 itself needs none."""

_TARGETS = {
    "variable": "variables",
    "function": "functions",
    "constant": "constants",
    "asset": "assets",
    "table": "tables",
}
_CONTAINERS = ("object", "list", "dict", "tuple")


def check_features(features: tuple[str, ...], source: str) -> None:
    """Refuse a bundle that needs what this version does not know.

    Raises:
        UnsupportedVersionError: A feature is unknown; the message names it.
    """
    unknown = [feature for feature in features if feature not in KNOWN_FEATURES]
    if unknown:
        raise UnsupportedVersionError(
            f"{source}: the bundle needs {', '.join(map(repr, unknown))}, this version knows "
            f"{', '.join(sorted(KNOWN_FEATURES)) or 'no extra features'}; upgrade tfx-onnx"
        )


def check_manifest(manifest: Manifest, source: str) -> None:
    """Check every rule; ``source`` is the file to name in messages.

    Raises:
        BundleError: A rule is broken.
        UnsupportedVersionError: A required feature is unknown.
    """
    if manifest.format_version != FORMAT_VERSION:
        fail(source, f"format version is {manifest.format_version}, expected {FORMAT_VERSION}")
    _check_requirements(manifest, source)
    check_features(manifest.requirements.features, source)
    paths = _check_files(manifest.files, source)
    _check_tensors(manifest, paths, source)
    for index, asset in enumerate(manifest.assets):
        _check_listed(asset.file, paths, f"{source}: asset {index}")
    for index, table in enumerate(manifest.tables):
        _check_table(table, manifest, f"{source}: table {index} {table.name!r}")
    _check_objects(manifest, source)
    for function in manifest.functions:
        check_function(function, manifest, f"{source}: function {function.name!r}")
    for concrete in manifest.concrete_functions:
        where = f"{source}: concrete function {concrete.name!r}"
        for graph in concrete.graphs:
            _check_listed(graph.file, paths, where)
        check_concrete_function(concrete, manifest, where)
    check_unique((item.name for item in manifest.signatures), source, "signature")
    for signature in manifest.signatures:
        check_signature(signature, manifest, f"{source}: signature {signature.name!r}")
    check_examples(manifest, paths, source)


def _check_requirements(manifest: Manifest, source: str) -> None:
    requirements: Requirements = manifest.requirements
    if manifest.concrete_functions:
        for what, number in (
            ("opset", requirements.opset),
            ("IR version", requirements.ir_version),
        ):
            if number < 1:
                fail(source, f"the required {what} is {number}, expected at least 1")
    for domain, version in requirements.domains.items():
        if not domain or version < 1:
            fail(
                source,
                f"the operator domain {domain!r} has version {version}, expected a name "
                "and at least version 1",
            )


def _check_files(files: Iterable[FileEntry], source: str) -> frozenset[str]:
    paths: set[str] = set()
    folders: set[str] = set()
    folded: dict[str, str] = {}
    for entry in files:
        check_path(entry.path, source)
        where = f"{source}: file {entry.path!r}"
        if entry.path.casefold() == "bundle.pb":
            fail(where, "the manifest lists itself, expected only the other files")
        other = folded.setdefault(entry.path.casefold(), entry.path)
        if entry.path in paths or other != entry.path:
            fail(where, f"listed beside {other!r}, expected paths that differ in every system")
        if not 0 <= entry.size <= limits.MAX_ELEMENTS:
            fail(where, f"its size is {entry.size}, expected 0 to {limits.MAX_ELEMENTS}")
        if len(entry.sha256) != 32:
            fail(where, f"its SHA-256 has {len(entry.sha256)} bytes, expected 32")
        if len(entry.crc32) not in (0, piece_count(entry.size)):
            fail(
                where,
                f"it has {len(entry.crc32)} CRC-32s, expected {piece_count(entry.size)} for "
                f"{entry.size} bytes, or none",
            )
        paths.add(entry.path)
        parts = entry.path.split("/")
        folders.update("/".join(parts[:count]) for count in range(1, len(parts)))
    for path in sorted(paths & folders):
        fail(source, f"{path!r} is a file and a folder, expected one of them")
    return frozenset(paths)


def _check_listed(path: str, paths: frozenset[str], where: str) -> None:
    if path not in paths:
        check_path(path, where)
        fail(where, f"uses the file {path!r}, which the manifest's list of files does not have")


def _check_storage(storage: Storage, paths: frozenset[str], where: str) -> None:
    _check_listed(storage.file, paths, where)
    check_name(storage.key, where, "the key in its file")


def _check_tensors(manifest: Manifest, paths: frozenset[str], source: str) -> None:
    check_unique((item.name for item in manifest.variables), source, "variable")
    for variable in manifest.variables:
        _check_variable(variable, paths, f"{source}: variable {variable.name!r}")
    check_unique((item.name for item in manifest.constants), source, "constant")
    for constant in manifest.constants:
        _check_constant(constant, paths, f"{source}: constant {constant.name!r}")


def _check_variable(variable: VariableEntry, paths: frozenset[str], where: str) -> None:
    check_dtype(variable.dtype, where)
    check_shape(variable.shape, where)
    _check_storage(variable.storage, paths, where)


def _check_constant(constant: ConstantEntry, paths: frozenset[str], where: str) -> None:
    check_dtype(constant.dtype, where)
    check_shape(constant.shape, where)
    if not is_static(constant.shape):
        fail(where, f"shape is {constant.shape!r}, expected a fully defined one")
    if (constant.inline is None) == (constant.storage is None):
        fail(where, "expected either inline bytes or a storage, exactly one of them")
    if constant.storage is not None:
        _check_storage(constant.storage, paths, where)
    elif constant.inline is not None:
        if len(constant.inline) > limits.MAX_INLINE_CONSTANT_BYTES:
            fail(
                where,
                f"{len(constant.inline)} bytes inline, limit "
                f"{limits.MAX_INLINE_CONSTANT_BYTES}; put it into the variable store",
            )
        check_inline(constant.inline, constant.dtype, constant.shape, where)


def _check_table(table: TableEntry, manifest: Manifest, where: str) -> None:
    count = len(manifest.constants)
    check_id(table.keys, count, where, "keys", "constants")
    check_id(table.values, count, where, "values", "constants")
    if table.default_value is not None:
        check_id(table.default_value, count, where, "default_value", "constants")
    keys = manifest.constants[table.keys].shape
    values = manifest.constants[table.values].shape
    if len(keys) != 1 or values[:1] != keys:
        fail(
            where,
            f"keys have shape {keys} and values {values}, expected rank 1 and as many values",
        )


def _check_objects(manifest: Manifest, source: str) -> None:
    if not manifest.objects:
        fail(source, "no objects, expected at least the root; save the bundle again")
    for index, node in enumerate(manifest.objects):
        where = f"{source}: object {index} ({node.kind})"
        if node.kind in _CONTAINERS:
            _check_children(node, len(manifest.objects), where)
        elif node.children:
            fail(where, f"{len(node.children)} children, expected none for this kind")
        _check_target(node, manifest, where)
        if node.value is not None and node.kind != "value":
            fail(where, f"has the value {node.value!r:.80}, expected one only for kind 'value'")
        check_value(node.value, where, len(manifest.constants))
        _check_metadata(node.metadata, where)
    _check_tuple_cycles(manifest.objects, source)


def _check_children(node: ObjectNode, count: int, where: str) -> None:
    is_dict = node.kind == "dict"
    check_unique((child.name for child in node.children), where, "child", empty_ok=is_dict)
    for position, child in enumerate(node.children):
        check_id(child.node, count, where, f"child {child.name!r}", "objects")
        if child.key is not None and not is_dict:
            fail(where, f"child {child.name!r} has a key, expected one only in a dict")
        dunder = child.name.startswith("__") and child.name.endswith("__")
        if node.kind == "object" and dunder and child.name != "__call__":
            fail(where, f"child {child.name!r}, expected no name that means something to Python")
        if node.kind in ("list", "tuple") and child.name != str(position):
            fail(where, f"child {position} is named {child.name!r}, expected {str(position)!r}")
    # 1, 1.0 and True are one key to Python; as text they would be three.
    keys = [child.name if child.key is None else child.key for child in node.children]
    if len(set(keys)) != len(keys):
        fail(where, f"keys {keys!r:.200}, expected each once")
    names = node.field_names
    if names:
        if node.kind != "tuple" or len(names) != len(node.children):
            fail(
                where,
                f"{len(names)} field names for {len(node.children)} children, expected "
                "them only in a tuple, one for each child",
            )
        check_identifiers(names, where, "field")
        for name in names:
            if name.startswith("__"):
                fail(where, f"field {name!r}, expected no name that means something to Python")


def _check_target(node: ObjectNode, manifest: Manifest, where: str) -> None:
    plural = _TARGETS.get(node.kind)
    if plural is None:
        if node.target is not None:
            fail(where, f"target is {node.target}, expected none for this kind")
    elif node.target is None:
        fail(where, f"no target, expected the id of one of its {plural}")
    else:
        check_id(node.target, len(getattr(manifest, plural)), where, "target", plural)


def _check_metadata(metadata: Mapping[str, Any], where: str) -> None:
    if metadata:
        metadata_json(metadata, where)


def _check_tuple_cycles(objects: tuple[ObjectNode, ...], source: str) -> None:
    """A tuple cannot hold itself through tuples alone: nobody could build it.

    Takes tuples away whose tuple children have all been taken away; what is left has a cycle.
    """
    waiting = {
        index: {c.node for c in node.children if objects[c.node].kind == "tuple"}
        for index, node in enumerate(objects)
        if node.kind == "tuple"
    }
    parents: dict[int, list[int]] = {}
    for index, inner in waiting.items():
        for child in inner:
            parents.setdefault(child, []).append(index)
    ready = [index for index, inner in waiting.items() if not inner]
    while ready:
        done = ready.pop()
        del waiting[done]
        for parent in parents.get(done, ()):
            waiting[parent].discard(done)
            if not waiting[parent]:
                ready.append(parent)
    if waiting:
        _fail_cycle(min(waiting), source)


def _fail_cycle(index: int, source: str) -> NoReturn:
    fail(f"{source}: object {index} (tuple)", "contains itself, expected a tree of tuples")
