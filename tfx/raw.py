"""``tfx.raw``: every ONNX operator on tensors, one to one.

Functions are made from the standard's own description when first used; ``raw.pyi``, which
``tools/gen_operator_stubs.py`` writes, has their types. Inputs are positional in the standard's
order (None for an optional one left out), attributes are keywords. Operators whose inputs or
outputs are not tensors (sequences, optionals, graphs) are not here; see ``EXCLUDED``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError
from tfx.core.namespaces import MissingNameError
from tfx.core.tracebacks import cover
from tfx.framework.apply import apply_n
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.graph import schema

_TAKES_GRAPHS = "it takes graphs"
_NO_TENSOR = "its inputs or outputs are sequences or optionals, not tensors"

EXCLUDED: dict[str, str] = {
    **dict.fromkeys(("If", "Loop", "Scan", "SequenceMap"), _TAKES_GRAPHS),
    **dict.fromkeys(
        (
            "ConcatFromSequence",
            "Optional",
            "OptionalGetElement",
            "OptionalHasElement",
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SplitToSequence",
        ),
        _NO_TENSOR,
    ),
}


def names() -> list[str]:
    """The operators that are here."""
    return [n for n in schema.operator_names() if n not in EXCLUDED]


def __dir__() -> list[str]:
    return names()


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise MissingNameError("tfx.raw", name)
    if name in EXCLUDED:
        raise AttributeError(f"ONNX operator {name!r} is not in tfx.raw: {EXCLUDED[name]}.")
    try:
        operator = schema.operator(name)
    except LookupError as e:
        raise AttributeError(f"module 'tfx.raw' has no attribute {name!r}: {e}") from None
    # Tensors need their arithmetic operators.
    importlib.import_module("tfx.ops.common.operator_overloads")
    function = cover(_wrapper(operator))
    globals()[name] = function
    return function


def _wrapper(operator: schema.Operator) -> Callable[..., Any]:
    kinds = [p.type_str for p in operator.schema.inputs]

    def call(*inputs: Any, n_outputs: int | None = None, **attributes: Any) -> Any:
        attrs = {k: v for k, v in attributes.items() if v is not None}
        schema.check_attributes(operator, attrs)
        given = _tensors(operator.name, kinds, inputs)
        results = apply_n(operator.name, given, attrs, n_outputs)
        return results[0] if len(results) == 1 else results

    call.__name__ = call.__qualname__ = operator.name
    call.__module__ = "tfx.raw"
    call.__doc__ = _documentation(operator)
    return call


def _tensors(op: str, kinds: list[str], inputs: tuple[Any, ...]) -> list[Tensor | None]:
    """Inputs as tensors: Python values follow the dtype of tensors of the same type variable."""
    variables = kinds[: len(inputs)] + kinds[-1:] * (len(inputs) - len(kinds))
    known: dict[str, dtypes.DType] = {}
    for variable, value in zip(variables, inputs, strict=True):
        if hasattr(value, "dtype") and variable not in known:
            known[variable] = dtypes.as_dtype(value.dtype)
    tensors: list[Tensor | None] = []
    for variable, value in zip(variables, inputs, strict=True):
        if value is None:
            tensors.append(None)
            continue
        fixed = _fixed_dtype(variable)
        hint = fixed or known.get(variable)
        tensor = convert_to_tensor(value, dtype_hint=hint)
        if hint is not None and tensor.dtype is not hint:
            raise DTypeMismatchError(
                f"{op}: input {len(tensors)} is {tensor.dtype.name}, expected {hint.name} like the "
                f"other inputs of type {variable}; use tfx.cast.",
                op=op,
            )
        known.setdefault(variable, tensor.dtype)
        tensors.append(tensor)
    return tensors


def _fixed_dtype(variable: str) -> dtypes.DType | None:
    """The dtype of a parameter of type ``tensor(int64)`` and the like."""
    if not variable.startswith("tensor("):
        return None
    name = variable[len("tensor(") : -1]
    return dtypes.as_dtype({"float": "float32", "double": "float64"}.get(name, name))


def _documentation(operator: schema.Operator) -> str:
    inputs = ", ".join(operator.inputs) or "none"
    attributes = ", ".join(
        f"{name}{'' if required else f'={default!r}'}"
        for name, (_, required, default) in operator.attributes.items()
    )
    return (
        f"ONNX operator {operator.name} (opset {operator.opset}).\n\nInputs: {inputs}.\n"
        f"Attributes: {attributes or 'none'}.\nOutputs: {', '.join(operator.outputs)}.\n"
    )
