"""The calls in PyTorch, eagerly: a row without one means that there is nothing to trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from bench.peers import cases, worker
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
}

if __name__ == "__main__":
    worker.serve("torch", torch.__version__, MAKERS)
