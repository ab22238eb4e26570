"""Random smooth programs of control flow, calls, custom gradients and state; their derivatives.

A program is data: a list of statements over a growing list of float64 vectors of three elements.
Run eagerly, its branches and loops are Python's: that run is what all others must agree with.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import tfx as tf

SIZE = 3
UNARY: tuple[Callable[[Any], Any], ...] = (
    tf.tanh,
    tf.sin,
    tf.sigmoid,
    lambda x: tf.exp(0.3 * tf.tanh(x)),
    lambda x: x * tf.reduce_sum(tf.tanh(x)),
    lambda x: tf.gather(x, [2, 0, 0]),
    lambda x: tf.concat([x[1:], x[:1]], 0),
    lambda x: tf.nn.softmax(x),
    lambda x: tf.reduce_prod(tf.stack([tf.cos(x), tf.tanh(x)]), 0),
    lambda x: tf.linalg.matvec(tf.reshape(tf.tile(tf.sin(x), [3]), [3, 3]), x),
    lambda x: tf.math.cumsum(tf.tanh(x)),
    lambda x: tf.stop_gradient(tf.sin(x)) * x,
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    tf.add,
    tf.subtract,
    lambda a, b: tf.tanh(a) * tf.sin(b),
    lambda a, b: a / (2.0 + tf.sin(b)),
    lambda a, b: tf.where([True, False, True], a, b),
    lambda a, b: tf.tensor_scatter_nd_update(a, [[1]], b[2:]),
)
LEAVES = ("unary", "binary", "read", "draw")
BLOCKS = ("call", "cond", "custom", "loop", "array", "recompute", "early", "assign", "slices")


def program(rng: random.Random, depth: int = 2, length: int = 4) -> tuple[Any, ...]:
    """A random program."""
    statements: list[Any] = []
    for _ in range(rng.randint(2, length)):
        kind = rng.choice(LEAVES + (BLOCKS if depth else ()))
        parts = [program(rng, depth - 1, 3) for _ in range(2)] if kind in BLOCKS else []
        statements.append((kind, *(rng.randrange(1000) for _ in range(3)), *parts))
    return tuple(statements)


def is_plain(statements: tuple[Any, ...]) -> bool:
    """Whether derivatives are the true ones: nothing stops gradients, nor do assignments."""
    for kind, _, _, c, *parts in statements:
        stops = kind == "unary" and c % len(UNARY) == len(UNARY) - 1
        if stops or kind == "assign" or not all(map(is_plain, parts)):
            return False
    return True


class Machine:
    """Runs a program.

    Args:
        statements: See ``program``.
    """

    def __init__(self, statements: tuple[Any, ...]) -> None:
        self._statements = statements
        self.variables = [tf.Variable([0.3, -0.4, 0.5], dtype=tf.float64) for _ in range(2)]
        self._start = [v.numpy() for v in self.variables]
        self._generator = tf.random.Generator.from_seed(3)
        self._functions: dict[int, Any] = {}

    def reset(self) -> None:
        """Go back to the first values of all state."""
        for variable, value in zip(self.variables, self._start, strict=True):
            variable.assign(value)
        self._generator.reset_from_seed(3)

    def loss(self, x: Any) -> Any:
        """What the program computes, a scalar."""
        return tf.reduce_sum(self._run(self._statements, [x]) * [1.0, 0.5, -0.7])

    def _run(self, statements: tuple[Any, ...], given: Sequence[Any]) -> Any:
        values = list(given)
        for statement in statements:
            kind, a, b, c, *parts = statement
            x, y = values[a % len(values)], values[b % len(values)]
            values.append(getattr(self, f"_{kind}")(x, y, c, *parts))
        return tf.tanh(values[-1]) + 0.1 * values[len(values) // 2]

    # Statements

    def _unary(self, x: Any, y: Any, c: int) -> Any:
        return UNARY[c % len(UNARY)](x)

    def _binary(self, x: Any, y: Any, c: int) -> Any:
        return BINARY[c % len(BINARY)](x, y)

    def _read(self, x: Any, y: Any, c: int) -> Any:
        return self.variables[c % 2] * x

    def _draw(self, x: Any, y: Any, c: int) -> Any:
        return x * self._generator.normal([SIZE], dtype=tf.float64)

    def _assign(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        variable = self.variables[c % 2]
        variable.assign(tf.tanh(variable + 0.1 * x))
        return self._run(part, [x, variable * y])

    def _call(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        function = self._functions.get(id(part))
        if function is None:
            function = self._functions[id(part)] = tf.function(lambda *v: self._run(part, v))
        return function(x, y) + (function(y, x) if c % 2 else 0.0)

    def _custom(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        @tf.custom_gradient
        def twice(x: Any) -> Any:
            e = tf.sin(2.0 * x)
            return e, lambda dy: dy * 2.0 * tf.cos(2.0 * x)

        return self._run(part, [twice(x), y])

    def _recompute(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        return tf.recompute_grad(lambda x, y: self._run(part, [x, y]))(x, y)

    def _cond(self, x: Any, y: Any, c: int, one: Any, other: Any) -> Any:
        test = tf.reduce_sum(x) > 0.1 * (c % 7 - 3)
        return tf.cond(test, lambda: self._run(one, [x, y]), lambda: self._run(other, [y, x]))

    def _loop(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        def body(i: Any, v: Any, w: Any) -> Any:
            return i + 1, tf.tanh(self._run(part, [v, w, x])), w + 0.1 * v

        return tf.while_loop(lambda i, *_: i < c % 4, body, [0, y, x])[1 + c % 2]

    def _early(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        def going(i: Any, v: Any) -> Any:
            return tf.logical_and(i < 3, tf.reduce_sum(v) < 1.5)

        def body(i: Any, v: Any) -> Any:
            return i + 1, 0.5 + tf.tanh(self._run(part, [v, x, y]))

        return tf.while_loop(going, body, [tf.constant(0), x])[1]

    def _array(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        def body(i: Any, v: Any, array: Any) -> Any:
            v = self._run(part, [v, y])
            return i + 1, v, array.write(i, v * x)

        array = tf.TensorArray(tf.float64, c % 3 + 1, False, False, element_shape=[SIZE])
        array = tf.while_loop(lambda i, *_: i < c % 3 + 1, body, [0, x, array])[2]
        return tf.reduce_sum(tf.sin(array.stack()), 0) + array.read(c % 3)

    def _slices(self, x: Any, y: Any, c: int, part: Any, _: Any) -> Any:
        rows = tf.stack([x, y, x * y][: c % 3 + 1])
        return tf.reduce_sum(tf.map_fn(lambda row: self._run(part, [row, y]), rows), 0)


Derivatives = list[tuple[Any, ...]]


def derivatives(machine: Machine, f: Any, x: Any, directions: Sequence[Any]) -> Derivatives:
    """The value, and for each direction the gradient of the slope along those before it."""
    sources = [x, *machine.variables]
    found: Derivatives = []

    def along(order: int) -> Any:
        if not order:
            y = f(x)
            found.append((y,))
            return y
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = along(order - 1)
        gradients = tape.gradient(y, sources, unconnected_gradients="zero")
        found.append(tuple(gradients))
        parts = zip(gradients, directions[order - 1], strict=True)
        return tf.add_n([tf.reduce_sum(g * d) for g, d in parts])

    along(len(directions))
    return found


def by_graph(machine: Machine, f: Any, x: Any, directions: Sequence[Any]) -> Derivatives:
    """The same with ``tf.gradients``; inside a function."""
    sources = [x, *machine.variables]
    y = f(x)
    found: Derivatives = [(y,)]
    for direction in directions:
        gradients = tf.gradients(y, sources, unconnected_gradients="zero")
        found.append(tuple(gradients))
        y = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(gradients, direction, strict=True)])
    return found


def by_jacobians(machine: Machine, f: Any, x: Any, directions: Sequence[Any]) -> Derivatives:
    """The same by Jacobians of three multiples of each slope."""
    sources = [x, *machine.variables]
    factors = tf.constant([1.0, 2.0, -0.5], tf.float64)
    weights = factors / tf.reduce_sum(factors * factors)
    found: Derivatives = []

    def along(order: int) -> Any:
        if not order:
            y = f(x)
            found.append((y,))
            return y
        with tf.GradientTape() as tape:
            tape.watch(sources)
            multiples = along(order - 1) * factors
        rows = tape.jacobian(multiples, sources, unconnected_gradients="zero")
        gradients = [tf.linalg.matvec(r, weights, transpose_a=True) for r in rows]
        found.append(tuple(gradients))
        parts = zip(gradients, directions[order - 1], strict=True)
        return tf.add_n([tf.reduce_sum(g * d) for g, d in parts])

    along(len(directions))
    return found


def forward_over_reverse(
    machine: Machine, f: Any, x: Any, directions: Sequence[Any]
) -> Derivatives:
    """The first derivative, and its tangent along the first direction."""
    sources = [x, *machine.variables]
    with tf.autodiff.ForwardAccumulator(sources, list(directions[0])) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = f(x)
        gradients = tape.gradient(y, sources, unconnected_gradients="zero")
    tangents = [accumulator.jvp(g, unconnected_gradients="zero") for g in gradients]
    return [(y,), tuple(gradients), tuple(tangents)]
