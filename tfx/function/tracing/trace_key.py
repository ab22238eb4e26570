"""The key of a call's arguments, which decides the trace that serves the call.

Owns ``TraceKey``, the arguments of a call taken apart into tensors and a key, and the rules by
which a trace for one key serves calls with another. Of tensors the key holds dtype and shape; of
lists, dicts, named tuples, dataclasses and attrs classes the structure; of everything else the
value, by equality and hash. Objects that have neither go by identity, through a weak reference:
nothing here keeps them alive.

    tensor                  (dtype number, shape)
    structure               (class, keys, parts)
    Python value            (class, value)
    object without a value  WeakIdentity
    method of an object     (class of methods, key of the object, key of the function)
    object with a TraceType (the kind of structures that these are, the type, parts)
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import nest
from tfx.core.dim_names import opaque_dim
from tfx.core.dims import RawShape, format_shape, is_automatic_dim
from tfx.core.nest_kinds import TRACED, Kind, expanded_kind_of
from tfx.core.specs import TensorSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.tracing.trace_types import TraceType, trace_type_of
from tfx.graph.ir import RawDim

VALUES = frozenset((int, float, bool, str, bytes, type(None), complex))


class WeakIdentity:
    """A key for an object without a value of its own: equal while it is the same living object.

    Attributes:
        ref: Weak reference to the object.
        kind: Its class's name, for messages after it is gone.
    """

    __slots__ = ("_hash", "kind", "ref")

    def __init__(self, target: Any) -> None:
        self.ref = weakref.ref(target)
        self.kind = type(target).__name__
        self._hash = id(target)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdentity):
            return False
        target = self.ref()
        return target is not None and target is other.ref()

    def __repr__(self) -> str:
        target = self.ref()
        return f"<{self.kind} object that is gone>" if target is None else _shown(target)


def _shown(value: Any) -> str:
    if isinstance(value, Variable):
        return f"<tf.Variable '{value.name}'>"
    name = getattr(value, "__qualname__", None)
    return f"<{type(value).__name__}{f' {name}' if name else ''} at {id(value):#x}>"


class TraceKey:
    """The arguments of a call, taken apart.

    Args:
        values: One value for each parameter.
        names: The parameters' names.

    Attributes:
        values: The values as given.
        leaves: The leaves of the structures, in order; arrays among them became tensors.
        tensors: The tensor leaves, in order.
        key: Hashable; equal for calls that one trace serves.
        spec: Name of an argument that is a spec and no tensor; None: all have contents.
        spec_names: The names that specs among the leaves were given.
        owners: The objects that the key knows by identity.

    Raises:
        TypeError: an argument that cannot be a part of a key, by name.
        ValueError: an argument that contains itself.
    """

    __slots__ = ("key", "leaves", "owners", "spec", "spec_names", "tensors", "values")

    def __init__(self, values: tuple[Any, ...], names: Sequence[str]) -> None:
        self.tensors: list[Tensor] = []
        self.leaves: list[Any] = []
        self.owners: list[Any] = []
        self.spec: str | None = None
        self.spec_names: tuple[str | None, ...] = ()
        self.key: Any = tuple(
            [self._argument_key(v, n) for v, n in zip(values, names, strict=False)]
        )
        self.values = values

    def _argument_key(self, value: Any, name: str) -> Any:
        try:
            return self._key(value, name)
        except RecursionError:
            if expanded_kind_of(value) is None:
                raise  # the stack was full already
            raise ValueError(
                f"Argument {name!r} of type {type(value).__name__} contains itself, or is nested "
                "too deeply: arguments of a tfx.function must be finite structures."
            ) from None

    def _key(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind is EagerTensor or kind is SymbolicTensor:
            self.leaves.append(value)
            self.tensors.append(value)
            return tensor_key(value)
        if kind in VALUES:
            self.leaves.append(value)
            return value_key(kind, value)
        if isinstance(value, EagerTensor | SymbolicTensor):  # of a subclass
            self.leaves.append(value)
            self.tensors.append(value)
            return tensor_key(value)
        if isinstance(value, np.ndarray | np.generic) or _is_array(value):
            tensor = _array_argument(value, path)
            self.leaves.append(tensor)
            self.tensors.append(tensor)
            return tensor_key(tensor)
        if isinstance(value, TensorSpec):
            return self._spec_key(value, path)
        structure = expanded_kind_of(value)
        if structure is not None:
            return self._structure_key(structure, value, path)
        self.leaves.append(value)
        return self._object_key(value, path)

    def _structure_key(self, structure: Kind, value: Any, path: str) -> Any:
        of_trace = trace_type_of(value) if structure is TRACED else None
        kind = type(value)
        keys = _keys(structure.keys, value, path)
        parts = tuple(
            [
                self._key(v, f"{path}_{k}")
                for k, v in zip(keys, structure.values(value), strict=True)
            ]
        )
        if of_trace is not None:
            return (TRACED, of_trace, parts)
        if structure.beside is not None:
            kind = getattr(kind, "_tfx_value_class", kind)  # of a spec
            return (kind, (*keys, _plain_key(structure.beside(value))), parts)
        return (kind, _named(value, keys), parts)

    def _spec_key(self, spec: TensorSpec, path: str) -> Any:
        self.spec = path
        self.leaves.append(spec)
        self.spec_names += (spec.name,)
        return (spec.dtype.onnx, spec_shape(spec, f"arg{len(self.leaves)}"))

    def _object_key(self, value: Any, path: str) -> Any:
        kind: Any = type(value)
        if isinstance(value, Variable):
            return self._identity(value)
        if kind is types.MethodType or getattr(kind, "_tfx_is_method", False):
            # A new object each time it is looked up, which stands for the two that it is made of.
            try:
                owner: Any = self._identity(value.__self__)
            except TypeError:
                owner = self._object_key(value.__self__, path)
            return (kind, owner, self._object_key(value.__func__, path))
        if kind.__hash__ is object.__hash__ or isinstance(value, type):
            # Where no weak reference can be made, the key keeps the object and its address.
            try:
                return self._identity(value)
            except TypeError:
                return (kind, value)
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"Argument {path!r} got {value!r} of type {kind.__name__}, which is not "
                "hashable: arguments of a tfx.function must be tensors, structures of tensors, or "
                "Python values that can be the key of a dict."
            ) from None
        return (kind, value)

    def _identity(self, value: Any) -> WeakIdentity:
        identity = WeakIdentity(value)
        self.owners.append(value)
        return identity


def value_key(kind: type, value: Any) -> Any:
    """Key of a Python number, text or None: 1, True and 1.0 differ, and so do 0.0 and -0.0."""
    # NaN differs from itself and -0.0 equals 0.0 (in complex numbers too): their texts do neither.
    if (kind is float and (value != value or value == 0.0)) or kind is complex:
        return (kind, repr(value))
    return (kind, value)


def _keys(find: Any, value: Any, path: str) -> list[Any]:
    try:
        found: list[Any] = find(value)
    except TypeError as e:
        raise TypeError(f"Argument {path!r}: {e}") from e
    return found


def _named(value: Any, keys: list[Any]) -> Any:
    """The keys of a structure as part of a trace's key: ``{1: x}`` is not ``{True: x}``."""
    if isinstance(value, list | tuple):
        return ()
    if hasattr(value, "__tf_flatten__"):
        # What such an object has beside its tensors the trace was specialised on.
        return (*keys, _plain_key(value.__tf_flatten__()[0]))
    if all(type(k) is str for k in keys):
        return tuple(keys)
    return tuple((type(k), k) for k in keys)


