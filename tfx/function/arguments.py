"""``CallSignature``: how a concrete function's arguments map to its graph's tensor inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes, nest
from tfx.core.dims import is_automatic_dim
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError, ShapeMismatchError
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
        has_names: Whether the user named a dimension in some spec.
    """

    __slots__ = ("has_names", "names", "parameters", "specs", "values")

    def __init__(self, parameters: Parameters, values: Sequence[Any]) -> None:
        self.parameters = parameters
        self.values = tuple(values)
        leaves = nest.flatten(list(self.values))
        named = zip(leaf_names(parameters.names, self.values), leaves, strict=True)
        pairs = [(n, leaf) for n, leaf in named if isinstance(leaf, TensorSpec)]
        self.names = [n for n, _ in pairs]
        self.specs = [spec for _, spec in pairs]
        self.has_names = has_named_dims(self.specs)

    @property
    def structured(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` with named specs in place of tensors."""
        specs = zip(self.specs, self.names, strict=True)
        return self.with_leaves([TensorSpec(s.shape, s.dtype, s.name or n) for s, n in specs])

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
        given = self.parameters.bind_some(function, args, kwargs)
        tensors: list[Tensor] = []
        for name, expected in zip(self.parameters.names, self.values, strict=True):
            default = self.parameters.signature.parameters[name].default
            if name in given:
                _collect(function, name, expected, given[name], tensors)
            elif isinstance(default, Tensor):
                _collect(function, name, expected, default, tensors)
            elif any(isinstance(leaf, TensorSpec) for leaf in nest.flatten(expected)):
                raise TypeError(f"{function}() missing required argument {name!r}: {expected}.")
        if self.has_names:
            check_names(function, self.names, self.specs, tensors)
        return tensors

    def __repr__(self) -> str:
        args, kwargs = self.structured
        parts = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
        return f"({', '.join(parts)})"


def _collect(
    function: str, argument: str, expected: Any, value: Any, tensors: list[Tensor]
) -> None:
    """Append the tensors of one argument; refuse what the trace was not made for."""
    if isinstance(expected, TensorSpec):
        tensors.append(check_tensor(function, argument, expected, value))
        return
    parts = _paired(expected, value)
    if parts is not None:
        for key, want, have in parts:
            _collect(function, f"{argument}[{key!r}]", want, have, tensors)
    elif kind_of(expected) is not None:
        raise TypeError(
            f"{function}(): argument {argument!r} does not have the structure that was traced: "
            f"expected {expected!r}, got {value!r}."
        )
    elif value is not expected and not _equal(value, expected):
        raise TypeError(
            f"{function}(): argument {argument!r} is fixed to {expected!r} by the trace; got "
            f"{value!r}. Call the function itself to trace the new value."
        )


def _paired(expected: Any, value: Any) -> list[tuple[Any, Any, Any]] | None:
    """``(key, expected part, part)`` of two structures; None if they are not alike."""
    wanted, given = kind_of(expected), kind_of(value)
    if wanted is None or given is None or wanted.keys(expected) != given.keys(value):
        return None
    parts = zip(wanted.keys(expected), wanted.values(expected), given.values(value), strict=True)
    return list(parts)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and not isinstance(a, Tensor | Variable) and bool(a == b)


def check_tensor(function: str, argument: str, spec: TensorSpec, value: Any) -> Tensor:
    """A value as a tensor that fits a spec.

    Raises:
        TypeError: not convertible to a tensor.
        DTypeMismatchError: another dtype.
        ShapeMismatchError: an incompatible shape.
    """
    if not isinstance(value, Tensor):
        try:
            value = convert_to_tensor(value, dtype_hint=spec.dtype)
        except (TypeError, ValueError, NotImplementedError) as e:
            raise TypeError(
                f"{function}(): argument {argument!r} expected {spec.dtype.name} of shape "
                f"{spec.shape}, got {value!r}: {e}"
            ) from e
    tensor: Tensor = value
    if tensor.dtype is not spec.dtype:
        castable = dtypes.string not in (tensor.dtype, spec.dtype)
        raise DTypeMismatchError(
            f"{function}(): argument {argument!r} expected {spec.dtype.name} of shape "
            f"{spec.shape}, got {tensor.dtype.name} of shape {tensor.shape}"
            f"{'; convert it with tfx.cast' if castable else ''}."
        )
    if not spec.shape.is_compatible_with(tensor.shape):
        raise ShapeMismatchError(
            f"{function}(): argument {argument!r} expected shape {spec.shape}, got {tensor.shape}."
        )
    return tensor


def has_named_dims(specs: Sequence[TensorSpec]) -> bool:
    """Whether some dimension has a name that the user gave."""
    return any(
        isinstance(d, str) and not is_automatic_dim(d)
        for spec in specs
        for d in spec.shape.symbolic or ()
    )


def check_names(
    function: str, names: Sequence[str], specs: Sequence[TensorSpec], tensors: Sequence[Any]
) -> None:
    """Refuse arguments in which one named dimension has two sizes.

    Raises:
        InvalidArgumentError: naming the dimension and both arguments.
    """
    sizes: dict[str, tuple[int, str]] = {}
    for argument, spec, tensor in zip(names, specs, tensors, strict=True):
        dims = spec.shape.symbolic or ()
        for dim, size in zip(dims, tensor.shape.symbolic or dims, strict=True):
            if isinstance(dim, str) and isinstance(size, int) and not is_automatic_dim(dim):
                known, other = sizes.setdefault(dim, (size, argument))
                if known != size:
                    raise InvalidArgumentError(
                        f"{function}(): the dimension {dim!r} is {known} in argument {other!r} "
                        f"and {size} in argument {argument!r}; expected one size."
                    )


def fit(function: str, argument: str, spec: Any, value: Any) -> Any:
    """A value with tensors that fit a structure of specs; lists and tuples are interchangeable.

    Raises:
        TypeError: another structure.
        InvalidArgumentError: a tensor that does not fit its spec.
    """
    if isinstance(spec, TensorSpec):
        given = isinstance(value, TensorSpec)
        return value if given else check_tensor(function, argument, spec, value)
    parts = _paired(spec, value)
    if parts is None:
        raise TypeError(
            f"{function}(): argument {argument!r} does not have the structure of the input "
            f"signature: expected {spec!r}, got {value!r}."
        )
    fitted = [fit(function, f"{argument}[{key!r}]", want, have) for key, want, have in parts]
    kind = kind_of(spec)
    assert kind is not None
    return kind.build(spec, fitted)
