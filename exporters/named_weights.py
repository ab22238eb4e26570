"""Weights of modules by name: as arrays, as a state dict of torch, as a safetensors file.

Owns the names: those of the source where a model came from elsewhere, else the path through the
attributes with dots (``layers.0.kernel``). A variable that is reached by two names has both, and in
a file the second is a note in the header that says which the first is, as other programs write it.
Notes of other kinds look the same ("format": "pt" beside a tensor "pt"), so a header of ours that
has any says once more which of them are names.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.disk_errors import translated
from tfx.bundle.shards import INDEX_SUFFIX, write_store
from tfx.core.errors import BundleError, InvalidArgumentError
from tfx.exporters.torch_weights import as_tensor
from tfx.framework.trackable import walk
from tfx.framework.variable import Variable

_ENDING = ".safetensors"
# What the header of every file of torch has: never a name.
_FORMAT = "format"
# The further names of tensors as JSON, with the first name of each.
_TIES = "tfx.tied_weights"
_WHOLE = 1 << 62


def named_variables(module: Any, *, stored: bool = False) -> dict[str, Variable]:
    """The variables of a module by name, a tied one under each of its names.

    Args:
        module: Any object with variables.
        stored: Leave out what the source does not keep in its files.

    Raises:
        InvalidArgumentError: it has no variables, or two of one name.
    """
    weights = getattr(module, "weights", None)
    found: dict[str, Variable] = {}
    if isinstance(weights, Mapping):
        found = {str(n): v for n, v in weights.items() if isinstance(v, Variable)}
    known = {id(v) for v in found.values()}
    nodes = walk(module)
    for node in nodes:
        for last, number in node.children.items():
            variable, name = nodes[number].item, ".".join((*node.path, last))
            if not isinstance(variable, Variable) or id(variable) in known:
                continue
            if name in found:
                raise InvalidArgumentError(
                    f"{_shown(module)} has two variables of the name {name!r}; rename one."
                )
            found[name] = variable
    if not found:
        raise InvalidArgumentError(f"{_shown(module)} has no variables, expected a module.")
    left_out = getattr(module, "unstored", ()) if stored else ()
    return {n: v for n, v in found.items() if n not in left_out}


def _shown(module: Any) -> str:
    return f"{module!r:.80} of type {type(module).__name__}"


def first_names(variables: Mapping[str, Variable]) -> dict[str, str]:
    """The first name of each further name of a variable."""
    first: dict[int, str] = {}
    tied = {}
    for name, variable in variables.items():
        known = first.setdefault(id(variable), name)
        if known != name:
            tied[name] = known
    return tied


def ties_of(
    notes: Mapping[str, str], names: Collection[str], where: str
) -> tuple[dict[str, str], bool]:
    """The first names of further names that the header of a file has.

    Args:
        notes: The header's text by key.
        names: The names of the file's tensors.
        where: The file.

    Returns:
        First names by further names; and whether the file says itself that these are names. Other
        programs' notes are names where their text is a tensor's name, which may be by chance.

    Raises:
        BundleError: what the file says of them cannot be.
    """
    if _TIES not in notes:
        found = {n: key for n, key in notes.items() if key in names and n not in names}
        found.pop(_FORMAT, None)
        return found, False
    try:
        tied = json.loads(notes[_TIES])
    except ValueError as e:
        raise BundleError(f"{where}: {_TIES!r} in the header is damaged: {e}") from e
    if not isinstance(tied, dict):
        raise BundleError(f"{where}: {_TIES!r} in the header is {tied!r:.100}, expected an object")
    for name, first in tied.items():
        if name in names or not isinstance(first, str):
            raise BundleError(
                f"{where}: {_TIES!r} in the header has {name!r} as another name of {first!r:.100}; "
                "expected a name that no tensor has, and the name of a tensor"
            )
    # One file of several need not have the tensors that its header knows of.
    return {n: first for n, first in tied.items() if first in names}, True


def _notes(tied: Mapping[str, str], metadata: Mapping[str, str]) -> dict[str, str]:
    """The text of a file's header."""
    for key in metadata:
        if key in tied or key == _TIES:
            raise InvalidArgumentError(
                f"metadata has {key!r}, which the header needs for tied weights; choose another "
                "key."
            )
    notes = {n: first for n, first in tied.items() if n != _FORMAT}
    told = {_TIES: json.dumps(tied)} if tied or metadata else {}
    return {_FORMAT: "pt", **notes, **told, **metadata}


