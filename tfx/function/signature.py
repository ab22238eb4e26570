"""Arguments of a call: bound to parameters, taken apart into tensors, turned into a cache key.

The key holds what decides which trace serves: dtype and shape of tensors, the structure around
them, the value of everything else (identity, through a weak reference, of what has no value).
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import nest
from tfx.core.dims import RawShape, format_shape
from tfx.core.nest_kinds import kind_of
from tfx.core.specs import TensorSpec
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.ir import RawDim

_VALUES = frozenset((int, float, bool, str, bytes, type(None), complex))


class Parameters:
    """The parameters of a Python function.

    Attributes:
        names: Parameters that arguments are bound to, in order; ``*args`` and ``**kwargs`` last.
        simple: How many there are if all are plain and positional, else -1: a call with that many
            positional arguments needs no binding.
    """

    __slots__ = ("names", "required", "signature", "simple", "var_keyword", "var_positional")

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError):  # builtins without a signature take anything
            self.signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        self._describe()

    @classmethod
    def from_signature(cls, signature: inspect.Signature) -> Parameters:
        """Parameters that no Python function has (of a loaded one)."""
        parameters = cls.__new__(cls)
        parameters.signature = signature
        parameters._describe()
        return parameters

    def _describe(self) -> None:
        parameters = list(self.signature.parameters.values())
        self.names = [p.name for p in parameters]
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.simple = len(parameters) if all(p.kind in plain for p in parameters) else -1
        self.var_positional = next(
            (p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None
        )
        self.var_keyword = next(
            (p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), None
        )

    def bind(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """One value for each parameter, defaults filled in.

        Raises:
            TypeError: missing, extra or unknown arguments, in Python's words with the nearest name.
        """
        if not kwargs and len(args) == self.simple:
            return args
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{name}{self.signature}: {e}{self._nearest(kwargs)}.") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def bind_some(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The values of the parameters that arguments were given for.

        Raises:
            TypeError: extra or unknown arguments, in Python's words with the nearest name.
        """
        try:
            return dict(self.signature.bind_partial(*args, **kwargs).arguments)
        except TypeError as e:
            raise TypeError(f"{name}{self.signature}: {e}{self._nearest(kwargs)}.") from None

    def assign_specs(self, name: str, specs: Sequence[Any]) -> tuple[Any, ...]:
        """An input signature by parameters: ``*args`` takes what is left over.

        Returns:
            One structure of specs for each parameter, as far as the signature reaches.

        Raises:
            TypeError: too many specs, or none for a parameter without default.
        """
        empty, kinds = inspect.Parameter.empty, inspect.Parameter
        assigned: list[Any] = []
        rest = list(specs)
        for number, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind is kinds.VAR_POSITIONAL:
                if len(assigned) == number:  # no parameter before it is left to its default
                    assigned.append(tuple(rest))
                    rest = []
            elif parameter.kind is kinds.VAR_KEYWORD:
                continue
            elif rest:
                assigned.append(rest.pop(0))
            elif parameter.default is empty:
                raise TypeError(
                    f"{name}{self.signature}: input_signature is missing a type constraint for "
                    f"{parameter.name!r}; got {list(specs)!r}."
                )
        if rest:
            raise TypeError(
                f"{name}{self.signature}: input_signature contains {len(rest)} extra type "
                f"constraints; got {list(specs)!r}."
            )
        return tuple(assigned)

    def call_of(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` of the call that gives the first parameters these values."""
        named: Any = dict(zip(self.names, values, strict=False))
        bound = inspect.BoundArguments(self.signature, named)
        return bound.args, bound.kwargs

    def _nearest(self, kwargs: dict[str, Any]) -> str:
        for given in kwargs:
            if given not in self.names and self.var_keyword is None:
                close = difflib.get_close_matches(given, self.names, 1)
                if close:
                    return f" (got {given!r}; did you mean {close[0]!r}?)"
        return ""

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Call the function with one value for each parameter."""
        if len(values) == self.simple:
            return function(*values)
        args, kwargs = self.call_of(values)
        return function(*args, **kwargs)


class WeakIdentity:
    """A key for an object without a value of its own: equal while it is the same living object."""

    __slots__ = ("_hash", "ref")

    def __init__(self, target: Any) -> None:
        self.ref = weakref.ref(target)
        self._hash = id(target)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdentity):
            return False
        target = self.ref()
        return target is not None and target is other.ref()


class Arguments:
    """The arguments of a call, taken apart.

    Attributes:
        values: One value for each parameter; arrays among them became tensors.
        tensors: The tensor leaves, in order.
        key: Hashable; equal for calls that one trace serves.
        spec: Name of an argument that is a spec and no tensor; None: all have contents.
    """

    __slots__ = ("key", "leaves", "spec", "tensors", "values")

    def __init__(self, values: tuple[Any, ...], names: Sequence[str]) -> None:
        self.tensors: list[Tensor] = []
        self.leaves: list[Any] = []
        self.spec: str | None = None
        key = tuple(
            [
                self._key(v, n if i < len(names) else str(i))
                for i, (v, n) in enumerate(zip(values, names, strict=False))
            ]
        )
        self.key: Any = key
        self.values = values

    def _key(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind is EagerTensor or kind is SymbolicTensor:
            self.leaves.append(value)
            self.tensors.append(value)
            return tensor_key(value)
        if kind in _VALUES:
            self.leaves.append(value)
            # NaN differs from itself and -0.0 equals 0.0: their texts do neither.
            return (kind, value) if value == value and value != 0.0 else (kind, repr(value))
        if isinstance(value, np.ndarray | np.generic) or _is_array(value):
            tensor = _array_argument(value, path)
            self.leaves.append(tensor)
            self.tensors.append(tensor)
            return tensor_key(tensor)
        if isinstance(value, TensorSpec):
            self.spec = path
            self.leaves.append(value)
            return (value.dtype.onnx, spec_shape(value, f"arg{len(self.leaves)}"))
        structure = kind_of(value)
        if structure is not None:
            keys = structure.keys(value)
            parts = tuple(
                [
                    self._key(v, f"{path}_{k}")
                    for k, v in zip(keys, structure.values(value), strict=True)
                ]
            )
            named = tuple(keys) if not isinstance(value, list | tuple) else ()
            return (kind, named, parts)
        self.leaves.append(value)
        return self._object_key(value, path)

    def _object_key(self, value: Any, path: str) -> Any:
        if isinstance(value, Variable):
            return WeakIdentity(value)
        hashing: Any = type(value).__hash__
        if hashing is object.__hash__:
            # Other objects are kept alive by the key, so that their identity stays theirs.
            with contextlib.suppress(TypeError):
                return WeakIdentity(value)
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"Argument {path!r} got {value!r} of type {type(value).__name__}, which is not "
                "hashable: arguments of a tfx.function must be tensors, structures of tensors, or "
                "Python values that can be the key of a dict."
            ) from None
        return (type(value), value)


def _is_array(value: Any) -> bool:
    kind = type(value)
    return (hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")) and not isinstance(
        value, Variable | Tensor
    )


def _array_argument(value: Any, path: str) -> Tensor:
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError, NotImplementedError) as e:
        raise type(e)(f"Argument {path!r} cannot be a tensor: {e}") from e


def tensor_key(tensor: Any) -> tuple[int, Any]:
    """Dtype and shape of a tensor as key."""
    if type(tensor) is EagerTensor:
        return (tensor._dtype.onnx, tuple(tensor._value.shape()))
    return (tensor._value.dtype, tensor._value.shape)


def spec_shape(spec: TensorSpec, name: str) -> RawShape:
    """Raw shape of a spec: unnamed unknown dimensions get automatic ones that begin with ``name``.

    Equal names mean equal sizes: ``name`` must be no other argument's.
    """
    if spec.shape.rank is None:
        return None
    return tuple(
        f"{name}.d{i}" if d is None else d for i, d in enumerate(spec.shape.symbolic or ())
    )


def leaf_names(names: Sequence[str], values: Sequence[Any]) -> list[str]:
    """A name for each leaf: the parameter, then keys and positions joined with ``_``."""
    result = []
    for name, value in zip(names, values, strict=True):
        for path, _ in nest.flatten_with_path(value):
            result.append("_".join([name, *(str(p) for p in path)]))
    return result


def accepts(have: tuple[int, Any], want: tuple[int, Any], sizes: dict[str, RawDim]) -> bool:
    """Whether a tensor key fits a (possibly more general) one.

    Args:
        have: Dtype and shape of an argument.
        want: Dtype and shape that a trace takes.
        sizes: What the trace's dimension names stand for so far; one name must be one size.
    """
    if have[0] != want[0]:
        return False
    if want[1] is None:
        return True
    if have[1] is None or len(have[1]) != len(want[1]):
        return False
    return all(
        w is None or (sizes.setdefault(w, h) if isinstance(w, str) else w) == h
        for h, w in zip(have[1], want[1], strict=True)
    )


def describe_key(dtype_name: str, shape: RawShape) -> str:
    """``float32[None, 8]`` for messages."""
    return f"{dtype_name}{format_shape(shape)}"
