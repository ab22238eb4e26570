"""Signatures: what a bundle offers to call, and the arguments of a call.

Owns the facts about a signature and the check of what a caller gives. Must not know how a signature
is run. The one decision: a call is checked in full before anything runs, and the first thing that
is wrong is reported with the argument's name, what came and what was wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from tfx.bundle.manifest import Manifest, SignatureTensor, TensorInfo
from tfx.bundle.manifest import Signature as SignatureEntry
from tfx.core.dims import is_automatic_dim
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.loaders.convert import to_array
from tfx.loaders.messages import describe, listed, meant, nearest

DEFAULT_SIGNATURE = "serving_default"


@dataclass(frozen=True, slots=True)
class SignatureInfo:
    """A signature's inputs, outputs and use of variables.

    Attributes:
        name: Its name.
        inputs: The inputs by name: dtype, and shape, in which dimensions are numbers, names or
            None.
        outputs: The same of the outputs.
        updates: Names of the variables to which a call gives new values.
        reads: Names of the other variables that it uses.
        file: The ONNX file that stock ONNX Runtime can run.
    """

    name: str
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    updates: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    file: str = ""

    def __str__(self) -> str:
        """Return the signature as ``name(x: float32[None, 8]) -> y: float32[None]``."""
        takes = ", ".join(f"{name}: {describe(item)}" for name, item in self.inputs.items())
        gives = ", ".join(f"{name}: {describe(item)}" for name, item in self.outputs.items())
        return f"{self.name}({takes}) -> {gives or 'nothing'}"


def signature_info(entry: SignatureEntry, manifest: Manifest) -> SignatureInfo:
    """Return the facts about a signature of a manifest."""
    concrete = manifest.concrete_functions[entry.concrete_function]
    graph = concrete.graph
    updates = {out.index for out in graph.outputs if out.target == "variable"}
    used = {item.index for item in graph.inputs if item.source == "variable"}
    used.update(item.variable for item in graph.frozen_variables)
    return SignatureInfo(
        entry.name,
        _named(entry.inputs, concrete.argument_leaves),
        _named(entry.outputs, concrete.result_leaves),
        tuple(manifest.variables[index].name for index in sorted(updates)),
        tuple(manifest.variables[index].name for index in sorted(used - updates)),
        graph.file,
    )


def _named(
    tensors: Sequence[SignatureTensor], leaves: Sequence[TensorInfo]
) -> Mapping[str, TensorInfo]:
    """The tensors by their names in the signature; a leaf may have another name in the graph."""
    return MappingProxyType(
        {
            item.name: TensorInfo(leaves[item.leaf].dtype, leaves[item.leaf].shape, item.name)
            for item in tensors
        }
    )


def find_signature(signatures: Mapping[str, SignatureInfo], name: str, where: str) -> SignatureInfo:
    """Return the signature of this name.

    Raises:
        NotFoundError: There is none; the message names the nearest.
    """
    info = signatures.get(name)
    if info is None:
        raise NotFoundError(f"{where} has no signature {name!r}; {nearest(name, signatures)}")
    return info


def bind(info: SignatureInfo, given: Mapping[str, object]) -> dict[str, npt.NDArray[Any]]:
    """Check the arguments of a call and convert them to arrays.

    Args:
        info: The signature.
        given: A value for each input, by name.

    Returns:
        An array for each input, in the signature's order.

    Raises:
        InvalidArgumentError: An input is missing, unknown, or of the wrong shape or range, or two
            inputs disagree on the size of a named dimension.
        DTypeMismatchError: An array has another dtype than its input.
    """
    _check_names(info, given)
    arrays = {
        name: to_array(given[name], item, f"signature {info.name!r}: input {name!r}")
        for name, item in info.inputs.items()
    }
    _check_dimensions(info, arrays)
    return arrays


def _check_names(info: SignatureInfo, given: Mapping[str, object]) -> None:
    unknown = [name for name in given if name not in info.inputs]
    missing = [name for name in info.inputs if name not in given]
    if unknown:
        close = meant(unknown[0], missing or info.inputs)
        hint = "" if close is None else f" did you mean {close!r}?"
        raise InvalidArgumentError(
            f"signature {info.name!r} takes no input {unknown[0]!r};{hint} its inputs: "
            f"{_inputs(info)}"
        )
    if missing:
        came = f"came: {listed(given)}" if given else "nothing came"
        raise InvalidArgumentError(
            f"signature {info.name!r} needs the input {missing[0]!r} "
            f"({describe(info.inputs[missing[0]])}), which is missing; {came}; its inputs: "
            f"{_inputs(info)}"
        )


def _inputs(info: SignatureInfo) -> str:
    return ", ".join(f"{name} {describe(item)}" for name, item in info.inputs.items()) or "none"


def _check_dimensions(info: SignatureInfo, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """A name stands for one size in the whole call."""
    sizes: dict[str, tuple[int, str]] = {}
    for name, item in info.inputs.items():
        shape = arrays[name].shape
        for axis, dim in enumerate(item.shape or ()):
            if not isinstance(dim, str):
                continue
            size, other = sizes.setdefault(dim, (shape[axis], name))
            if size == shape[axis]:
                continue
            label = "a dimension" if is_automatic_dim(dim) else f"dimension {dim!r}"
            raise InvalidArgumentError(
                f"signature {info.name!r}: input {name!r} has {shape[axis]} for {label} "
                f"(axis {axis}), but input {other!r} has {size}; expected the same size"
            )
