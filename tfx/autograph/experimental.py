"""``tf.autograph.experimental``: leaving functions alone, options of loops."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from tfx.core.namespaces import complete as _complete

_F = TypeVar("_F", bound=Callable[..., Any])


class Feature(enum.Enum):
    """Names of optional parts of the conversion, all of which are always on.

    Accepted where TensorFlow takes them, for compatibility.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """All features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | Sequence[Feature]) -> tuple[Feature, ...]:
        """All features but those given."""
        left_out = exclude if isinstance(exclude, Sequence) else (exclude,)
        return tuple(f for f in cls if f not in left_out)


@overload
def do_not_convert(func: _F) -> _F: ...
@overload
def do_not_convert(func: None = None) -> Callable[[_F], _F]: ...
def do_not_convert(func: Any = None) -> Any:
    """Leave a function as it is: neither it nor what it calls has its control flow converted.

    Args:
        func: The function; None makes a decorator.

    Returns:
        A function that calls it, or a decorator.

    Example:
        >>> import tfx as tf
        >>> @tf.autograph.experimental.do_not_convert
        ... def plain(x, n):
        ...     for _ in range(n):
        ...         x = x * 2.0
        ...     return x
        >>> float(tf.function(lambda x: plain(x, 3))(tf.constant(1.0)))
        8.0
    """
    if func is None:
        return do_not_convert
    if isinstance(func, staticmethod | classmethod):
        return type(func)(do_not_convert(func.__func__))

    # Code of tfx is not converted, and what is called from there runs as it is.
    @functools.wraps(func)
    def unconverted(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    unconverted.__dict__.pop("__tfx_remade__", None)
    return unconverted


def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: Any = None,
    shape_invariants: Sequence[tuple[Any, Any]] | None = None,
) -> None:
    """Set options of the loop around it; the first statement of a ``while`` or ``for``.

    Where the loop is Python's, and everywhere else, it does nothing.

    Args:
        parallel_iterations: Accepted for compatibility.
        swap_memory: Accepted for compatibility.
        maximum_iterations: The most iterations that a loop of the graph does.
        shape_invariants: Pairs of a variable and the shape that it has in every iteration, a
            ``TensorShape``, where that is not the shape that it has before the loop.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def count(n):
        ...     rows = tf.zeros([0])
        ...     for i in tf.range(n):
        ...         tf.autograph.experimental.set_loop_options(
        ...             shape_invariants=[(rows, tf.TensorShape([None]))]
        ...         )
        ...         rows = tf.concat([rows, [1.0]], 0)
        ...     return rows
        >>> count(tf.constant(3)).shape
        TensorShape([3])
    """
    del parallel_iterations, swap_memory, maximum_iterations, shape_invariants


_complete(__name__)
