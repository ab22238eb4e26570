"""``ExtensionType``: classes of tensors and values that functions and tapes take apart."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from tfx.core import nest
from tfx.core.dtypes import DType, as_dtype
from tfx.core.shapes import TensorShape
from tfx.core.signatures import show_signature
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.framework.apply import apply
from tfx.framework.composite import extension_parts
from tfx.framework.composite.extension_type_spec import ExtensionTypeSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.composite.type_specs import type_spec_from_value
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable

_PLAIN = (int, float, bool, str, bytes, type(None), DType, TensorShape)


class ImmutableDict(dict[Any, Any]):
    """A mapping in a field: it cannot be changed."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("The mappings of an ExtensionType cannot be changed; make a new one.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> Any:
        """Copies and pickles are made as a whole, too."""
        return ImmutableDict, (dict(self),)

    def __repr__(self) -> str:
        return f"ImmutableDict({super().__repr__()})"


class ExtensionType:
    """Base of classes whose fields are tensors and values, given as annotations.

    The constructor takes the fields in their order; values for tensors are converted. Objects
    cannot be changed. Functions take and return them, with their tensors as inputs and outputs and
    their other fields as part of what a trace is made for; so do ``cond``, ``while_loop``, tapes
    and ``tf.nest`` with ``expand_composites=True``.

    Fields are annotated with ``tf.Tensor``, ``tf.RaggedTensor``, ``tf.SparseTensor``, a
    ``tf.TensorSpec`` (which values must fit), ``int``, ``float``, ``bool``, ``str``, ``bytes``,
    ``tf.DType`` and ``tf.TensorShape`` (to which values are converted), another extension type or,
    as text, the class itself, ``tuple[...]``, ``Mapping[str, ...]``, ``Optional`` or ``Union``. A
    method ``__validate__`` is called behind the constructor; a class may have an ``__init__`` of
    its own, which assigns the fields. ``Spec`` is the class of their specs, an
    ``ExtensionTypeSpec`` made of specs of the fields; a class ``Spec`` in the body adds to it.

    Raises:
        TypeError: a field of another type, or one that is missing.
        ValueError: a class with fields that it cannot have.
        AttributeError: an object is changed.

    Example:
        >>> import tfx as tf
        >>> class Masked(tf.experimental.ExtensionType):
        ...     values: tf.Tensor
        ...     mask: tf.Tensor
        ...
        ...     @tf.function
        ...     def total(self):
        ...         return tf.reduce_sum(tf.where(self.mask, self.values, 0))
        >>> int(Masked([1, 2, 3], [True, False, True]).total())
        4
    """

    _tfx_fields: tuple[str, ...] = ()
    _tfx_hints: Mapping[str, Any] = types.MappingProxyType({})
    _tfx_expanded_kind = extension_parts.KIND
    _tfx_value_class: Any
    Spec: Any

    def __init_subclass__(cls, is_spec: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_spec:
            return
        cls._tfx_value_class = cls
        hints = dict(cls._tfx_hints)
        own = inspect.get_annotations(cls)
        for name in own:
            if name.startswith("__") or name in ("Spec", "_tfx_fields"):
                raise ValueError(f"The field annotation {name!r} of {cls.__name__} is reserved.")
            hints[name] = _resolved(cls, name, own[name])
            _check_hint(hints[name], f"field {name!r} of {cls.__name__}")
        cls._tfx_hints, cls._tfx_fields = types.MappingProxyType(hints), tuple(hints)
        parameters = _parameters(cls, hints)
        if ("__init__" not in cls.__dict__ and own) or cls.__init__ is object.__init__:
            cls.__init__ = _constructor(cls, parameters)  # type: ignore[method-assign]
        if "__validate__" not in cls.__dict__ and not hasattr(cls, "__validate__"):
            cls.__validate__ = lambda self: None  # type: ignore[attr-defined]
        cls.__init__ = _sealing(cls, cls.__init__)  # type: ignore[method-assign]
        cls.Spec = _spec_class(cls, hints, cls.__dict__.get("Spec"))

    def __setattr__(self, name: str, value: Any) -> None:
        if "_tfx_open" not in self.__dict__ or name not in self._tfx_fields:
            self._refuse(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> None:
        raise AttributeError(
            f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType; "
            f"make a new {type(self).__name__}."
        )

    def __repr__(self) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in self._tfx_fields])
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return False
        result = convert_to_tensor(True)
        for a, b in _leaf_pairs(self, other):
            if not isinstance(a, Tensor) or not isinstance(b, Tensor):
                if isinstance(a, Tensor) or isinstance(b, Tensor) or a != b:
                    return False
                continue
            if a.dtype is not b.dtype or not a.shape.is_compatible_with(b.shape):
                return False
            same = apply("Equal", (a, b))
            every = apply("ReduceMin", (apply("Cast", (same,), {"to": 6}),), {"keepdims": 0})
            result = apply("And", (result, apply("Cast", (every,), {"to": 9})))
        return result

    def __ne__(self, other: object) -> Any:
        same = self == other
        return apply("Not", (same,)) if isinstance(same, Tensor) else not same

    __hash__ = object.__hash__

    def _tfx_spec(self) -> Any:
        """The spec of such objects, of the specs of their parts."""
        parts = [_part_spec(x) for x in extension_parts.KIND.values(self)]
        return extension_parts.as_spec(extension_parts.KIND.build(self, parts))


