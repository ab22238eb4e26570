"""Assignments as functions: ``assign``, ``scatter_update`` and the like."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.ops.grouping import control_dependencies
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.math.cast import identity
from tfx.ops.math.counting import below_limit


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Add an assignment; see ``Variable.assign``.

    Args:
        ref: A variable.
        value: Its new value.
        validate_shape: Accepted for compatibility.
        use_locking: Accepted for compatibility.
        name: Name of the operation.

    Raises:
        TypeError: ``ref`` is no variable.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.Variable(1.0)
        ...     session.run(tf.assign(v, 5.0))
        np.float32(5.0)
    """
    return _variable(ref).assign(value, name=name)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: Any = None) -> Any:
    """Add an operation that adds to a variable; see ``assign``."""
    return _variable(ref).assign_add(value, name=name)


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: Any = None) -> Any:
    """Add an operation that subtracts from a variable; see ``assign``."""
    return _variable(ref).assign_sub(value, name=name)


def _rows(kind: str, ref: Any, indices: Any, updates: Any) -> Any:
    return getattr(_variable(ref), kind)(IndexedSlices(updates, indices))


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: Any = None
) -> Any:
    """Replace the rows ``indices`` of a variable."""
    return _rows("scatter_update", ref, indices, updates)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Add to the rows ``indices`` of a variable; repeated rows add up."""
    return _rows("scatter_add", ref, indices, updates)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Subtract from the rows ``indices`` of a variable."""
    return _rows("scatter_sub", ref, indices, updates)


def scatter_mul(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Multiply the rows ``indices`` of a variable."""
    return _rows("scatter_mul", ref, indices, updates)


def scatter_div(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Divide the rows ``indices`` of a variable."""
    return _rows("scatter_div", ref, indices, updates)


def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Keep the larger value in the rows ``indices`` of a variable."""
    return _rows("scatter_max", ref, indices, updates)


def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Keep the smaller value in the rows ``indices`` of a variable."""
    return _rows("scatter_min", ref, indices, updates)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: Any = None
) -> Any:
    """Replace elements or slices of a variable."""
    return _variable(ref).scatter_nd_update(indices, updates)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Add to elements or slices of a variable."""
    return _variable(ref).scatter_nd_add(indices, updates)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: Any = None
) -> Any:
    """Subtract from elements or slices of a variable."""
    return _variable(ref).scatter_nd_sub(indices, updates)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of a variable, which then is one more, until it reaches ``limit``.

    Args:
        ref: A variable of int32 or int64.
        limit: The first value that is not given any more.
        name: Accepted for compatibility.

    Raises:
        OutOfRangeError: the variable is ``limit``; in a graph while it runs.
        TypeError: ``ref`` is no variable, or one of another dtype.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     count = tf.Variable(0)
        ...     following = tf.count_up_to(count, 3)
        ...     session.run(count.initializer)
        ...     [session.run(following) for _ in range(3)]
        [np.int32(0), np.int32(1), np.int32(2)]
    """
    variable = _variable(ref)
    value = below_limit(variable, limit)
    assigned = variable.assign(value + 1)
    with control_dependencies([assigned]):
        return identity(value)


def _variable(ref: Any) -> Variable:
    if not isinstance(ref, Variable):
        raise TypeError(f"Expected a variable to assign; got {ref!r} of type {type(ref)}.")
    return ref
