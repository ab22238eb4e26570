"""Input signatures: what a function takes, said in advance.

Owns the grammar of signatures and the comparison of a call with one. An element of a signature is
a ``TensorSpec``; a pair ``(dtype, shape)``; ``PYTHON_VALUE``; ``TRACE_ON_NEW_VALUE`` by itself or
in place of a dtype or a shape; ``[element, ...]``, a list of any length; or a structure of
elements. A class with a method ``_tfx_argument`` says what is traced of what it describes: tensors,
and parts that every call has in common, whose class says ``_tfx_is_fixed = True``. Where nothing is
left open, one trace serves every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from tfx.core import nest
from tfx.core.dtypes import DType
from tfx.core.nest_kinds import expanded_kind_of
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.composite.indexed_slices_spec import IndexedSlicesSpec
from tfx.framework.composite.optional import OptionalSpec
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.function.tracing.call_signature import check_tensor, paired


class Placeholder(Enum):
    """Elements of an input signature that leave something to the call."""

    PYTHON_VALUE = "PYTHON_VALUE"
    TRACE_ON_NEW_VALUE = "TRACE_ON_NEW_VALUE"

    def __repr__(self) -> str:
        return f"tfx.{self.value}"


PYTHON_VALUE = Placeholder.PYTHON_VALUE
"""In an input signature: a Python argument; each new value (by equality) gets a trace.

Example:
    >>> import tfx as tf
    >>> @tf.function(input_signature=[tf.TensorSpec([None]), tf.PYTHON_VALUE])
    ... def scaled(x, factor):
    ...     return x * factor
    >>> [scaled([1.0], 2).numpy().item(), scaled([1.0, 2.0], 2).shape.as_list()]
    [2.0, [2]]
    >>> scaled.experimental_get_tracing_count()
    1
"""

TRACE_ON_NEW_VALUE = Placeholder.TRACE_ON_NEW_VALUE
"""In an input signature, in place of a dtype or shape: each new one gets a trace of its own.

Example:
    >>> import tfx as tf
    >>> @tf.function(input_signature=((tf.TRACE_ON_NEW_VALUE, [None]),))
    ... def f(x):
    ...     return tf.square(x)
    >>> f(tf.constant([2.0])).numpy().tolist(), f(tf.constant([2, 2])).numpy().tolist()
    ([4.0], [4, 4])
"""


class OpenSpec:
    """A tensor whose dtype or shape each call decides.

    Attributes:
        dtype: The dtype; None: the call's.
        shape: The shape; None: the call's.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: DType | None, shape: TensorShape | None) -> None:
        self.dtype = dtype
        self.shape = shape

    def spec_of(self, tensor: Any) -> TensorSpec:
        """The spec that a call's tensor makes of it."""
        return TensorSpec(
            tensor.shape if self.shape is None else self.shape,
            tensor.dtype if self.dtype is None else self.dtype,
        )

    def __repr__(self) -> str:
        dtype = TRACE_ON_NEW_VALUE if self.dtype is None else self.dtype
        shape = TRACE_ON_NEW_VALUE if self.shape is None else self.shape
        return f"({dtype!r}, {shape if self.shape is not None else repr(shape)})"


class AnyLength:
    """A list of any length; every item fits ``element``."""

    __slots__ = ("element",)

    def __init__(self, element: Any) -> None:
        self.element = element

    def __repr__(self) -> str:
        return f"[{self.element!r}, ...]"


def parse(signature: Any) -> tuple[Any, ...] | None:
    """An input signature with one element for each argument.

    Args:
        signature: A list or tuple of elements, or None.

    Raises:
        TypeError: it is no sequence, or something in it is no element.
    """
    if signature is None:
        return None
    if not isinstance(signature, list | tuple):
        raise TypeError(
            "input_signature must be a list or tuple, a possibly nested sequence of TensorSpec "
            f"objects, got {signature!r} of type {type(signature).__name__}."
        )
    if _is_pair(signature):  # of the only argument
        return (_pair(*signature),)
    return tuple(_element(s, signature) for s in signature)


def _element(element: Any, signature: Any) -> Any:
    if isinstance(element, TensorSpec | OpenSpec | AnyLength) or element is PYTHON_VALUE:
        return element
    if _is_fixed(element):
        return element
    if hasattr(type(element), "_tfx_argument"):
        return _element(element._tfx_argument(), signature)
    if element is TRACE_ON_NEW_VALUE:
        return OpenSpec(None, None)
    if isinstance(element, OptionalSpec):  # whose value is known when a trace is made
        return PYTHON_VALUE
    if isinstance(element, IndexedSlicesSpec):
        values, indices, form = element.parts()
        return IndexedSlices(values, indices, PYTHON_VALUE if form is None else form)
    if isinstance(element, tuple) and _is_pair(element):
        return _pair(*element)
    if isinstance(element, list | tuple) and len(element) == 2 and element[1] is Ellipsis:
        return AnyLength(_element(element[0], signature))
    kind = expanded_kind_of(element)
    if kind is None:
        raise TypeError(
            "input_signature must be a possibly nested sequence of TensorSpec objects, got "
            f"{signature!r}: {element!r} of type {type(element).__name__} is none. Use a "
            "TensorSpec, a (dtype, shape) tuple, tfx.PYTHON_VALUE or tfx.TRACE_ON_NEW_VALUE."
        )
    return kind.build(element, [_element(v, signature) for v in kind.values(element)])


def _is_fixed(part: Any) -> bool:
    return getattr(type(part), "_tfx_is_fixed", False)


