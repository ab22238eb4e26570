"""``CallSignature``: how a concrete function's arguments map to its graph's tensor inputs."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import dtypes, nest
from tfx.core.dims import is_automatic_dim
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError, ShapeMismatchError
from tfx.core.nest_kinds import expanded_kind_of, in_order_of
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.trace_key import leaf_names


class Weak:
    """Stands in a trace's signature for an object that the trace must not keep alive."""

    __slots__ = ("kind", "ref")

    ref: Callable[[], Any]

    def __init__(self, target: Any) -> None:
        self.ref = weakref.ref(target)
        self.kind = type(target).__name__

    def __repr__(self) -> str:
        return f"<{self.kind} object that is gone>"


class _WeakMethod(Weak):
    """The same for a method of an object, which is a new object each time it is looked up."""

    __slots__ = ()

    def __init__(self, method: Any) -> None:
        owner, function = weakref.ref(method.__self__), method.__func__

        def again() -> Any:
            instance = owner()
            return None if instance is None else function.__get__(instance)

        self.ref = again
        self.kind = type(method.__self__).__name__


def _weakly(leaf: Any, owners: Sequence[Any]) -> Any:
    if any(leaf is owner for owner in owners):
        return Weak(leaf)
    is_method = type(leaf) is types.MethodType or getattr(type(leaf), "_tfx_is_method", False)
    if is_method and any(leaf.__self__ is owner for owner in owners):
        return _WeakMethod(leaf)
    return leaf


def _strongly(leaf: Any) -> Any:
    """The object that a ``Weak`` stands for; the ``Weak`` itself if it is gone."""
    if not isinstance(leaf, Weak):
        return leaf
    target = leaf.ref()
    return leaf if target is None else target


