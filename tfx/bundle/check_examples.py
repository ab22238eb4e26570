"""Validation of a manifest's golden examples."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from tfx.bundle.check_values import check_name, fail
from tfx.bundle.records import Example, Manifest, Storage


def check_examples(manifest: Manifest, paths: Collection[str], source: str) -> None:
    """Check every example.

    Args:
        manifest: The manifest.
        paths: The files that it lists.
        source: The file to name in messages.

    Raises:
        BundleError: A rule is broken.
    """
    if not manifest.examples:
        return
    signatures = {item.name: item for item in manifest.signatures}
    held = {item.storage.file for item in manifest.variables}
    held.update(item.storage.file for item in manifest.constants if item.storage is not None)
    graphs = {g.file for c in manifest.concrete_functions for g in c.graphs}
    for number, example in enumerate(manifest.examples):
        where = f"{source}: example {number}"
        signature = signatures.get(example.signature)
        if signature is None:
            fail(where, f"it is of the signature {example.signature!r}, which is not there")
        _check_numbers(example, where)
        inputs = {item.name for item in signature.inputs}
        outputs = {item.name for item in signature.outputs}
        for call in example.calls:
            if call.inputs.keys() != inputs:
                fail(where, f"its inputs are {sorted(call.inputs)}, expected {sorted(inputs)}")
            if not call.outputs.keys() <= outputs:
                fail(where, f"its outputs are {sorted(call.outputs)}, expected {sorted(outputs)}")
            for tensors in (call.inputs, call.outputs):
                _check_places(tensors, paths, held | graphs, where)


def _check_numbers(example: Example, where: str) -> None:
    if not example.calls:
        fail(where, "it has no calls, expected at least one")
    if not (math.isfinite(example.tolerance) and example.tolerance >= 0):
        fail(where, f"its tolerance is {example.tolerance}, expected a number from 0")
    if len(example.variables_sha256) != 32:
        fail(where, f"its SHA-256 has {len(example.variables_sha256)} bytes, expected 32")


def _check_places(
    tensors: Mapping[str, Storage], paths: Collection[str], taken: Collection[str], where: str
) -> None:
    for name, storage in tensors.items():
        check_name(storage.key, where, f"the key of {name!r}")
        if storage.file not in paths:
            fail(where, f"{name!r} is in the file {storage.file!r}, which is not listed")
        if storage.file in taken:
            fail(where, f"{name!r} is in {storage.file!r}, which holds other things than examples")