def _is_pair(element: Any) -> bool:
    """True if it is ``(dtype, shape)``, and no sequence of two elements."""
    if len(element) != 2 or not isinstance(element, tuple):
        return False
    dtype, shape = element
    if isinstance(dtype, DType):
        return True
    if dtype is not TRACE_ON_NEW_VALUE:
        return False
    return isinstance(shape, TensorShape) or (
        isinstance(shape, list | tuple) and all(isinstance(d, int | str | None) for d in shape)
    )


def _pair(dtype: Any, shape: Any) -> TensorSpec | OpenSpec:
    if isinstance(dtype, DType) and shape is not TRACE_ON_NEW_VALUE:
        return TensorSpec(shape, dtype)
    return OpenSpec(
        dtype if isinstance(dtype, DType) else None,
        None if shape is TRACE_ON_NEW_VALUE else TensorShape(shape),
    )


def is_closed(signature: Sequence[Any] | None) -> bool:
    """True if there is a signature of nothing but tensors: then one trace serves every call."""
    if signature is None:
        return False
    leaves = nest.flatten(list(signature), expand_composites=True)
    return all(isinstance(leaf, TensorSpec) or _is_fixed(leaf) for leaf in leaves)


def fit(function: str, argument: str, spec: Any, value: Any) -> Any:
    """A value with tensors that fit an element; lists and tuples are interchangeable.

    Raises:
        TypeError: another structure.
        InvalidArgumentError: a tensor that does not fit its spec.
    """
    if isinstance(spec, TensorSpec):
        return check_tensor(function, argument, spec, value)
    if isinstance(spec, OpenSpec):
        return _fit_open(function, argument, spec, value)
    if spec is PYTHON_VALUE:
        if isinstance(value, Tensor | TensorSpec) or hasattr(value, "__array__"):
            raise TypeError(
                f"{function}(): argument {argument!r} is a Python value by the input signature "
                f"(tfx.PYTHON_VALUE), expected a number, text or another object, got {value!r}. "
                "Give it a TensorSpec in the signature to pass tensors."
            )
        return value
    if _is_fixed(spec):
        if value != spec:
            raise TypeError(
                f"{function}(): argument {argument!r} is {spec!r} by the input signature, got "
                f"{value!r}."
            )
        return value
    if isinstance(spec, AnyLength):
        if not isinstance(value, list | tuple):
            raise TypeError(
                f"{function}(): argument {argument!r} expected a list {spec!r} of any length, got "
                f"{value!r} of type {type(value).__name__}."
            )
        return [fit(function, f"{argument}[{i}]", spec.element, v) for i, v in enumerate(value)]
    parts = paired(spec, value)
    if parts is None:
        raise TypeError(
            f"{function}(): argument {argument!r} does not have the structure of the input "
            f"signature: expected {spec!r}, got {value!r}{_nearest_structure(spec, value)}."
        )
    kind = expanded_kind_of(spec)
    assert kind is not None
    _check_beside(function, argument, spec, value)
    fitted = [fit(function, f"{argument}[{key!r}]", want, have) for key, want, have in parts]
    return kind.build(spec, fitted)


def _check_beside(function: str, argument: str, spec: Any, value: Any) -> None:
    """Check what an object has beside its tensors."""
    wanted, given = expanded_kind_of(spec), expanded_kind_of(value)
    if wanted is None or given is None or wanted.beside is None or given.beside is None:
        return
    have = given.beside(value)
    for field, want in wanted.beside(spec).items():
        if want != have.get(field):
            raise TypeError(
                f"{function}(): argument {f'{argument}[{field!r}]'!r} is {want!r} by the input "
                f"signature, which is no tensor and part of the type; got {have.get(field)!r}."
            )


def _fit_open(function: str, argument: str, spec: OpenSpec, value: Any) -> Any:
    if not isinstance(value, Tensor | TensorSpec):
        if spec.dtype is not None:
            shape = TensorShape(None) if spec.shape is None else spec.shape
            return check_tensor(function, argument, TensorSpec(shape, spec.dtype), value)
        try:
            value = convert_to_tensor(value)
        except (TypeError, ValueError, NotImplementedError) as e:
            raise TypeError(
                f"{function}(): argument {argument!r} expected a tensor {spec!r}, got {value!r}: "
                f"{e}"
            ) from e
    dtype = value.dtype if spec.dtype is None else spec.dtype
    wanted = TensorSpec(TensorShape(None) if spec.shape is None else spec.shape, dtype)
    return check_tensor(function, argument, wanted, value)


def _nearest_structure(spec: Any, value: Any) -> str:
    """Return advice for a structure that one change makes fit, or an empty string."""
    wanted, given = expanded_kind_of(spec), expanded_kind_of(value)
    if wanted is None or given is None:
        return ""
    want, have = wanted.keys(spec), given.keys(value)
    missing = [k for k in want if k not in have]
    extra = [k for k in have if k not in want]
    if isinstance(spec, list | tuple) or isinstance(value, list | tuple):
        return f" (expected {len(want)} items, got {len(have)})" if missing or extra else ""
    parts = [f"add {missing!r}"] if missing else []
    parts += [f"leave out {extra!r}"] if extra else []
    return f" (it would fit if you {' and '.join(parts)})" if parts else ""


def trace_specs(spec: Any, value: Any) -> Any:
    """Return the specs to trace for: an element, with its open parts taken from a call.

    Args:
        spec: The element.
        value: An argument that fits it.
    """
    if isinstance(spec, TensorSpec):
        return spec
    if isinstance(spec, OpenSpec):
        return spec.spec_of(value)
    if spec is PYTHON_VALUE or _is_fixed(spec):
        return value
    if isinstance(spec, AnyLength):
        return [trace_specs(spec.element, v) for v in value]
    parts = paired(spec, value)
    kind = expanded_kind_of(spec)
    assert parts is not None and kind is not None
    return kind.build(spec, [trace_specs(want, have) for _, want, have in parts])
