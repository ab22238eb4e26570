"""Operators of other domains than ONNX's own that the installed ONNX Runtime has kernels for.

``com.microsoft`` (what its optimizer and its exporters fuse, and quantized arithmetic) and
``ai.onnx.ml`` (trees, support vectors, encoders). Their descriptions and the types of their results
are asked of the runtime itself, so that they are right for every release.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core.errors import InvalidArgumentError
from tfx.runtime.kernels import domains_with_kernels, kernel_versions
from tfx.runtime.session import kernel_reason, output_types

DOMAINS = ("ai.onnx.ml", "com.microsoft")
"""The domains whose operators are kept in graphs. Others are the runtime's own business."""


# Results that release 1.31 cannot do without, whatever it says of them.
_OUTPUTS = {("com.microsoft", "EmbedLayerNormalization"): 2}


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or output of an operator.

    Attributes:
        name: What the operator's description calls it.
        type_str: Its type parameter, such as ``"T"``, or its type.
        option: Its ``name`` is ``"Single"``, ``"Optional"`` or ``"Variadic"``.
    """

    name: str
    type_str: str
    option: Any


@dataclass(frozen=True, slots=True)
class Description:
    """What the runtime says of an operator.

    Attributes:
        domain: Its domain.
        name: Its name.
        version: The version of the domain in which it is written.
        inputs: Its inputs; the last one may be repeated.
        outputs: Its results.
        counts: The least and greatest number of inputs, and of outputs.
        attributes: Name -> (kind, required, the default as a serialized attribute).
        infers: Whether the runtime knows the types of its results.
        doc: The description.
    """

    domain: str
    name: str
    version: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    counts: tuple[int, int, int, int]
    attributes: Mapping[str, tuple[int, bool, bytes]]
    infers: bool
    doc: str


@functools.cache
def _schemas() -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in _ort.get_all_operator_schema():
        if schema.domain in DOMAINS:
            found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


@functools.cache
def description(domain: str, name: str) -> Description | None:
    """What the runtime knows of an operator; None if it has no kernel for it.

    The newest version is described that a kernel takes: attributes have only been added.
    """
    schemas = _schemas().get((domain, name), []) if domain in domains_with_kernels() else []
    versions = kernel_versions(domain, name)
    usable = [s for s in schemas if any(a <= s.since_version <= b for a, b in versions)]
    usable = [s for s in usable if not s.deprecated] or usable
    if not usable:
        return None
    schema = max(usable, key=lambda s: int(s.since_version))
    return Description(
        domain,
        name,
        int(schema.since_version),
        _parameters(schema.inputs),
        _parameters(schema.outputs),
        (
            schema.min_input,
            schema.max_input,
            max(schema.min_output, _OUTPUTS.get((domain, name), 0)),
            schema.max_output,
        ),
        {
            key: (
                int(a.type.value if hasattr(a.type, "value") else a.type),
                a.required,
                a._default_value,
            )
            for key, a in schema.attributes.items()
        },
        bool(schema.has_type_and_shape_inference_function),
        schema.doc or "",
    )


def _parameters(given: Any) -> tuple[Parameter, ...]:
    return tuple(Parameter(p.name, p.typeStr, p.option) for p in given)


def types_of_results(model: bytes, op: str) -> list[tuple[str, list[Any]]]:
    """The types and shapes that the runtime finds for the outputs of a model of one node.

    Args:
        model: A serialized model.
        op: What to call it in messages.

    Returns:
        For each output its type (``"tensor(float)"``) and dimensions: sizes, names or None.

    Raises:
        InvalidArgumentError: the runtime refuses the model, with its reason.
    """
    try:
        return output_types(model)
    except Exception as e:  # of classes of its own
        raise InvalidArgumentError(_reason(str(e)), op=op) from e


def _reason(message: str) -> str:
    """The runtime's own words, without its name for the status."""
    text = kernel_reason(message)
    for start in ("This is an invalid model.", "Type Error:", "Load model from"):
        text = text.split(start)[-1] if start in text else text
    return text.split(" : ")[-1].strip()
