"""Functions of ``tfx.compat.v1.test`` that TensorFlow 2 has otherwise."""

from __future__ import annotations

import tempfile
from typing import Any
from unittest import mock as mock

import numpy as np

from tfx.compat.v1.graph.default_session import get_default_session
from tfx.framework.tensor import Tensor
from tfx.function.gradients.symbolic_gradients import gradients


def get_temp_dir() -> str:
    """A new folder for temporary files, which the caller removes."""
    return tempfile.mkdtemp(prefix="tfx_test_")


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian of a tensor of the default graph: by its gradient, and by central differences.

    Args:
        x: A tensor to differentiate by, or a list of them.
        x_shape: Its static shape, or a list.
        y: The result.
        y_shape: Its static shape.
        x_init_value: Where; None: random numbers.
        delta: Half of the step of the differences.
        init_targets: Operations to run first.
        extra_feed_dict: What else is fed.

    Returns:
        Two arrays ``[size of x, size of y]``, or a list of such pairs for a list.

    Raises:
        ValueError: there is no default session.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it in `with sess:`.")
    if init_targets is not None:
        session.run(init_targets)
    several = isinstance(x, list | tuple)
    xs, shapes = (list(x), list(x_shape)) if several else ([x], [x_shape])
    given = x_init_value if several else [x_init_value]
    if given is None:
        given = [None] * len(xs)
    starts = [
        np.random.default_rng().random(tuple(s)) if v is None else np.asarray(v)
        for v, s in zip(given, shapes, strict=True)
    ]
    starts = [np.asarray(v, a.dtype.as_numpy_dtype) for v, a in zip(starts, xs, strict=True)]
    feeds = {**(extra_feed_dict or {}), **dict(zip(xs, starts, strict=True))}
    found = [
        (_by_gradient(session, a, y, feeds), _by_differences(session, a, y, feeds, delta))
        for a in xs
    ]
    return found if several else found[0]


def compute_gradient_error(*args: Any, **kwargs: Any) -> float:
    """The largest difference of the two Jacobians of ``compute_gradient``."""
    found = compute_gradient(*args, **kwargs)
    pairs = found if isinstance(found, list) else [found]
    return float(max((np.abs(a - b).max(initial=0.0) for a, b in pairs), default=0.0))


def _by_gradient(session: Any, x: Tensor, y: Tensor, feeds: dict[Any, Any]) -> Any:
    size = int(np.size(session.run(y, feeds)))
    rows = []
    for place in range(size):
        seed = np.zeros(size, y.dtype.as_numpy_dtype)
        seed[place] = 1
        seed = seed.reshape(np.shape(session.run(y, feeds)))
        (slope,) = gradients(y, [x], [seed])
        rows.append(
            np.zeros(np.size(feeds[x]))
            if slope is None
            else np.asarray(session.run(slope, feeds)).reshape(-1)
        )
    return np.stack(rows, 1) if rows else np.zeros((np.size(feeds[x]), 0))


def _by_differences(session: Any, x: Tensor, y: Tensor, feeds: dict[Any, Any], delta: float) -> Any:
    start, rows = np.asarray(feeds[x]), []
    for place in range(start.size):
        values = []
        for sign in (1, -1):
            moved = start.copy()
            moved.reshape(-1)[place] += sign * delta
            values.append(np.asarray(session.run(y, {**feeds, x: moved})).reshape(-1))
        rows.append((values[0] - values[1]) / (2 * delta))
    return np.stack(rows) if rows else np.zeros((0, 0))
