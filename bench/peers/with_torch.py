"""The calls in PyTorch, eagerly: a row without one means that there is nothing to trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from bench.peers import cases, storage, torch_networks, worker
from bench.peers.worker import Case


def _sum(result: Any) -> float:
    return float(result.sum())


def _tensors(count: int) -> list[Any]:
    return [torch.from_numpy(worker.matrix()) for _ in range(count)]


def _add(tensors: list[Any]) -> Any:
    return functools.reduce(torch.add, tensors) if len(tensors) > 1 else tensors[0].clone()


def _call(count: int) -> Case:
    function, tensors = worker.with_parameters(count, _add), _tensors(count)
    return Case(lambda: function(*tensors), _sum)


def _nest() -> Case:
    nested = worker.ten_in_a_nest(_tensors(10))
    return Case(lambda: _add(worker.parts_of_nest(nested)), _sum)


def _keywords() -> Case:
    def add(a: Any, b: Any) -> Any:
        return a + b

    x, y = _tensors(2)
    return Case(lambda: add(a=x, b=y), _sum)


def _update(count: int) -> Case:
    variables = [torch.zeros((2, 2)) for _ in range(count)]
    (x,) = _tensors(1)

    def step() -> Any:
        for variable in variables:
            variable.add_(x)
        return variables[-1] * 0.0 + x

    return Case(step, _sum)


def _chain() -> Case:
    (x,) = _tensors(1)

    def body() -> Any:
        y = x
        for i in range(cases.OPERATIONS // 2):
            y = torch.tanh(y) + x if i % 2 else torch.sigmoid(y) * x
        return y

    return Case(body, _sum)


def _eager() -> Case:
    x, y = _tensors(2)
    return Case(lambda: x + y, _sum)


def _loop() -> Case:
    (x,) = _tensors(1)

    def repeat() -> Any:
        y = x
        for _ in range(cases.ITERATIONS):
            y = y * 1.001 + 0.5
        return y

    return Case(repeat, _sum)


def _lstm_loss(xs: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """Mean square of what an LSTM returns, over all steps."""
    h = c = torch.zeros((cases.LSTM.batch, cases.LSTM.units))
    rows = []
    for x in xs:
        i, f, g, o = torch.chunk(x @ kernel + h @ recurrent + bias, 4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        rows.append(h)
    return torch.square(torch.stack(rows)).mean()


def _lstm() -> Case:
    xs, *weights = map(torch.from_numpy, worker.lstm_arrays(*cases.LSTM))
    return Case(lambda: _lstm_loss(xs, *weights), _sum)


def _lstm_gradient() -> Case:
    xs, *weights = map(torch.from_numpy, worker.lstm_arrays(*cases.LSTM))
    weights = [w.requires_grad_() for w in weights]

    def step() -> Any:
        loss = _lstm_loss(xs, *weights)
        return loss.detach(), torch.autograd.grad(loss, weights)

    def value(result: Any) -> float:
        return _sum(result[0]) + sum(_sum(g**2) for g in result[1])

    return Case(step, value)


def _save_state() -> Case:
    state = {str(i): torch.from_numpy(array) for i, array in enumerate(storage.arrays())}
    path = storage.folder() / "state"
    return Case(lambda: torch.save(state, path), lambda _: float(state["0"].numpy().sum()))


def _load_state() -> Case:
    state = {str(i): torch.from_numpy(array) for i, array in enumerate(storage.arrays())}
    path = storage.folder() / "state"
    torch.save(state, path)
    return Case(lambda: torch.load(path), lambda found: float(found["0"].numpy().sum()))


def _load_wide() -> Case:
    state = {str(i): torch.from_numpy(array) for i, array in enumerate(storage.small_arrays())}
    path = storage.folder() / "wide"
    torch.save(state, path)
    return Case(lambda: torch.load(path), lambda found: float(len(found)))


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
    "loop": _loop,
    **torch_networks.cases(),
    "lstm": _lstm,
    "lstm_gradient": _lstm_gradient,
    "save_state": _save_state,
    "load_state": _load_state,
    "load_wide": _load_wide,
}

if __name__ == "__main__":
    worker.serve("torch", torch.__version__, MAKERS)
