"""``cond``, loops and scans: Keras' signatures over tfx's graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras.src import tree
from keras.src.backend.common import KerasVariable

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, is_tensor

range_ = range


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """What one of the functions returns; both are traced in a graph, one is run."""
    if isinstance(pred, KerasVariable):
        pred = pred.value
    if not is_tensor(pred):
        return true_fn() if pred else false_fn()
    if pred.dtype != tf.bool:
        pred = tf.cast(pred, tf.bool)
    return tf.cond(pred, true_fn, false_fn)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """What the branch of that number returns; the nearest one for a number outside."""
    index = tf.clip_by_value(convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    return tf.switch_case(index, [_bound(branch, operands) for branch in branches])


def _bound(branch: Callable[..., Any], operands: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: branch(*operands)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: Any = None,
) -> Any:
    """Repeat ``body`` while ``cond`` holds; the structure of ``loop_vars`` at the end."""
    several = isinstance(loop_vars, tuple | list)
    state = tuple(loop_vars) if several else (loop_vars,)
    state = tree.map_structure(convert_to_tensor, state)

    def step(*state: Any) -> tuple[Any, ...]:
        made = body(*state)
        return tuple(made) if isinstance(made, list | tuple) else (made,)

    found = tf.while_loop(cond, step, state, maximum_iterations=maximum_iterations)
    return tuple(found) if several else found[0]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Apply ``body_fun(i, value)`` for each ``i`` from ``lower`` up to, without, ``upper``."""
    if tf.executing_eagerly() and isinstance(lower, int) and isinstance(upper, int):
        for i in range_(lower, upper):
            init_val = body_fun(i, init_val)
        return init_val
    return while_loop(
        lambda i, value: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val)
    )[1]


def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """Apply a function to all elements of the first axis at once."""
    return tf.vectorized_map(function, tree.map_structure(convert_to_tensor, elements))


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Apply a function to the elements of the first axis, one after the other."""
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Apply ``f(carry, x) -> (carry, y)`` along the first axis.

    Args:
        f: The step; its ``y`` may be None.
        init: The first carry, a structure of tensors.
        xs: What is gone through, a structure of tensors of one length, or None.
        length: The number of steps; needed without ``xs``.
        reverse: Begin at the end; the results stay in the order of ``xs``.
        unroll: Accepted for compatibility.

    Returns:
        The last carry, and all ``y`` stacked.

    Raises:
        TypeError: ``f`` cannot be called.
        ValueError: ``unroll`` below 1, or neither ``xs`` nor ``length``.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(
            f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}"
        )
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    if xs is not None:
        xs = tree.map_structure(convert_to_tensor, xs)
    carry = tree.map_structure(convert_to_tensor, init)
    leaves = tree.flatten(xs) if xs is not None else []
    steps = length if length is not None else _length(leaves[0])

    def item(i: Any) -> Any:
        return None if xs is None else tree.map_structure(lambda x: tf.gather(x, i), xs)

    step = _with_result(f, carry)
    if isinstance(steps, int) and (steps == 0 or tf.executing_eagerly()):
        return _eager_scan(step, carry, item, steps, reverse)
    first = steps - 1 if reverse else tf.zeros_like(tf.convert_to_tensor(steps))
    probe = _probed(step, carry, item, first)
    arrays = [
        tf.TensorArray(y.dtype, size=steps, element_shape=y.shape) for y in tree.flatten(probe)
    ]

    def body(i: Any, carry: Any, arrays: list[Any]) -> tuple[Any, ...]:
        at = steps - 1 - i if reverse else i
        carry, y = step(carry, item(at))
        flat = tree.flatten(y)
        return i + 1, carry, [a.write(at, v) for a, v in zip(arrays, flat, strict=True)]

    _, carry, arrays = tf.while_loop(lambda i, *_: i < steps, body, (0, carry, arrays))
    stacked = tree.pack_sequence_as(probe, [a.stack() for a in arrays])
    return carry, stacked


def _length(x: Any) -> Any:
    size = x.shape[0]
    return tf.shape(x)[0] if size is None else size


def _with_result(f: Callable[[Any, Any], Any], init: Any) -> Callable[[Any, Any], Any]:
    """The step; where it gives no result, zeros like the carry."""

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        carry, y = f(carry, x)
        carry = tree.map_structure(convert_to_tensor, carry)
        if y is None:
            y = [tf.zeros_like(leaf) for leaf in tree.flatten(init)]
        return carry, tree.map_structure(convert_to_tensor, y)

    return step


def _probed(step: Callable[[Any, Any], Any], carry: Any, item: Any, first: Any) -> Any:
    """The structure, dtypes and shapes of one step's result."""
    traced = tf.function(lambda: step(carry, item(first))[1]).get_concrete_function()
    return traced.structured_outputs


def _eager_scan(
    step: Callable[[Any, Any], Any], carry: Any, item: Any, steps: int, reverse: bool
) -> tuple[Any, Any]:
    ys: list[Any] = []
    for i in reversed(range_(steps)) if reverse else range_(steps):
        carry, y = step(carry, item(i))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, tree.map_structure(lambda *parts: tf.stack(parts), *ys)


def associative_scan(
    f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All prefixes of an associative operation along an axis, in logarithmically many steps.

    Raises:
        TypeError: ``f`` cannot be called.
        ValueError: the lengths differ.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    flat = [convert_to_tensor(e) for e in tree.flatten(elems)]
    axis = axis % flat[0].shape.rank
    lengths = {e.shape[axis] for e in flat}
    if len(lengths) != 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension (of the axis that "
            f"is scanned). (saw: {[tuple(e.shape) for e in flat]})"
        )
    if reverse:
        flat = [tf.reverse(e, [axis]) for e in flat]

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        made = f(tree.pack_sequence_as(elems, a), tree.pack_sequence_as(elems, b))
        return [convert_to_tensor(e) for e in tree.flatten(made)]

    def farther(flat: list[Any], reach: Any, length: Any) -> list[Any]:
        """Each element joined with the one that lies ``reach`` before it."""
        heads = [_cut(e, axis, 0, reach) for e in flat]
        before = [_cut(e, axis, 0, length - reach) for e in flat]
        after = [_cut(e, axis, reach, length) for e in flat]
        joined = combine(before, after)
        return [tf.concat([h, t], axis) for h, t in zip(heads, joined, strict=True)]

    length, reach = lengths.pop(), 1
    if length is None:
        size = tf.shape(flat[0])[axis]
        flat = tf.while_loop(
            lambda reach, _: reach < size,
            lambda reach, flat: (reach * 2, farther(flat, reach, size)),
            (tf.constant(1), flat),
            shape_invariants=(tf.TensorShape([]), [e.shape for e in flat]),
        )[1]
    else:
        while reach < length:
            flat = farther(flat, reach, length)
            reach *= 2
    if reverse:
        flat = [tf.reverse(e, [axis]) for e in flat]
    return tree.pack_sequence_as(elems, flat)


def _cut(x: Any, axis: int, start: int, end: int) -> Any:
    return x[(*[slice(None)] * axis, slice(start, end))]