def _part_spec(part: Any) -> Any:
    if isinstance(part, IndexedSlices):
        return nest.map_structure(_part_spec, part, expand_composites=True)
    return part if part is None or isinstance(part, TypeSpec) else type_spec_from_value(part)


def _leaf_pairs(x: Any, y: Any) -> Any:
    a = nest.flatten(x, expand_composites=True)
    b = nest.flatten(y, expand_composites=True)
    others = [extension_parts.other_values(each) for each in (x, y)]
    return zip(a, b, strict=True) if len(a) == len(b) and others[0] == others[1] else [(0, 1)]


def _resolved(cls: type, name: str, hint: Any) -> Any:
    """An annotation, with what it means in place of texts; the class itself may be among these."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back  # to the code that has the class in it
    names = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    try:
        return _evaluated(hint, {**vars(typing), **names, cls.__name__: cls})
    except NameError as e:
        raise TypeError(f"The annotation {hint!r} of {cls.__name__}.{name} is not known.") from e


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    text = hint.__forward_arg__ if isinstance(hint, typing.ForwardRef) else hint
    if isinstance(text, str):
        return _evaluated(eval(text, dict(names)), names)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal or not inner:
        return hint
    found = tuple(_evaluated(each, names) for each in inner)
    return hint if found == inner else (Union if origin is types.UnionType else origin)[found]


def _check_hint(hint: Any, where: str) -> None:
    """Check that a field may have this type."""
    if isinstance(hint, TensorSpec) or hint in _PLAIN or hint is None or hint is Tensor:
        return
    if isinstance(hint, type) and issubclass(hint, ExtensionType | TypeSpec | Variable):
        return
    if hasattr(hint, "_tfx_expanded_kind") or hint is IndexedSlices:  # ragged and sparse tensors
        return
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        for each in inner:
            _check_hint(each, where)
        return
    if origin is Literal:
        return
    if origin is tuple and inner:
        for each in inner:
            if each is not Ellipsis:
                _check_hint(each, where)
        return
    if origin in (collections.abc.Mapping, dict) and origin is not dict:
        _check_hint(inner[1], where)
        return
    raise TypeError(f"In {where}: Unsupported type annotation {hint!r}.")


def _parameters(cls: type, hints: Mapping[str, Any]) -> list[inspect.Parameter]:
    """The parameters of a constructor; a default is what the class has under the name."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found: list[inspect.Parameter] = []
    for name in hints:
        default = getattr(cls, name, inspect.Parameter.empty)
        if default is inspect.Parameter.empty and found and found[-1].default is not default:
            kind = inspect.Parameter.KEYWORD_ONLY  # behind one with a default
        found.append(inspect.Parameter(name, kind, default=default))
    return found


def _constructor(cls: type, parameters: list[inspect.Parameter]) -> Callable[..., None]:
    signature = inspect.Signature(parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    show_signature(__init__, signature.replace(parameters=[self_, *parameters]))
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _sealing(cls: Any, init: Callable[..., None]) -> Callable[..., None]:
    """A constructor behind which fields are converted, checked and closed."""
    if getattr(init, "_tfx_seals", None) is cls:
        return init

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        inner = "_tfx_open" in self.__dict__  # called by the constructor of a subclass
        self.__dict__["_tfx_open"] = True
        init(self, *args, **kwargs)
        if inner or type(self) is not cls:
            return
        for name, hint in self._tfx_hints.items():
            if name not in self.__dict__:
                raise AttributeError(f"{cls.__name__}: the constructor did not set {name!r}.")
            self.__dict__[name] = _converted(self.__dict__[name], hint, name)
        del self.__dict__["_tfx_open"]
        self.__validate__()

    made: Any = __init__
    made._tfx_seals, made.__wrapped__ = cls, init
    show_signature(made, inspect.signature(init))
    return __init__


def _converted(value: Any, hint: Any, name: str) -> Any:
    """A value as its field has it.

    Raises:
        TypeError: it cannot be of that type.
    """
    if isinstance(value, TypeSpec):  # an object of specs
        return value
    if hint is Tensor:
        return _as_tensor(value, name, None)
    if isinstance(hint, TensorSpec):
        found = _as_tensor(value, name, hint.dtype)
        if not hint.shape.is_compatible_with(found.shape):
            raise TypeError(f"{name}: expected a tensor of shape {hint.shape}, got {found.shape}")
        return found
    if hint is TensorShape or hint is DType:
        return _as_shape_or_dtype(value, hint, name)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(value, inner, hint, name)
    if origin is Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list | tuple):
        each = inner[:1] * len(value) if inner[-1:] == (Ellipsis,) else inner
        if len(each) != len(value):
            raise TypeError(f"{name}: expected {len(each)} values, got {len(value)}")
        return tuple(
            _converted(v, h, f"{name}[{i}]")
            for i, (v, h) in enumerate(zip(value, each, strict=True))
        )
    if origin is collections.abc.Mapping and isinstance(value, Mapping):
        return ImmutableDict(
            {k: _converted(v, inner[1], f"{name}[{k!r}]") for k, v in value.items()}
        )
    kind = type(None) if hint is None else hint
    plain = isinstance(kind, type) and isinstance(value, kind)
    if plain and not (kind is int and isinstance(value, bool)):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    shown = getattr(hint, "__name__", hint)
    raise TypeError(f"{name}: expected {shown!r}, got {type(value).__name__!r}")


