"""The operators: the one module that reads ``onnx.defs``.

An operator of another domain is called by both names, ``"com.microsoft::BiasGelu"``; what there is
of these is asked of the installed ONNX Runtime. They come with imported models alone.

``BASE_OPSET`` is what graphs are written in unless one of their operators is newer; a graph is then
written in the first opset that has all its operators.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, cast

import onnx
import onnx.defs

from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.runtime import other_domains

BASE_OPSET = 21
# The newest opset that the oldest runtime we ship to takes; operators added later are not offered.
MAX_OPSET = 26
IR_VERSION = 10


@dataclass(frozen=True, slots=True)
class Operator:
    """The ONNX standard's description of an operator.

    Attributes:
        name: ONNX operator type.
        opset: The first opset >= ``BASE_OPSET`` in which it can be written.
        inputs: Parameter names; the last one repeats if ``variadic``.
        min_inputs: How many inputs are required.
        outputs: Names of the results.
        min_outputs: How many outputs always exist.
        attributes: Name -> (kind, required, default), kinds as in ``onnx.AttributeProto``.
        doc: The standard's description.
        schema: What it was read from.
        version: The version of its domain in which it is written.
    """

    name: str
    opset: int
    inputs: tuple[str, ...]
    min_inputs: int
    max_inputs: int
    outputs: tuple[str, ...]
    min_outputs: int
    max_outputs: int
    attributes: dict[str, tuple[int, bool, Any]]
    doc: str
    schema: Any
    version: int


@functools.cache
def parameters(name: str, opset: int) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """The version of an operator in an opset, and the type parameters of its inputs and outputs.

    Args:
        name: The operator.
        opset: One that has it.

    Returns:
        The first opset of the version, and names such as ``"T1"`` (or a type, where it is fixed).
    """
    found = onnx.defs.get_schema(name, opset, "")
    inputs = tuple(p.type_str for p in found.inputs)
    return found.since_version, inputs, tuple(p.type_str for p in found.outputs)


@functools.cache
def operator(name: str) -> Operator:
    """Return an operator of the standard domain, or of another one: see ``key_of``.

    Raises:
        NotFoundError: no such operator at any opset up to ``MAX_OPSET``, or none that the
            installed ONNX Runtime has a kernel for.
    """
    if SEPARATOR in name:
        return _of_other_domain(name)
    try:
        schema = onnx.defs.get_schema(name, BASE_OPSET, "")
        opset = BASE_OPSET
        if schema.deprecated:
            raise NotFoundError(f"ONNX operator {name!r} is deprecated.")
    except onnx.defs.SchemaError:
        try:
            schema = onnx.defs.get_schema(name, MAX_OPSET, "")
        except onnx.defs.SchemaError:
            import difflib

            close = difflib.get_close_matches(name, operator_names(), 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise NotFoundError(
                f"{name!r} is not an operator of ONNX opset {MAX_OPSET}.{hint}"
            ) from None
        opset = schema.since_version
    attributes = {
        key: (int(cast(Any, a.type).value), a.required, _default(a))
        for key, a in schema.attributes.items()
    }
    return Operator(
        name,
        opset,
        tuple(p.name for p in schema.inputs),
        schema.min_input,
        schema.max_input,
        tuple(p.name for p in schema.outputs),
        schema.min_output,
        schema.max_output,
        attributes,
        schema.doc or "",
        schema,
        opset,
    )


@functools.cache
def takes(name: str, dtype: str) -> bool:
    """True if the first operand of an operator may be of a dtype, by the standard.

    Args:
        name: The operator.
        dtype: As the standard calls it: ``"float16"``, ``"bfloat16"``, ``"float"``.
    """
    schema = operator(name).schema
    types: dict[str, Any] = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    parameter = schema.inputs[0].type_str
    return f"tensor({dtype})" in types.get(parameter, (parameter,))


SEPARATOR = "::"


def key_of(domain: str, op: str) -> str:
    """What an operator is called in graphs and tables: with its domain, unless it is ONNX's own."""
    return f"{domain}{SEPARATOR}{op}" if domain else op


def split_key(op: str) -> tuple[str, str]:
    """Domain and name of an operator: ``key_of`` backwards."""
    domain, _, name = op.rpartition(SEPARATOR)
    return domain, name


def is_other(op: str) -> bool:
    """True if an operator is of another domain than ONNX's own."""
    return SEPARATOR in op


@dataclass(frozen=True, slots=True)
class OtherSchema:
    """What of onnx's description of an operator other modules read.

    Attributes:
        inputs: Its parameters.
        outputs: Its results.
        type_constraints: None are known by name.
        has_function: It is no function of others.
        has_context_dependent_function: Nor one that depends on its inputs.
    """

    inputs: tuple[other_domains.Parameter, ...]
    outputs: tuple[other_domains.Parameter, ...]
    type_constraints: tuple[Any, ...] = ()
    has_function: bool = False
    has_context_dependent_function: bool = False


def _of_other_domain(key: str) -> Operator:
    found = other_domains.description(*split_key(key))
    if found is None:
        raise NotFoundError(
            f"The installed ONNX Runtime has no kernel for the operator {key!r} on the CPU."
        )
    return Operator(
        key,
        BASE_OPSET,
        tuple(p.name for p in found.inputs),
        found.counts[0],
        found.counts[1],
        tuple(p.name for p in found.outputs),
        found.counts[2],
        found.counts[3],
        {n: (kind, needed, _read(data)) for n, (kind, needed, data) in found.attributes.items()},
        found.doc,
        OtherSchema(found.inputs, found.outputs),
        found.version,
    )


def _read(serialized: bytes) -> Any:
    return _default(type("", (), {"default_value": onnx.AttributeProto.FromString(serialized)}))


def _default(attribute: Any) -> Any:
    value = attribute.default_value
    if value is None or value.type == onnx.AttributeProto.UNDEFINED:
        return None
    default = onnx.helper.get_attribute_value(value)
    return default.decode() if isinstance(default, bytes) else default


@functools.cache
def operator_names() -> tuple[str, ...]:
    """All operators of the standard domain that are alive at ``MAX_OPSET``, sorted."""
    newest: dict[str, Any] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= MAX_OPSET:
            known = newest.get(schema.name)
            if known is None or known.since_version < schema.since_version:
                newest[schema.name] = schema
    return tuple(sorted(name for name, schema in newest.items() if not schema.deprecated))


def newest_opset() -> int:
    """The newest opset that the installed onnx knows."""
    return int(onnx.defs.onnx_opset_version())


def changed_after(name: str, opset: int) -> bool:
    """True if the operator of a newer opset is another one than that of ``MAX_OPSET``."""
    try:
        schema = onnx.defs.get_schema(name, opset, "")
    except onnx.defs.SchemaError:
        return True
    return bool(schema.since_version > MAX_OPSET)


def check_attributes(op: Operator, attrs: dict[str, Any]) -> None:
    """Refuse attributes that the operator lacks, and the absence of required ones.

    Raises:
        InvalidArgumentError: naming the attribute and what exists.
    """
    known = op.attributes
    for name in attrs:
        if name not in known:
            raise InvalidArgumentError(
                f"ONNX operator {op.name} has no attribute {name!r}; it has "
                f"{', '.join(known) or 'none'}."
            )
    for name, (_, required, _) in known.items():
        if required and name not in attrs:
            raise InvalidArgumentError(f"ONNX operator {op.name} needs the attribute {name!r}.")
