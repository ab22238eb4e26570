"""``type_spec_from_value``: the spec of a value."""

from __future__ import annotations

from typing import Any

from tfx.core.specs import TensorSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.composite.indexed_slices_spec import spec_of
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable


def type_spec_from_value(value: Any) -> Any:
    """The ``TensorSpec`` of a tensor, variable or what converts to one.

    That of ``IndexedSlices`` is an ``IndexedSlicesSpec``; that of an ``ExtensionType`` is of its
    class ``Spec``.

    Raises:
        TypeError: the value is not convertible to a tensor.

    Example:
        >>> import tfx as tf
        >>> tf.type_spec_from_value(tf.constant([1, 2]))
        TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """
    if not isinstance(value, Tensor | Variable):
        if isinstance(value, IndexedSlices):
            return spec_of(value)
        composite = getattr(value, "_tfx_spec", None)
        if composite is not None:
            return composite()
        try:
            value = convert_to_tensor(value)
        except (TypeError, ValueError) as e:
            raise TypeError(
                f"Could not build a TypeSpec for {value!r} of type {type(value).__name__}."
            ) from e
    return TensorSpec(value.shape, value.dtype)