def _as_tensor(value: Any, name: str, dtype: DType | None) -> Any:
    if isinstance(value, Tensor | Variable) and dtype is None:
        return value
    try:
        return convert_to_tensor(value, dtype)
    except (TypeError, ValueError) as e:
        raise TypeError(f"{name}: expected a Tensor, got {type(value).__name__!r}") from e


def _as_shape_or_dtype(value: Any, kind: Any, name: str) -> Any:
    try:
        return TensorShape(value) if kind is TensorShape else as_dtype(value)
    except (TypeError, ValueError) as e:
        raise TypeError(f"{name}: expected {kind.__name__!r}, got {value!r}") from e


def _one_of(value: Any, kinds: tuple[Any, ...], hint: Any, name: str) -> Any:
    # What a value is already goes before what it could be converted to.
    for kind in kinds:
        if isinstance(kind, type) and type(value) is kind:
            return value
    for kind in sorted(kinds, key=lambda k: k is Tensor):
        numbers = isinstance(value, int | float | list | np.ndarray | Tensor | Variable)
        if kind is Tensor and (not numbers or isinstance(value, bool)):
            continue
        try:
            return _converted(value, kind, name)
        except TypeError:
            continue
    raise TypeError(f"{name}: expected {hint}, got {type(value).__name__!r}")


def _spec_class(cls: Any, hints: Mapping[str, Any], own: Any) -> Any:
    """The class of specs of an extension type.

    Args:
        cls: The extension type.
        hints: Its fields.
        own: The class ``Spec`` in its body, or None.
    """
    own_init = None if own is None else own.__dict__.get("__init__")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if own_init is None:
            self.__dict__.update(_given_specs(cls, hints, args, kwargs))
            return
        self.__dict__["_tfx_open"] = True
        own_init(self, *args, **kwargs)
        del self.__dict__["_tfx_open"]
        for name in hints:
            if name not in self.__dict__:
                raise AttributeError(f"{cls.__name__}.Spec: the constructor did not set {name!r}.")

    if own_init is not None:
        show_signature(__init__, inspect.signature(own_init))
    bases = (ExtensionTypeSpec, cls) if own is None else (own, ExtensionTypeSpec, cls)
    body = {
        "__init__": __init__,
        "__module__": cls.__module__,
        "__qualname__": f"{cls.__qualname__}.Spec",
        "__doc__": getattr(own, "__doc__", None) or f"The spec of a ``{cls.__name__}``.",
    }
    made: Any = types.new_class("Spec", bases, {"is_spec": True}, lambda space: space.update(body))
    return made


def _given_specs(
    cls: type, hints: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a spec, from specs (or values) of them."""
    names = list(hints)
    if len(args) > len(names) or set(kwargs) - set(names):
        raise TypeError(f"{cls.__name__}.Spec takes {names}; got {args} and {kwargs}.")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    missing = [n for n in names if n not in given and not isinstance(hints[n], TensorSpec)]
    if missing:
        raise TypeError(f"{cls.__name__}.Spec is missing {missing}.")
    return {n: given.get(n, hints[n]) for n in names}


class BatchableExtensionType(ExtensionType):
    """Base of extension types whose tensors have their elements along the first axes.

    ``map_fn``, ``vectorized_map``, ``scan`` and datasets take slices of all tensors of an object,
    and batches of such objects; fields that are a ``tf.TensorShape`` lose the first axis, or get
    the size of the batch in front. They do so for every ``ExtensionType`` of tensors; TensorFlow
    asks for this base.

    Example:
        >>> import tfx as tf
        >>> class Edge(tf.experimental.BatchableExtensionType):
        ...     start: tf.Tensor
        ...     end: tf.Tensor
        >>> edges = tf.data.Dataset.from_tensor_slices(Edge([1, 2, 3], [4, 5, 6]))
        >>> [edge.end.numpy().tolist() for edge in edges.batch(2)]
        [[4, 5], [6]]
    """
