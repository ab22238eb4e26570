"""``cond`` and ``while_loop`` with TensorFlow 1's arguments: a single result stands alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.control_flow import cond as cond_ops
from tfx.control_flow import while_loop as while_loop_ops
from tfx.framework.context import current


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return ``true_fn()`` if ``pred`` is true, else ``false_fn()``; see ``tfx.cond``.

    Args:
        pred: A scalar.
        true_fn: Function without arguments.
        false_fn: Function without arguments.
        strict: Eagerly, keep a list or tuple of one result; False: return the result itself. In a
            graph it is kept always.
        name: Prefix of the node's name.
        fn1: Older name of ``true_fn``.
        fn2: Older name of ``false_fn``.

    Raises:
        TypeError: a function is given under both names, or is not callable.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.cond(tf.constant(True), lambda: [1.0], lambda: [2.0])
        1.0
    """
    if (true_fn and fn1) or (false_fn and fn2):
        raise TypeError(
            "cond(): 'true_fn' and 'fn1', or 'false_fn' and 'fn2', may not be both set."
        )
    result = cond_ops.cond(pred, true_fn or fn1, false_fn or fn2, name)
    single = isinstance(result, list | tuple) and len(result) == 1
    return result[0] if single and not strict and current().graph is None else result


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat ``body`` while ``cond`` is true; see ``tfx.while_loop``.

    Args:
        cond: Called with the loop variables, returns a scalar.
        body: Called with the loop variables, returns their next values.
        loop_vars: List or tuple of the initial values.
        shape_invariants: The shapes that hold in every iteration.
        parallel_iterations: Accepted for compatibility.
        back_prop: False: no gradient flows through the loop.
        swap_memory: Accepted for compatibility.
        name: Prefix of the node's name.
        maximum_iterations: Stop after so many iterations in any case.
        return_same_structure: Return a list or tuple of one loop variable as such; False: return
            the variable's last value itself.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> int(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]))
        3
    """
    result = while_loop_ops.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
        name,
    )
    return result[0] if len(result) == 1 and not return_same_structure else result
