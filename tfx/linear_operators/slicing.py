"""Parts of a batch of operators: ``operator[0]``, ``operator[..., tf.newaxis, :]``.

Each parameter has the batch as its first axes, or broadcasts to it: there an axis of size 1 stays
as it is where the batch's is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators.tensors import joined
from tfx.ops.array.creation import ones
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape


def batch_slice(operator: Any, slices: Any) -> Any:
    """The operator of a slice of a batch.

    Args:
        operator: The operator.
        slices: What stands between the brackets; it selects from the axes of the batch.

    Raises:
        ValueError: several ``...``, or a batch whose number of axes is not known.
    """
    items = tuple(slices) if isinstance(slices, Sequence) else (slices,)
    changed: dict[str, Any] = {}
    if items != (Ellipsis,):
        for name, inner in operator._experimental_parameter_ndims_to_matrix_ndims.items():
            value = getattr(operator, name)
            if value is None:
                continue
            if isinstance(inner, list):
                changed[name] = _mapped(operator, value, inner, items)
            else:
                changed[name] = _sliced(operator, value, inner, items)
    return type(operator)(**{**operator.parameters, **changed})


def _mapped(operator: Any, values: Any, inner: Any, items: tuple[Any, ...]) -> Any:
    if isinstance(inner, list):
        rows = zip(values, inner, strict=True)
        return [_mapped(operator, value, each, items) for value, each in rows]
    return _sliced(operator, values, inner, items)


def _sliced(operator: Any, value: Any, inner: int, items: tuple[Any, ...]) -> Any:
    """A parameter, the last axes of which are not of the batch, for a slice of the batch."""
    own = not hasattr(value, "batch_shape")
    batch = value.shape[: value.shape.rank - inner] if own else value.batch_shape
    rank, whole = batch.rank, operator.batch_shape
    if rank is None or whole.rank is None:
        raise ValueError(
            f"Slices of a batch of operators need a known rank; got {operator!r} of shape "
            f"{operator.shape}."
        )
    if whole.rank and not rank:
        return value
    missing = whole.rank - rank
    if missing and own:
        x = convert_to_tensor(value)
        value = reshape(x, joined([1] * missing, shape(x)))
        batch = value.shape[: value.shape.rank - inner]
    elif missing:
        value = _with_batch(value, missing)
        batch = value.batch_shape
    fitted = _fitted(items, list(whole), list(batch))
    if inner:
        if not any(item is Ellipsis for item in fitted):
            fitted.append(Ellipsis)
        fitted += [slice(None)] * inner
    return value[tuple(fitted)]


def _with_batch(operator: Any, missing: int) -> Any:
    """An operator with so many axes of size 1 in front of its batch."""
    return operator[(None,) * missing + (Ellipsis,)]


def _fitted(items: tuple[Any, ...], whole: list[Any], has: list[Any]) -> list[Any]:
    """The items for a parameter whose axes may be 1 where the batch's are not."""
    found: list[Any] = []
    place = 0
    for number, item in enumerate(items):
        if item is Ellipsis:
            if place < 0:
                raise ValueError(f"Found multiple `...` in slices {items}.")
            place = -sum(1 for rest in items[number + 1 :] if rest is not None)
        elif item is not None:
            if has[place] == 1 and whole[place] != 1:
                item = slice(None) if isinstance(item, slice) else 0
            place += 1
        found.append(item)
    return found


def sliced_batch_shape(batch_shape: Any, slices: Any) -> Tensor:
    """The shape of a slice of a batch whose operators are all the same."""
    return shape(ones([] if batch_shape is None else batch_shape, dtypes.bool)[slices])
