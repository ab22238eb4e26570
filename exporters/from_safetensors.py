"""Weights in safetensors files: into a module by their names, or as a module of their own.

Files are not trusted: their headers are checked in full before a byte is used, an index may name
files of its own folder alone, and everything that could be wrong is found before a variable
changes.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.files import locate
from tfx.bundle.safetensors import open_safetensors
from tfx.bundle.shards import INDEX_SUFFIX, read_index
from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import BundleError, InvalidArgumentError, MissingFileError
from tfx.exporters.named_weights import first_names, named_variables, ties_of
from tfx.exporters.native import SaveOptions, save
from tfx.framework.context import init_scope
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.importing.call import identifiers

Rename = Mapping[str, str] | Callable[[str], str | None] | None
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of each name.

    Attributes:
        loaded: Names of variables that have a new value.
        missing: Names of variables that the file has no value for.
        unexpected: Names in the file that the module has no variable for.
    """

    loaded: tuple[str, ...]
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


class WeightsModule(Module):
    """The weights of a file as nested variables.

    ``module.encoder.layers["0"].weight`` is the tensor ``encoder.layers.0.weight``, and so is
    ``module["encoder.layers.0.weight"]``.
    """

    def __getitem__(self, name: str | int) -> Any:
        """A weight or a part by its name, which may have dots."""
        found: Any = self
        for part in str(name).split("."):
            found = vars(found).get(_attribute(part)) if isinstance(found, WeightsModule) else None
        if found is None:
            raise KeyError(name)
        return found

    def __getattr__(self, name: str) -> Any:
        """Refuse an unknown part with the known ones."""
        known = [n for n in self.__dict__ if not n.startswith("_")]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(
            f"no weight or part {name!r}{hint} It has {', '.join(known[:20]) or 'none'}."
        )


def _attribute(part: str) -> str:
    """The attribute of a part; some names mean something to ``Module``."""
    return f"{part}_" if part.startswith("_") or hasattr(Module, part) else part


def to_module(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    trainable: bool | Callable[[str], bool] = True,
    dtype: DTypeLike | None = None,
    rename: Rename = None,
) -> WeightsModule:
    """Make a module that holds the weights of a file as nested variables.

    Args:
        path: A ``.safetensors`` file, an index of several, or a folder with either.
        name: Name of the module; None: made from the file's.
        trainable: Whether floating-point weights are trained, or a function of the name.
        dtype: What floating-point weights are cast to; None: they stay.
        rename: New names by those of the file, or a function of a name; None for a name leaves the
            tensor out.

    Returns:
        The module. A tied weight is one variable in several places.

    Raises:
        NotFoundError: no such file.
        BundleError: a header lies, or a file of the index is missing or lacks a tensor.
        InvalidArgumentError: two tensors have one name; one name is a tensor and a part.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> from tfx.exporters import to_safetensors
        >>> module = tf.Module()
        >>> module.dense = {"kernel": tf.Variable([1.0, 2.0])}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     to_safetensors(module, f"{folder}/w.safetensors")
        ...     to_module(f"{folder}/w.safetensors").dense.kernel.numpy()
        array([1., 2.], dtype=float32)
    """
    arrays, tied, _ = read_weights(path)
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    root = WeightsModule(identifiers([name or Path(path).name.split(".")[0] or "weights"])[0])
    made: dict[str, Variable] = {}
    with init_scope():
        for key, new in _renamed([*arrays, *tied], rename, str(path)):
            first = tied.get(key, key)
            if first not in made:
                array = _cast(arrays[first], wanted)
                trained = trainable(new) if callable(trainable) else bool(trainable)
                is_float = dtypes.as_dtype(array.dtype).is_floating
                made[first] = Variable(array, trainable=trained and is_float, name=new)
            _place(root, new, made[first], str(path))
    return root


