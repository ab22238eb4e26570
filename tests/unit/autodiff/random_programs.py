"""Random programs for ``test_random_programs``: about 80 operations put together by a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tfx as tf

KIND = tf.float64
Step = Callable[[list[Any]], Any]
_fn = tf.function(lambda x: tf.sin(x) * tf.exp(-x * x) + x)
_nested = tf.function(lambda x: _fn(_fn(x) * 0.5) + x)


class Program(NamedTuple):
    """A function of one tensor and a variable, where to take it, and what it is made of."""

    run: Callable[[Any], Any]
    at: np.ndarray[Any, Any]
    variable: Any
    steps: list[str]


def _last(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: f(x) if x.shape.rank else tf.tanh(x)


UNARY: dict[str, Callable[[Any], Any]] = {
    **{"tanh": tf.tanh, "sin": tf.sin, "sigmoid": tf.sigmoid, "softplus": tf.nn.softplus},
    **{"square": tf.square, "erf": tf.math.erf, "atan": tf.atan, "asinh": tf.asinh},
    **{"elu": tf.nn.elu, "gelu": tf.nn.gelu, "swish": tf.nn.swish, "abs": tf.abs},
    **{"selu": tf.nn.selu, "leaky": tf.nn.leaky_relu, "negative": tf.negative},
    "exp": lambda x: tf.exp(x * 0.3),
    "sqrt": lambda x: tf.sqrt(x * x + 1.0),
    "log": lambda x: tf.math.log(x * x + 1.0),
    "reciprocal": lambda x: tf.math.reciprocal(x * x + 1.0),
    "rsqrt": lambda x: tf.math.rsqrt(x * x + 1.0),
    "relu": lambda x: tf.nn.relu(x + 0.1),
    "expm1": lambda x: tf.math.expm1(x * 0.2),
    "cube": lambda x: x**3.0,
    "clip": lambda x: tf.clip_by_value(x, -0.77, 0.83),
    "lgamma": lambda x: tf.math.lgamma(x * x + 1.0),
    "stopped": lambda x: x + tf.stop_gradient(x) * 0.0,
    "softmax": _last(tf.nn.softmax),
    "log_softmax": _last(tf.nn.log_softmax),
    "cumsum": _last(lambda x: tf.cumsum(x, axis=-1, exclusive=True)),
    "cumprod": _last(lambda x: tf.math.cumprod(tf.tanh(x) + 1.2, axis=0)),
    "reverse": _last(lambda x: tf.reverse(x, [-1])),
    "sort": _last(lambda x: tf.sort(x, axis=-1)),
    "normalize": _last(lambda x: tf.math.l2_normalize(x + 1.7, axis=-1)),
    "roll": _last(lambda x: tf.roll(x, 1, axis=0)),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{"add": tf.add, "subtract": tf.subtract, "multiply": tf.multiply},
    **{"maximum": tf.maximum, "minimum": tf.minimum},
    "divide": lambda a, b: a / (b * b + 1.0),
    "pow": lambda a, b: (a * a + 0.5) ** tf.tanh(b),
    "atan2": lambda a, b: tf.atan2(a, b * b + 1.0),
    "where": lambda a, b: tf.where(a > b, a * b, tf.sin(b) + a),
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    **{"sum": tf.reduce_sum, "mean": tf.reduce_mean, "max": tf.reduce_max},
    **{"logsumexp": tf.reduce_logsumexp, "variance": tf.math.reduce_variance},
    "prod": lambda x, **k: tf.reduce_prod(tf.tanh(x) + 1.3, **k),
    "norm": lambda x, **k: tf.norm(x + 0.01, **k),
}


def _control(rank: int) -> list[tuple[str, Callable[[Any], Any]]]:
    """Branches, loops, calls and custom gradients, for tensors of a rank."""

    def branch(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.05, lambda: tf.sin(x) * x, lambda: tf.exp(0.2 * x))

    def fixed(x: Any) -> Any:
        return tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y) * x + 0.1 * y), [0, x]
        )[1]

    def open_ended(x: Any) -> Any:
        def more(i: Any, y: Any) -> Any:
            return (i < 4) & (tf.reduce_sum(y * y) < 50.0)

        return tf.while_loop(more, lambda i, y: (i + 1, 1.3 * y + tf.sin(x)), [0, x])[1]

    @tf.custom_gradient
    def custom(x: Any) -> Any:
        return tf.sin(x) * x, lambda dy: dy * (tf.cos(x) * x + tf.sin(x))

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(x) * x * x)
        return tape.gradient(y, x)

    def moved(x: Any) -> Any:
        return tf.tanh(x) * x + tf.reduce_sum(x * x)

    known_rank = tf.function(moved, input_signature=[tf.TensorSpec([None] * rank, KIND)])
    any_rank = tf.function(moved, input_signature=[tf.TensorSpec(None, KIND)])
    recomputed = tf.recompute_grad(lambda x: tf.tanh(x * x) + x)
    return [
        *(("branch", branch), ("fixed loop", fixed), ("open loop", open_ended)),
        *(("custom", custom), ("slope", slope), ("function", _fn), ("nested", _nested)),
        *(("known rank", known_rank), ("any rank", any_rank), ("recomputed", recomputed)),
        ("recomputed function", tf.recompute_grad(_nested)),
    ]


def _shaping(rng: np.random.Generator, sizes: Sequence[int]) -> list[tuple[str, Step]]:
    """What changes shapes, for tensors of some sizes."""
    rank = len(sizes)
    if not rank:
        return [("stack", lambda x: tf.stack([x, tf.sin(x)]))]  # type: ignore[list-item]
    axis = int(rng.integers(rank))
    perm = [int(i) for i in rng.permutation(rank)]
    places = [int(i) for i in rng.integers(0, sizes[axis], size=3)]
    along = [1 if i == axis else 0 for i in range(rank)]
    found: dict[str, Any] = {
        "transpose": lambda x: tf.transpose(x, perm),
        "flat": lambda x: tf.reshape(x, [-1]),
        "expand": lambda x: tf.expand_dims(x, axis),
        "gather": lambda x: tf.gather(x, places, axis=axis),
        "slice": lambda x: x[..., ::-1],
        "part": lambda x: x[:2],
        "tile": lambda x: tf.tile(x, [1 + a for a in along]),
        "pad": lambda x: tf.pad(x, [[a, 1 - a] for a in along]),
        "concat": lambda x: tf.concat([x, tf.sin(x)], axis),
        "scatter": lambda x: tf.tensor_scatter_nd_update(x, [[0]], tf.sin(x[:1])),
        "scatter add": lambda x: tf.tensor_scatter_nd_add(x, [[0]], x[:1] * 0.5),
        "top": lambda x: tf.math.top_k(x, k=1)[0],
        "gram": lambda x: tf.matmul(_rows(x), _rows(x), transpose_b=True),
        "reshape": lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:1], [-1]], 0)),
        "broadcast": lambda x: tf.broadcast_to(x, tf.concat([[2], tf.shape(x)], 0)),
        "mask": lambda x: tf.boolean_mask(x, tf.range(tf.shape(x)[0]) < 2),
        "map": lambda x: tf.map_fn(lambda e: tf.tanh(e) * e, x),
        "vectorized": lambda x: tf.vectorized_map(lambda e: tf.sin(e) * tf.reduce_sum(e), x),
        "scan": lambda x: tf.scan(lambda a, e: tf.tanh(a * 0.5 + e), x),
    }
    return list(found.items())


def _rows(x: Any) -> Any:
    return tf.reshape(x, [tf.shape(x)[0], -1])


def _candidate(rng: np.random.Generator, pool: list[Any], variable: Any) -> tuple[str, Step]:
    i = int(rng.integers(len(pool))) if rng.random() < 0.4 else len(pool) - 1
    x, kind = pool[i], rng.random()
    if kind < 0.3:
        name = str(rng.choice(list(UNARY)))
        return name, lambda p: UNARY[name](p[i])
    if kind < 0.5:
        j, name = int(rng.integers(len(pool))), str(rng.choice(list(BINARY)))
        try:
            np.broadcast_shapes(tuple(x.shape), tuple(pool[j].shape))
        except ValueError:
            j = i
        return name, lambda p: BINARY[name](p[i], p[j])
    if kind < 0.6 and x.shape.rank:
        name, axis = str(rng.choice(list(REDUCTIONS))), int(rng.integers(x.shape.rank))
        keep = bool(rng.integers(2))
        return name, lambda p: REDUCTIONS[name](p[i], axis=axis, keepdims=keep)
    if kind < 0.68:
        return "variable", lambda p: p[i] * tf.reduce_sum(tf.sin(variable))
    options: list[Any] = _shaping(rng, x.shape.as_list()) + _control(x.shape.rank)  # type: ignore[operator]
    name, f = options[int(rng.integers(len(options)))]
    return name, lambda p: f(p[i])


def program(seed: int, length: int = 6) -> Program:
    """The program of a seed; its values are finite and of modest size."""
    rng = np.random.default_rng(seed)
    shape = [int(d) for d in rng.integers(2, 4, size=int(rng.integers(0, 4)))]
    at = rng.normal(size=shape) * 0.7
    variable = tf.Variable(rng.normal(size=shape[-1:]) * 0.5, dtype=KIND)
    pool, steps, names = [tf.constant(at, KIND)], [], []
    for _ in range(length):
        name, step = _candidate(rng, pool, variable)
        y = step(pool)
        values = y.numpy()
        if 0 < values.size <= 120 and np.isfinite(values).all() and abs(values).max() <= 50:
            pool.append(y)
            steps.append(step)
            names.append(name)

    def run(x: Any) -> Any:
        made = [x]
        for step in steps:
            made.append(step(made))
        return made[-1]

    return Program(run, at, variable, names)