def _plain_key(value: Any) -> Any:
    """Key of plain data that is not taken apart into leaves."""
    kind = type(value)
    if kind in VALUES:
        return value_key(kind, value)
    if isinstance(value, list | tuple):
        return (kind, tuple(_plain_key(item) for item in value))
    if isinstance(value, dict):
        return (kind, tuple((_plain_key(k), _plain_key(v)) for k, v in value.items()))
    try:
        hash(value)
    except TypeError:
        return (kind, repr(value))
    return (kind, value)


def _is_array(value: Any) -> bool:
    kind = type(value)
    return (hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")) and not isinstance(
        value, Variable | Tensor | IndexedSlices
    )


def _array_argument(value: Any, path: str) -> Tensor:
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError, NotImplementedError) as e:
        raise type(e)(f"Argument {path!r} cannot be a tensor: {e}") from e


def tensor_key(tensor: Any) -> tuple[int, Any]:
    """Dtype and shape of a tensor as key."""
    code = tensor._dtype.onnx if isinstance(tensor, EagerTensor) else tensor._symbol.dtype
    return (code, tensor_shape(tensor))


def tensor_shape(tensor: Any) -> RawShape:
    """Raw shape that an argument has in a trace which may serve other calls too."""
    if isinstance(tensor, EagerTensor):
        return tuple(tensor._raw.shape())
    shape = tensor._symbol.shape
    return shape if shape is None else tuple(map(opaque_dim, shape))


