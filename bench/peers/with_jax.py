"""The calls in JAX: ``jax.jit``, with state that goes in and comes out.

A loop of calls is waited for at its end only, so that JAX may work ahead of Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.peers import cases, jax_networks, storage, worker
from bench.peers.worker import Case


def _sum(result: Any) -> float:
    return float(np.sum(np.asarray(result)))


def _arrays(count: int) -> list[Any]:
    return [jnp.asarray(worker.matrix()) for _ in range(count)]


def _add(arrays: list[Any]) -> Any:
    return functools.reduce(jnp.add, arrays)


def _case(
    call: Callable[..., Any],
    value: Callable[[Any], float] = _sum,
    prepare: Callable[[], Any] | None = None,
) -> Case:
    return Case(call, value, prepare, wait=jax.block_until_ready)


def _call(count: int) -> Case:
    function, arrays = jax.jit(worker.with_parameters(count, _add)), _arrays(count)
    return _case(lambda: function(*arrays))


def _nest() -> Case:
    nested = worker.ten_in_a_nest(_arrays(10))
    function = jax.jit(lambda given: _add(worker.parts_of_nest(given)))
    return _case(lambda: function(nested))


def _keywords() -> Case:
    function = jax.jit(lambda a, b: a + b)
    x, y = _arrays(2)
    return _case(lambda: function(a=x, b=y))


def _update(count: int) -> Case:
    state = [jnp.zeros((2, 2), jnp.float32) for _ in range(count)]

    @jax.jit
    def step(state: list[Any], x: Any) -> Any:
        state = [s + x for s in state]
        return state, state[-1] * 0.0 + x

    (x,) = _arrays(1)

    def call() -> Any:
        nonlocal state
        state, result = step(state, x)
        return result

    return _case(call)


def _body(x: Any) -> Any:
    y = x
    for i in range(cases.OPERATIONS // 2):
        y = jnp.tanh(y) + x if i % 2 else jax.nn.sigmoid(y) * x
    return y


def _chain() -> Case:
    function = jax.jit(_body)
    (x,) = _arrays(1)
    return _case(lambda: function(x))


def _eager() -> Case:
    x, y = _arrays(2)
    return _case(lambda: x + y)


def _retrace() -> Case:
    """Traced and lowered to StableHLO: the graph, not yet compiled."""
    function, shapes = jax.jit(_body), worker.growing()
    return Case(function.lower, lambda _: 0.0, lambda: jnp.asarray(next(shapes)))


def _retrace_call() -> Case:
    """Traced, lowered, compiled by XLA and run."""
    function, shapes = jax.jit(_body), worker.growing()
    return _case(function, prepare=lambda: jnp.asarray(next(shapes)))


def _first() -> Case:
    x, y = _arrays(2)
    return _case(lambda f: f(x, y), prepare=lambda: jax.jit(lambda a, b: a * b + a))


def _loop() -> Case:
    def repeat(x: Any) -> Any:
        def body(state: Any) -> Any:
            i, y = state
            return i + 1, y * 1.001 + 0.5

        return jax.lax.while_loop(lambda state: state[0] < cases.ITERATIONS, body, (0, x))[1]

    function = jax.jit(repeat)
    (x,) = _arrays(1)
    return _case(lambda: function(x))


def _lstm_loss(weights: Any, xs: Any) -> Any:
    """Mean square of what an LSTM returns, over all steps."""
    kernel, recurrent, bias = weights
    zeros = jnp.zeros((cases.LSTM.batch, cases.LSTM.units), jnp.float32)

    def body(state: Any, x: Any) -> Any:
        h, c = state
        z = x @ kernel + h @ recurrent + bias
        i, f, g, o = jnp.split(z, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    _, rows = jax.lax.scan(body, (zeros, zeros), xs)
    return jnp.mean(jnp.square(rows))


def _lstm() -> Case:
    xs, *weights = map(jnp.asarray, worker.lstm_arrays(*cases.LSTM))
    function = jax.jit(_lstm_loss)
    return _case(lambda: function(weights, xs))


def _lstm_gradient() -> Case:
    xs, *weights = map(jnp.asarray, worker.lstm_arrays(*cases.LSTM))
    step = jax.jit(jax.value_and_grad(_lstm_loss))

    def value(result: Any) -> float:
        return _sum(result[0]) + sum(_sum(g**2) for g in result[1])

    return _case(lambda: step(weights, xs), value)


def _saved(arrays: list[Any], name: str) -> tuple[Any, str, dict[str, Any]]:
    """A checkpointer of orbax, a path, and the arrays by name as they are saved."""
    import orbax.checkpoint as orbax

    tree = {str(i): jnp.asarray(array) for i, array in enumerate(arrays)}
    return orbax.PyTreeCheckpointer(), str(storage.folder() / name), tree


def _save_state() -> Case:
    checkpointer, path, tree = _saved(storage.arrays(), "state")
    return Case(lambda: checkpointer.save(path, tree, force=True), lambda _: _sum(tree["0"]))


def _load_state() -> Case:
    checkpointer, path, tree = _saved(storage.arrays(), "state")
    checkpointer.save(path, tree)
    return _case(lambda: checkpointer.restore(path), lambda found: _sum(found["0"]))


def _load_wide() -> Case:
    checkpointer, path, tree = _saved(storage.small_arrays(), "wide")
    checkpointer.save(path, tree)
    return _case(lambda: checkpointer.restore(path), lambda found: float(len(found)))


MAKERS: dict[str, Callable[[], Case]] = {
    "call_1": functools.partial(_call, 1),
    "call_10": functools.partial(_call, 10),
    "call_100": functools.partial(_call, 100),
    "nest": _nest,
    "keywords": _keywords,
    "update_1": functools.partial(_update, 1),
    "update_200": functools.partial(_update, cases.VARIABLES),
    "chain": _chain,
    "eager": _eager,
    "retrace": _retrace,
    "retrace_call": _retrace_call,
    "first": _first,
    "loop": _loop,
    **jax_networks.cases(),
    "lstm": _lstm,
    "lstm_gradient": _lstm_gradient,
    "save_state": _save_state,
    "load_state": _load_state,
    "load_wide": _load_wide,
}

if __name__ == "__main__":
    worker.serve("jax", jax.__version__, MAKERS)