def load_into(
    module: Any,
    path: str | os.PathLike[str],
    *,
    rename: Rename = None,
    strict: bool = True,
    cast: bool = False,
) -> LoadReport:
    """Give the variables of a module the values of a file, by their names.

    Args:
        module: A module; its names are those of ``to_numpy``.
        path: A ``.safetensors`` file, an index of several, or a folder with either.
        rename: The module's names by those of the file, or a function of a name; None for a name
            leaves the tensor out.
        strict: Whether a variable without a value and a value without a variable are errors.
        cast: Whether values may be of another dtype; they are rounded to the variable's.

    Returns:
        What became of each name.

    Raises:
        NotFoundError: no such file.
        BundleError: a header lies, or a file of the index is missing or lacks a tensor.
        InvalidArgumentError: a value of another shape or dtype; names that do not fit, if
            ``strict``. No variable has changed then.
    """
    variables = named_variables(module)
    arrays, tied, are_told = read_weights(path)
    values: dict[str, npt.NDArray[Any]] = {}
    unexpected = []
    every = {**arrays, **{other: arrays[key] for other, key in tied.items()}}
    for key, new in _renamed([*every], rename, str(path)):
        if new in variables:
            values[new] = _fitting(every[key], variables[new], key, new, str(path), cast=cast)
        elif key in arrays or are_told:  # else a note that may be of something else
            unexpected.append(key)
    values = _without_ties(values, variables, str(path))
    filled = {id(variables[n]) for n in values}
    left_out = getattr(module, "unstored", ())
    missing = [n for n, v in variables.items() if id(v) not in filled and n not in left_out]
    if strict and (missing or unexpected):
        raise InvalidArgumentError(_strict_message(str(path), missing, unexpected, variables))
    for name, array in values.items():
        variables[name].assign(array)
    loaded = tuple(n for n, v in variables.items() if id(v) in filled)
    return LoadReport(loaded, tuple(missing), tuple(unexpected))


def export(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    module: Any = None,
    signatures: Any = None,
    rename: Rename = None,
    cast: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> Any:
    """Save the weights of a file as a bundle.

    Args:
        model: A ``.safetensors`` file, an index of several, or a folder with either.
        path: The folder to make.
        module: What the weights are loaded into by name, and saved with its functions; None: the
            bundle has the weights alone, as nested variables.
        signatures: Of ``module``, as ``saved_model.save`` takes them.
        rename: See ``load_into``.
        cast: See ``load_into``.
        metadata: Text to keep in the manifest.

    Returns:
        The module that was saved.

    Raises:
        InvalidArgumentError: the weights do not fit, or ``signatures`` without a module.
        BundleError: a header lies, or a file of the index is missing or lacks a tensor.
    """
    if module is None:
        if signatures is not None:
            raise InvalidArgumentError(
                f"{model}: a file of weights has no functions to be signatures; give the module "
                "that they belong to as module=."
            )
        module = to_module(model, rename=rename)
    else:
        load_into(module, model, rename=rename, cast=cast)
        if signatures is None:
            signatures = getattr(module, "signatures", None)
    notes = {"source.format": "safetensors", **(metadata or {})}
    save(module, path, signatures=signatures, options=SaveOptions(metadata=notes))
    return module


def read_weights(
    path: str | os.PathLike[str],
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str], bool]:
    """The tensors of a file, mapped, and what ``ties_of`` finds in its header.

    Raises:
        NotFoundError: no such file.
        BundleError: a header lies, or a file of the index is missing or lacks a tensor.
    """
    place = _found(Path(path))
    arrays: dict[str, npt.NDArray[Any]] = {}
    notes: dict[str, str] = {}
    if place.name.endswith(INDEX_SUFFIX):
        storages = read_index(place)
        files = {}
        for name in dict.fromkeys(s.file for s in storages.values()):
            files[name] = open_safetensors(locate(place.parent, name))
            notes |= files[name].metadata
        for key, storage in storages.items():
            if key not in files[storage.file]:
                raise BundleError(
                    f"{place}: tensor {key!r} is said to be in {storage.file}, which lacks it; the "
                    "files do not belong together: fetch them again"
                )
            arrays[key] = files[storage.file].array(key)
    else:
        file = open_safetensors(place)
        arrays, notes = {key: file.array(key) for key in file}, file.metadata
    return (arrays, *ties_of(notes, arrays, str(place)))


def _found(path: Path) -> Path:
    """The file or index of a path, which may be a folder."""
    if not path.is_dir():
        if not path.exists():
            raise MissingFileError(f"{path}: no such file, expected a .safetensors file.")
        return path
    indices = sorted(path.glob(f"*{INDEX_SUFFIX}"))
    files = indices or sorted(path.glob("*.safetensors"))
    if len(files) != 1:
        names = ", ".join(f.name for f in files) or "none"
        raise MissingFileError(
            f"{path}: expected one .safetensors file or one index in the folder, it has {names}; "
            "give the path of the file."
        )
    return files[0]


