"""A trace as text: its parameters with types, what it returns, what it captures."""

from __future__ import annotations

from inspect import Parameter
from typing import TYPE_CHECKING, Any

from tfx.core.specs import TensorSpec
from tfx.framework.variable import Variable
from tfx.function.tracing.call_signature import Weak

if TYPE_CHECKING:
    from tfx.function.execution.concrete_function import ConcreteFunction

_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


def describe(concrete: ConcreteFunction) -> str:
    """The signature of a concrete function, one line for each parameter and capture."""
    parameters = concrete.signature.parameters
    lines = ["Input Parameters:"]
    for name, value in zip(parameters.names, concrete.signature.values, strict=True):
        kind = parameters.signature.parameters[name].kind.name
        lines.append(f"  {name} ({kind}): {type_text(value)}")
    if len(lines) == 1:
        lines.append("  None")
    lines += ["Output Type:", f"  {type_text(concrete.structured_outputs)}", "Captures:"]
    captured = [f"  {x.name}: {_spec_text(x)}" for x in concrete.captured_inputs]
    return "\n".join(lines + (captured or ["  None"]))


def describe_line(concrete: ConcreteFunction) -> str:
    """The parameters and the result of a concrete function as Python would write them."""
    parameters = concrete.signature.parameters
    texts: list[str] = []
    named_only = False
    for name, value in zip(parameters.names, concrete.signature.values, strict=True):
        kind = parameters.signature.parameters[name].kind
        if kind is Parameter.KEYWORD_ONLY and not named_only:
            texts.append("*")
        named_only = named_only or kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL)
        texts.append(f"{_STARS.get(kind.name, '')}{name}: {type_text(value)}")
    return f"({', '.join(texts)}) -> {type_text(concrete.structured_outputs)}"


def type_text(value: Any) -> str:
    """The type of an argument or result: tensors by their specs, Python values by themselves."""
    if isinstance(value, TensorSpec):
        return _spec_text(value)
    if isinstance(value, Variable):
        return f"VariableSpec(shape={value.shape}, dtype={value.dtype!r})"
    if isinstance(value, dict):
        return f"Dict[{', '.join(f'[{k!r}, {type_text(v)}]' for k, v in value.items())}]"
    if isinstance(value, list):
        return f"List[{', '.join(map(type_text, value))}]"
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is None:
            return f"Tuple[{', '.join(map(type_text, value))}]"
        named = [f"[{f!r}, {type_text(v)}]" for f, v in zip(fields, value, strict=True)]
        return f"{type(value).__name__}[{', '.join(named)}]"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"Literal[{value!r}]"
    return repr(value) if isinstance(value, Weak) else f"<{type(value).__name__}>"


def _spec_text(x: Any) -> str:
    return f"TensorSpec(shape={x.shape}, dtype={x.dtype!r}, name=None)"