def spec_shape(spec: TensorSpec, name: str) -> RawShape:
    """Raw shape of a spec: unnamed unknown dimensions get automatic ones that begin with ``name``.

    Equal names mean equal sizes: ``name`` must be no other argument's.
    """
    if spec.shape.rank is None:
        return None
    return tuple(
        f"{name}.d{i}" if d is None or is_automatic_dim(d) else d
        for i, d in enumerate(spec.shape.symbolic or ())
    )


def leaf_names(
    names: Sequence[str], values: Sequence[Any], var_keyword: str | None = None
) -> list[str]:
    """A name for each leaf: the parameter, then keys and positions joined with ``_``.

    Args:
        names: The parameters' names.
        values: One structure for each parameter.
        var_keyword: Name of the ``**`` parameter: its arguments go by their own names.
    """
    result = []
    for name, value in zip(names, values, strict=True):
        head = [] if name == var_keyword else [name]
        for path, _ in nest.flatten_with_path(value, expand_composites=True):
            result.append("_".join([*head, *(str(p) for p in path)]))
    return result


def is_tensor_key(key: Any) -> bool:
    """True if a part of a key stands for a tensor."""
    return (
        type(key) is tuple
        and len(key) == 2
        and type(key[0]) is int
        and (key[1] is None or type(key[1]) is tuple)
    )


def key_accepts(have: Any, want: Any, sizes: dict[str, Any]) -> bool:
    """True if a trace made for ``want`` serves a call with key ``have``.

    Args:
        have: Key of the call, or a part of it.
        want: Key of the trace, or the same part.
        sizes: Gets what the trace's dimension names stand for.
    """
    if is_tensor_key(have) and is_tensor_key(want):
        return generalizes(have, want, sizes)
    if type(have) is tuple and type(want) is tuple and len(have) == len(want):
        return all(key_accepts(h, w, sizes) for h, w in zip(have, want, strict=True))
    if isinstance(have, TraceType) and isinstance(want, TraceType):
        return bool(have == want) or have.is_subtype_of(want)
    return type(have) is type(want) and bool(have == want)


def generalizes(have: tuple[int, Any], want: tuple[int, Any], sizes: dict[str, RawDim]) -> bool:
    """True if a tensor key fits a (possibly more general) one.

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


def shapes_of(key: Any) -> list[RawShape]:
    """The shapes of the tensors in a key, in order."""
    if is_tensor_key(key):
        return [key[1]]
    if type(key) is tuple:
        return [shape for part in key for shape in shapes_of(part)]
    return []


def with_shapes(key: Any, shapes: Any) -> Any:
    """A key with other shapes for its tensors.

    Args:
        key: The key, or a part of it.
        shapes: An iterator over the shapes, in order.
    """
    if is_tensor_key(key):
        return (key[0], next(shapes))
    if type(key) is tuple:
        return tuple(with_shapes(k, shapes) for k in key)
    return key


def describe_key(dtype_name: str, shape: RawShape) -> str:
    """``float32[None, 8]`` for messages."""
    return f"{dtype_name}{format_shape(shape)}"
