"""``FunctionType``: the signature of a function whose annotations are the types of tensors."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfx.core import nest
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.framework.variable import Variable
from tfx.function.tracing.call_signature import Weak

if TYPE_CHECKING:
    from tfx.function.execution.concrete_function import ConcreteFunction

_Kind = inspect.Parameter
# What each of several arguments of a parameter is, as a parameter of its own.
_SINGLE = {
    _Kind.VAR_POSITIONAL: _Kind.POSITIONAL_ONLY,
    _Kind.VAR_KEYWORD: _Kind.KEYWORD_ONLY,
}


class _DefaultValue:
    """Stands for a default in signatures: it may be a large object."""

    def __repr__(self) -> str:
        return "<captured_default_value>"


CAPTURED_DEFAULT_VALUE = _DefaultValue()


@dataclass(frozen=True)
class ValueType:
    """The type of an argument or result that is not one tensor: a structure, or a Python value.

    Attributes:
        text: What it is shown as; equal types have the same.
        value: The argument, tensors replaced by specs.
    """

    text: str
    value: Any = field(compare=False)

    def __repr__(self) -> str:
        return self.text


class TypedParameter(inspect.Parameter):
    """A parameter of a ``FunctionType``.

    Attributes:
        type_constraint: A spec, or the type of a Python value; None: anything.
        optional: Whether there is a default.
    """

    __slots__ = ()

    def __init__(
        self, name: str, kind: Any, optional: bool = False, type_constraint: Any = None
    ) -> None:
        super().__init__(
            name,
            kind,
            default=CAPTURED_DEFAULT_VALUE if optional else inspect.Parameter.empty,
            annotation=inspect.Parameter.empty if type_constraint is None else type_constraint,
        )

    @property
    def optional(self) -> bool:
        """Whether there is a default."""
        return self.default is not inspect.Parameter.empty

    @property
    def type_constraint(self) -> Any:
        """The type, None if everything is taken."""
        return None if self.annotation is inspect.Parameter.empty else self.annotation

    def __repr__(self) -> str:
        return (
            f"Parameter(name={self.name}, kind={self.kind.name}, optional={self.optional!r}, "
            f"type_constraint={self.type_constraint!r})"
        )


class FunctionType(inspect.Signature):
    """The parameters of a function, what it captures and what it returns, with types.

    Args:
        parameters: ``TypedParameter`` objects.
        captures: Specs of what it captures, by id.
        return_annotation: The type of the result.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: x + 1.0)
        >>> concrete = f.get_concrete_function(tf.TensorSpec([2]))
        >>> concrete.function_type.parameters["x"].type_constraint
        TensorSpec(shape=(2,), dtype=tf.float32, name=None)
        >>> concrete.function_type.output
        TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """

    # Written out, for Signature has slots.
    __slots__ = ("_captures", "_results")

    def __init__(
        self,
        parameters: Sequence[inspect.Parameter] | None = None,
        captures: Mapping[Any, Any] | None = None,
        return_annotation: Any = inspect.Signature.empty,
        **options: Any,
    ) -> None:
        super().__init__(parameters, return_annotation=return_annotation, **options)
        self._captures = OrderedDict(captures or {})

    @property
    def output(self) -> Any:
        """The type of the result; None where it is not known, before a trace."""
        known = self.return_annotation
        return None if known is inspect.Signature.empty else known

    @property
    def captures(self) -> OrderedDict[Any, Any]:
        """Specs of captured tensors and variables, by an id of each."""
        return self._captures

    @property
    def flat_captures(self) -> list[Any]:
        """The specs of ``captures``."""
        return list(self._captures.values())

    @property
    def flat_inputs(self) -> list[Any]:
        """The specs of all tensors among the arguments, in order."""
        return [
            spec
            for p in self.parameters.values()
            if p.annotation is not inspect.Parameter.empty
            for spec in _specs_in(p.annotation)
        ]

    @property
    def flat_outputs(self) -> list[Any]:
        """The specs of all tensors in the result, in order."""
        return [] if self.output is None else list(_specs_in(self.output))

    def __repr__(self) -> str:
        lines = ["Input Parameters:"]
        lines += [
            f"  {p.name} ({p.kind.name}): "
            + ("Any" if p.annotation is inspect.Parameter.empty else repr(p.annotation))
            for p in self.parameters.values()
        ]
        if len(lines) == 1:
            lines.append("  None")
        lines += ["Output Type:", f"  {self.output!r}", "Captures:"]
        captured = [f"  {key}: {spec!r}" for key, spec in self._captures.items()]
        return "\n".join(lines + (captured or ["  None"]))


def of_trace(concrete: ConcreteFunction) -> FunctionType:
    """The type of a concrete function: each of its arguments has a parameter of its own."""
    parameters = concrete.signature.parameters
    known = parameters.signature.parameters
    found = [
        TypedParameter(name, kind, False, type_of(value))
        for name, kind, value in _each(known, parameters.names, concrete.signature.values)
    ]
    captures = {x.name: _bare(x) for x in concrete.captured_inputs}
    return FunctionType(found, captures, type_of(concrete.structured_outputs))


def of_python(signature: inspect.Signature, specs: Sequence[Any] = ()) -> FunctionType:
    """The type of a function that is not traced yet.

    Args:
        signature: Of the Python function.
        specs: What an input signature says of its first parameters.
    """
    constraints = [type_of(spec) for spec in specs]
    known = list(signature.parameters.values())
    constraints += [None] * (len(known) - len(constraints))
    return FunctionType(
        [
            TypedParameter(p.name, p.kind, p.default is not p.empty, constraint)
            for p, constraint in zip(known, constraints, strict=False)
        ]
    )


def _each(
    known: Mapping[str, inspect.Parameter], names: Sequence[str], values: Sequence[Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Name, kind and value of each argument; those of ``*args`` and ``**kwargs`` one by one.

    What stands in front of ``*args`` can be given by its position alone, as there may be more.
    """
    open_ended = any(p.kind is _Kind.VAR_POSITIONAL for p in known.values())
    for name, value in zip(names, values, strict=True):
        kind = known[name].kind
        apart = {}
        if kind is _Kind.VAR_POSITIONAL:
            apart = {f"{name}_{i}": x for i, x in enumerate(value)}
        elif kind is _Kind.VAR_KEYWORD:
            apart = dict(value)
        if kind in _SINGLE and all(key.isidentifier() and key not in known for key in apart):
            for key, x in apart.items():
                yield key, _SINGLE[kind], x
        elif kind is _Kind.POSITIONAL_OR_KEYWORD and open_ended:
            yield name, _Kind.POSITIONAL_ONLY, value
        else:
            yield name, kind, value


def type_of(value: Any) -> Any:
    """The type of an argument or result, tensors of which are replaced by specs."""
    if isinstance(value, TensorSpec):
        return _bare(value)
    return value if isinstance(value, TypeSpec) else ValueType(type_text(value), value)


def _bare(x: Any) -> TensorSpec:
    return TensorSpec(TensorShape(x.shape), x.dtype)


def _specs_in(kind: Any) -> list[Any]:
    value = kind.value if isinstance(kind, ValueType) else kind
    return [_bare(x) for x in nest.flatten(value, expand_composites=True) if _is_tensor(x)]


def _is_tensor(x: Any) -> bool:
    return isinstance(x, TensorSpec)


def type_text(value: Any) -> str:
    """The type of an argument or result: tensors by their specs, Python values by themselves."""
    if isinstance(value, TensorSpec):
        return repr(_bare(value))
    if isinstance(value, TypeSpec):
        return repr(value)
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
