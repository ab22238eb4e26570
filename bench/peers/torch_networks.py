"""The networks in PyTorch, eagerly, with its own layers: images have the channels first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from bench.peers import networks
from bench.peers.worker import Case

Loss = Callable[[list[Any], list[Any]], Any]


def cases() -> dict[str, Callable[[], Case]]:
    """Makers of the cases."""
    return {
        name + suffix: _maker(name, with_gradient=bool(suffix))
        for name in networks.NAMES
        for suffix in ("", "_gradient")
    }


def _maker(name: str, *, with_gradient: bool) -> Callable[[], Case]:
    def make() -> Case:
        if with_gradient:
            return Case(step(name), _value)
        inputs, weights = _parts(name)
        return Case(lambda: LOSSES[name](inputs, weights), float)

    return make


def step(name: str, batch: int | None = None) -> Callable[[], Any]:
    """A call that returns a network's loss and gradients.

    Args:
        name: Of the network.
        batch: Another number of examples than the usual.
    """
    inputs, weights = _parts(name, batch)
    wanted = [*weights, *inputs] if name in networks.INNER else weights
    sources = [w.requires_grad_() for w in wanted]

    def compute() -> Any:
        result = LOSSES[name](inputs, weights)
        return result.detach(), torch.autograd.grad(result, sources)

    return compute


def _value(result: Any) -> float:
    return networks.number_of(result[0].numpy(), [g.numpy() for g in result[1]])


def _parts(name: str, batch: int | None = None) -> tuple[list[Any], list[Any]]:
    inputs, weights = networks.arrays(name, batch)
    if name == "block":
        inputs = [a.transpose(0, 3, 1, 2) for a in inputs]
        weights = [a.transpose(3, 2, 0, 1) if a.ndim == 4 else a for a in weights]
    return _tensors(inputs), _tensors(weights)


def _tensors(arrays: list[Any]) -> list[Any]:
    return [torch.from_numpy(a.copy()) for a in arrays]


def _mlp(inputs: list[Any], weights: list[Any]) -> Any:
    (h, labels), (w1, b1, w2, b2, w3, b3) = inputs, weights
    h = torch.relu(torch.addmm(b1, h, w1))
    h = torch.relu(torch.addmm(b2, h, w2))
    return F.cross_entropy(torch.addmm(b3, h, w3), labels)


def _block(inputs: list[Any], weights: list[Any]) -> Any:
    (x,), (w1, s1, o1, w2, s2, o2) = inputs, weights

    def normalized(x: Any, scale: Any, offset: Any) -> Any:
        return F.batch_norm(x, None, None, scale, offset, training=True, eps=networks.EPSILON)

    h = torch.relu(normalized(F.conv2d(x, w1, padding=1), s1, o1))
    h = normalized(F.conv2d(h, w2, padding=1), s2, o2)
    return torch.square(torch.relu(h + x)).mean()


def _attention(inputs: list[Any], weights: list[Any]) -> Any:
    (x,), (wq, wk, wv, wo) = inputs, weights
    _, length, width, heads = networks.ATTENTION

    def split(w: Any) -> Any:
        return (x @ w).view(-1, length, heads, width // heads).transpose(1, 2)

    mixed = F.scaled_dot_product_attention(split(wq), split(wk), split(wv))
    rows = mixed.transpose(1, 2).reshape(-1, length, width)
    return torch.square(rows @ wo).mean()


LOSSES: dict[str, Loss] = {"mlp": _mlp, "block": _block, "attention": _attention}