def _renamed(names: Sequence[str], rename: Rename, where: str) -> Iterator[tuple[str, str]]:
    """Each name with its new one; those that are left out do not come."""
    taken: dict[str, str] = {}
    if isinstance(rename, Mapping):
        unknown = [n for n in rename if n not in names]
        if unknown and len(unknown) == len(rename):
            raise InvalidArgumentError(
                f"rename has {unknown[0]!r}, which is no tensor of {where}; it has "
                f"{', '.join(names[:10]) or 'none'}."
            )
    for name in names:
        new = rename(name) if callable(rename) else (rename or {}).get(name, name)
        if new is None:
            continue
        if not isinstance(new, str) or not new:
            raise InvalidArgumentError(f"rename gives {new!r} for {name!r}, expected a name.")
        if new in taken:
            raise InvalidArgumentError(
                f"{where}: {taken[new]!r} and {name!r} both get the name {new!r} by rename."
            )
        taken[new] = name
        yield name, new


def _place(root: WeightsModule, name: str, variable: Variable, where: str) -> None:
    """Put a variable below a module, with parts between."""
    *path, last = name.split(".")
    part: Any = root
    for key in path:
        below = vars(part).get(_attribute(key))
        if below is None:
            below = WeightsModule(identifiers([key])[0])
            vars(part)[_attribute(key)] = below
        part = below
        if not isinstance(part, WeightsModule):
            break
    if not isinstance(part, WeightsModule) or _attribute(last) in vars(part):
        raise InvalidArgumentError(
            f"{where}: the name {name!r} is of a tensor and of a part at once; give rename=."
        )
    vars(part)[_attribute(last)] = variable


def _cast(array: npt.NDArray[Any], dtype: DType | None) -> npt.NDArray[Any]:
    if dtype is None or not dtypes.as_dtype(array.dtype).is_floating:
        return array
    return array.astype(dtype.as_numpy_dtype)


def _fitting(
    array: npt.NDArray[Any], variable: Variable, key: str, name: str, where: str, *, cast: bool
) -> npt.NDArray[Any]:
    shape, dtype = tuple(variable.shape.as_list()), variable.dtype
    label = f"{key!r}" if key == name else f"{key!r} (for {name!r})"
    if array.shape != shape:
        turned = " It looks transposed: transpose it first." if array.shape == shape[::-1] else ""
        raise InvalidArgumentError(
            f"{where}: {label} has the shape {list(array.shape)}, the variable {list(shape)}."
            f"{turned}"
        )
    found = dtypes.as_dtype(array.dtype)
    if found == dtype:
        return array
    if not cast or found.is_floating != dtype.is_floating:
        raise InvalidArgumentError(
            f"{where}: {label} is {found.name}, the variable {dtype.name}"
            f"{'' if found.is_floating != dtype.is_floating else '; pass cast=True to round it'}."
        )
    return array.astype(dtype.as_numpy_dtype)


def _without_ties(
    values: Arrays, variables: Mapping[str, Variable], where: str
) -> dict[str, npt.NDArray[Any]]:
    """One value for each variable; the values of tied names must be the same."""
    tied = first_names(variables)
    found: dict[str, npt.NDArray[Any]] = {}
    given: dict[str, str] = {}
    for name, array in values.items():
        first = tied.get(name, name)
        if first not in found:
            found[first], given[first] = array, name
        elif found[first].tobytes() != np.ascontiguousarray(array).tobytes():
            raise InvalidArgumentError(
                f"{where}: {given[first]!r} and {name!r} are one variable of the module and two "
                "different tensors in the file; leave one out by rename."
            )
    return found


def _strict_message(
    where: str, missing: list[str], unexpected: list[str], known: Mapping[str, Variable]
) -> str:
    parts = []
    if missing:
        parts.append(f"no value for {_some(missing)}")
    if unexpected:
        close = difflib.get_close_matches(unexpected[0], [*known], 1)
        hint = f" (the nearest variable is {close[0]!r})" if close else ""
        parts.append(f"no variable for {_some(unexpected)}{hint}")
    return (
        f"{where}: {' and '.join(parts)}. Give rename=, or strict=False to load what fits; no "
        "variable was changed."
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more