def to_numpy(module: Any) -> dict[str, npt.NDArray[Any]]:
    """The weights of a module as arrays.

    Args:
        module: A module, of this package or made of a model of others.

    Returns:
        Arrays by the source's names; else by paths with dots. Tied weights are one array under
        each name.

    Raises:
        InvalidArgumentError: it has no variables.

    Example:
        >>> import tfx as tf
        >>> module = tf.Module()
        >>> module.layers = [tf.Variable([1.0, 2.0])]
        >>> to_numpy(module)
        {'layers.0': array([1., 2.], dtype=float32)}
    """
    variables = named_variables(module)
    arrays = {id(v): np.asarray(v.numpy()) for v in variables.values()}
    return {name: arrays[id(v)] for name, v in variables.items()}


def to_torch(module: Any) -> dict[str, Any]:
    """The weights of a module as a state dict of torch.

    Args:
        module: A module, of this package or made of a model of others.

    Returns:
        Tensors by torch's names, for ``load_state_dict``: equal to the bit to what the module has,
        tied weights one tensor under each name, buffers among them that torch keeps.

    Raises:
        ImportError: torch is not installed.
        InvalidArgumentError: it has no variables, or of a dtype that torch lacks.
    """
    variables = named_variables(module, stored=True)
    try:
        tensors = {id(v): as_tensor(v.numpy()) for v in variables.values()}
    except ImportError as e:
        raise ImportError('torch is needed for state dicts: pip install "tfx-onnx[torch]"') from e
    return {name: tensors[id(v)] for name, v in variables.items()}


def to_safetensors(
    module: Any,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, str] | None = None,
    max_shard_bytes: int | None = None,
) -> None:
    """Write the weights of a module as a safetensors file.

    Args:
        module: A module, of this package or made of a model of others.
        path: The file, ``NAME.safetensors``. It appears whole or not at all.
        metadata: Text for the file's header.
        max_shard_bytes: Most bytes of one file. With more there are numbered files and an index,
            ``NAME.safetensors.index.json``, as others write and read them.

    Raises:
        InvalidArgumentError: it has no variables, or the name of the file has another ending.
        ResourceExhaustedError: the disk is full.
        PermissionDeniedError: the folder may not be written.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> module = tf.Module()
        >>> module.kernel = tf.Variable([1.0, 2.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     to_safetensors(module, f"{folder}/weights.safetensors")
        ...     os.listdir(folder)
        ['weights.safetensors']
    """
    target = Path(os.path.abspath(path))
    if target.suffix != _ENDING:
        raise InvalidArgumentError(f"{target}: expected a name that ends in {_ENDING!r}.")
    if max_shard_bytes is not None and max_shard_bytes <= 0:
        raise InvalidArgumentError(f"max_shard_bytes is {max_shard_bytes}, expected more than 0.")
    variables = named_variables(module, stored=True)
    tied = first_names(variables)
    arrays = {n: np.asarray(v.numpy()) for n, v in variables.items() if n not in tied}
    notes = _notes(tied, dict(metadata or {}))
    folder = target.parent / f".{target.name}.{secrets.token_hex(4)}.tmp"
    with translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        try:
            write_store(
                folder,
                arrays,
                stem=target.stem,
                metadata=notes,
                max_shard_bytes=max_shard_bytes or _WHOLE,
            )
            # What tells readers of the others comes last.
            for file in sorted(folder.iterdir(), key=lambda f: f.name.endswith(INDEX_SUFFIX)):
                os.replace(file, target.parent / file.name)
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
