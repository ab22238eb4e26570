"""``CallSignature``: how a concrete function's arguments map to its graph's tensor inputs."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from tfx.core import nest
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.nest_kinds import kind_of
from tfx.core.specs import TensorSpec
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.signature import Parameters, leaf_names

_MISSING = object()


class CallSignature:
    """The arguments that one trace takes.

    Args:
        parameters: Parameters of the Python function.
        values: One value for each parameter, tensors replaced by specs.

    Attributes:
        specs: The specs among the leaves, in order.
        names: Their names: the parameter, then keys and positions.
    """

    __slots__ = ("names", "parameters", "specs", "values")

    def __init__(self, parameters: Parameters, values: Sequence[Any]) -> None:
        self.parameters = parameters
        self.values = tuple(values)
        leaves = nest.flatten(list(self.values))
        named = zip(leaf_names(parameters.names, self.values), leaves, strict=True)
        pairs = [(n, leaf) for n, leaf in named if isinstance(leaf, TensorSpec)]
        self.names = [n for n, _ in pairs]
        self.specs = [spec for _, spec in pairs]

    @property
    def structured(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` with named specs in place of tensors."""
        specs = zip(self.specs, self.names, strict=True)
        return self.with_leaves([TensorSpec(s.shape, s.dtype, n) for s, n in specs])

    def with_leaves(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` with the given objects in place of the tensors, in order."""
        rest = iter(leaves)
        values = [
            nest.map_structure(lambda x: next(rest) if isinstance(x, TensorSpec) else x, v)
            for v in self.values
        ]
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, value in zip(self.parameters.names, values, strict=True):
            if name == self.parameters.var_positional:
                args.extend(value)
            elif name == self.parameters.var_keyword:
                kwargs.update(value)
            elif self.parameters.signature.parameters[name].kind.name == "KEYWORD_ONLY":
                kwargs[name] = value
            else:
                args.append(value)
        return tuple(args), kwargs

    def tensors_of(
        self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Tensor]:
        """The tensor arguments of a call in the graph's order.

        Python arguments are fixed by the trace: they may be left out or repeated.

        Raises:
            TypeError: missing, extra or unknown arguments; another value for a Python argument.
            InvalidArgumentError: a tensor that does not fit.
        """
        given = self._given(function, args, kwargs)
        tensors: list[Tensor] = []
        names = iter(self.names)
        for name, expected, value in zip(self.parameters.names, self.values, given, strict=True):
            wanted = nest.flatten(expected)
            if value is _MISSING:
                if any(isinstance(w, TensorSpec) for w in wanted):
                    raise TypeError(f"{function}() missing required argument {name!r}: {expected}.")
                continue
            leaves = nest.flatten(value)
            if len(leaves) != len(wanted):
                raise TypeError(
                    f"{function}(): argument {name!r} has {len(leaves)} leaves, expected the "
                    f"structure {expected!r}."
                )
            for want, leaf in zip(wanted, leaves, strict=True):
                if isinstance(want, TensorSpec):
                    tensors.append(check_tensor(function, next(names), want, leaf))
                elif leaf is not want and not _equal(leaf, want):
                    raise TypeError(
                        f"{function}(): argument {name!r} is fixed to {want!r} by the trace; got "
                        f"{leaf!r}. Call the function itself to trace the new value."
                    )
        return tensors

    def _given(self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = self.parameters.names
        values: dict[str, Any] = {}
        positional = [n for n in names if n != self.parameters.var_keyword]
        variadic = self.parameters.var_positional
        for i, value in enumerate(args):
            if variadic is not None and i >= positional.index(variadic):
                values[variadic] = tuple(args[positional.index(variadic):])
                break
            if i >= len(positional):
                raise TypeError(
                    f"{function}() takes {len(positional)} positional arguments, got {len(args)}."
                )
            values[positional[i]] = value
        extra: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in values:
                raise TypeError(f"{function}() got multiple values for argument {name!r}.")
            if name in names:
                values[name] = value
            elif self.parameters.var_keyword is not None:
                extra[name] = value
            else:
                close = difflib.get_close_matches(name, names, 1)
                hint = f"; did you mean {close[0]!r}?" if close else f"; it takes {names}."
                raise TypeError(f"{function}() got an unexpected argument {name!r}{hint}")
        if self.parameters.var_keyword is not None and extra:
            values[self.parameters.var_keyword] = extra
        return [values.get(n, _MISSING) for n in names]

    def __repr__(self) -> str:
        args, kwargs = self.structured
        parts = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
        return f"({', '.join(parts)})"


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and not isinstance(a, Tensor | Variable) and bool(a == b)


def check_tensor(function: str, argument: str, spec: TensorSpec, value: Any) -> Tensor:
    """A value as a tensor that fits a spec.

    Raises:
        DTypeMismatchError: another dtype.
        InvalidArgumentError: an incompatible shape.
    """
    if not isinstance(value, Tensor):
        value = convert_to_tensor(value, dtype_hint=spec.dtype)
    tensor: Tensor = value
    if tensor.dtype is not spec.dtype:
        raise DTypeMismatchError(
            f"{function}(): argument {argument!r} expected {spec.dtype.name} of shape {spec.shape}, "
            f"got {tensor.dtype.name} of shape {tensor.shape}; convert it with tfx.cast."
        )
    if not spec.shape.is_compatible_with(tensor.shape):
        raise InvalidArgumentError(
            f"{function}(): argument {argument!r} expected shape {spec.shape}, got {tensor.shape}."
        )
    return tensor


def fit(function: str, argument: str, spec: Any, value: Any) -> Any:
    """A value with tensors that fit a structure of specs; lists and tuples are interchangeable.

    Raises:
        TypeError: another structure.
        InvalidArgumentError: a tensor that does not fit its spec.
    """
    if isinstance(spec, TensorSpec):
        return value if isinstance(value, TensorSpec) else check_tensor(
            function, argument, spec, value
        )
    wanted, given = kind_of(spec), kind_of(value)
    if wanted is None or given is None or wanted.keys(spec) != given.keys(value):
        raise TypeError(
            f"{function}(): argument {argument!r} does not have the structure of the input "
            f"signature: expected {spec!r}, got {value!r}."
        )
    parts = [
        fit(function, f"{argument}[{k!r}]", s, v)
        for k, s, v in zip(wanted.keys(spec), wanted.values(spec), given.values(value), strict=True)
    ]
    return wanted.build(spec, parts)