class CallSignature:
    """The arguments that one trace takes.

    Args:
        parameters: Parameters of the Python function.
        values: One value for each parameter, tensors replaced by specs.
        owners: The objects among the leaves that must not be kept alive.

    Attributes:
        specs: The specs among the leaves, in order.
        names: Their names: the parameter, then keys and positions.
        has_names: Whether the user named a dimension in some spec.
    """

    __slots__ = ("_leading", "_values", "has_names", "names", "parameters", "specs")

    def __init__(
        self, parameters: Parameters, values: Sequence[Any], owners: Sequence[Any] = ()
    ) -> None:
        self.parameters = parameters
        leaves = nest.flatten(list(values), expand_composites=True)
        named = zip(
            leaf_names(parameters.names, values, parameters.var_keyword), leaves, strict=True
        )
        pairs = [(n, leaf) for n, leaf in named if isinstance(leaf, TensorSpec)]
        self.names = [n for n, _ in pairs]
        self.specs = [spec for _, spec in pairs]
        self.has_names = has_named_dims(self.specs)
        if owners:
            values = [_map(lambda leaf: _weakly(leaf, owners), v) for v in values]
        self._values = tuple(values)
        # How many parameters at the front are plain tensors.
        plain = [isinstance(v, TensorSpec) for v in values]
        self._leading = [*plain, False].index(False)

    @property
    def values(self) -> tuple[Any, ...]:
        """One value for each parameter, tensors replaced by specs."""
        return tuple(_map(_strongly, v) for v in self._values)

    @property
    def structured(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` with named specs in place of tensors."""
        specs = zip(self.specs, self.names, strict=True)
        return self.with_leaves([TensorSpec(s.shape, s.dtype, s.name or n) for s, n in specs])

    def with_leaves(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` with the given objects in place of the tensors, in order."""
        rest = iter(leaves)
        values = [
            _map(lambda x: next(rest) if isinstance(x, TensorSpec) else x, v) for v in self.values
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
        flat = self._by_flat_name(args, kwargs)
        if flat is not None:
            tensors = [
                check_tensor(function, n, spec, x)
                for n, spec, x in zip(self.names, self.specs, flat, strict=True)
            ]
            if self.has_names:
                check_names(function, self.names, self.specs, tensors)
            return tensors
        given = self.parameters.bind_some(function, args, kwargs)
        tensors = []
        for name, expected in zip(self.parameters.names, self.values, strict=True):
            default = self.parameters.signature.parameters[name].default
            if name in given:
                _collect(function, name, expected, given[name], tensors)
            elif isinstance(default, Tensor):
                _collect(function, name, expected, default, tensors)
            elif any(isinstance(leaf, TensorSpec) for leaf in nest.flatten(expected, True)):
                raise TypeError(f"{function}() missing required argument {name!r}: {expected}.")
        if self.has_names:
            check_names(function, self.names, self.specs, tensors)
        return tensors

    def _by_flat_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """A call with one value for each tensor: by position, or by names of specs or of leaves.

        Returns:
            The values in order; None: the call is spelled as the Python function's calls are.
        """
        if not kwargs:
            return list(args) if self._is_flat(args) else None
        known = self.parameters.signature.parameters
        if self.parameters.var_keyword is not None or all(k in known for k in kwargs):
            return None
        names = [spec.name or n for spec, n in zip(self.specs, self.names, strict=True)]
        rest = names[len(args) :]
        if len(args) > len(names) or set(rest) != set(kwargs) or len(set(rest)) != len(rest):
            return None
        return [*args, *(kwargs[n] for n in rest)]

    def _is_flat(self, args: tuple[Any, ...]) -> bool:
        """True if arguments are one tensor for each spec where the function takes something else.

        What it takes may be a structure of tensors, or a Python value between two tensors.
        """
        if len(args) != len(self.specs) or len(args) <= self._leading:
            return False
        return all(isinstance(x, Tensor) for x in args)

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
    parts = paired(expected, value)
    if parts is not None:
        for key, want, have in parts:
            _collect(function, f"{argument}[{key!r}]", want, have, tensors)
    elif expanded_kind_of(expected) is not None:
        raise TypeError(
            f"{function}(): argument {argument!r} does not have the structure that was traced: "
            f"expected {expected!r}, got {value!r}."
        )
    elif value is not expected and not _equal(value, expected):
        raise TypeError(
            f"{function}(): argument {argument!r} is fixed to {expected!r} by the trace; got "
            f"{value!r}. Call the function itself to trace the new value."
        )


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    return nest.map_structure(function, value, expand_composites=True)


def paired(expected: Any, value: Any) -> list[tuple[Any, Any, Any]] | None:
    """``(key, expected part, part)`` of two structures; None if they are not alike."""
    if hasattr(expected, "_tfx_fitted"):
        value = expected._tfx_fitted(value)
    wanted, given = expanded_kind_of(expected), expanded_kind_of(value)
    if wanted is None or given is None:
        return None
    keys = wanted.keys(expected)
    parts = in_order_of(keys, given.keys(value), given.values(value))
    return None if parts is None else list(zip(keys, wanted.values(expected), parts, strict=True))


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and not isinstance(a, Tensor | Variable) and bool(a == b)


def check_tensor(function: str, argument: str, spec: TensorSpec, value: Any) -> Any:
    """A value as a tensor that fits a spec; a spec that fits it as it is.

    Raises:
        TypeError: not convertible to a tensor.
        DTypeMismatchError: another dtype.
        ShapeMismatchError: an incompatible shape.
    """
    if not isinstance(value, Tensor | TensorSpec):
        try:
            value = convert_to_tensor(value, dtype_hint=spec.dtype)
        except (TypeError, ValueError, NotImplementedError) as e:
            raise TypeError(
                f"{function}(): argument {argument!r} expected {spec.dtype.name} of shape "
                f"{spec.shape}, got {value!r}: {e}"
            ) from e
    if value.dtype is not spec.dtype:
        castable = dtypes.string not in (value.dtype, spec.dtype)
        raise DTypeMismatchError(
            f"{function}(): argument {argument!r} expected {spec.dtype.name} of shape "
            f"{spec.shape}, got {value.dtype.name} of shape {value.shape}"
            + (f"; convert it with tfx.cast{_nearest(spec, value.shape)}." if castable else ".")
        )
    return check_shape(function, argument, spec, value)


def check_shape(function: str, argument: str, spec: TensorSpec, value: Any) -> Any:
    """A tensor or spec, whose shape must fit a spec.

    Raises:
        ShapeMismatchError: it does not.
    """
    if not spec.shape.is_compatible_with(value.shape):
        raise ShapeMismatchError(
            f"{function}(): argument {argument!r} expected shape {spec.shape}, got {value.shape}"
            f"{_nearest(spec, value.shape)}."
        )
    return value


def _nearest(spec: TensorSpec, given: TensorShape) -> str:
    """The shape that fits and is nearest to a given one, for messages."""
    wanted = spec.shape.as_list() if spec.shape.rank is not None else None
    if wanted is None or given.rank is None:
        return ""
    have: list[int | None] = given.as_list()[-len(wanted) :] if wanted else []
    have = [*[None] * (len(wanted) - len(have)), *have]
    dims = [h if w is None else w for w, h in zip(wanted, have, strict=True)]
    filled = tuple(1 if d is None else d for d in dims)
    return f" (the nearest that fits: {spec.dtype.name} of shape {filled})"


def has_named_dims(specs: Sequence[TensorSpec]) -> bool:
    """True if some dimension has a name that the user gave."""
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
